# Functions of the findings. Sourced, not run.
set -euo pipefail
export LC_ALL=C

# A directory of the finding, and its mounts and processes. They are cleaned up at its end.
dir=$(mktemp -d)
mounts=()
pids=()
cleanup() {
    local at pid
    for at in "${mounts[@]}"; do umount -l "$at" || true; done
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
    chmod -R u+w "$dir"
    rm -rf --one-file-system "$dir"
}
trap cleanup EXIT
export HOME=$dir/home
mkdir "$HOME"

# package NAME VERSION: prints the version of a Debian package, and ends if it is another one.
package() {
    local found
    if ! found=$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null) || [ -z "$found" ]; then
        echo "needs the package $1 $2: apt-get install $1" >&2
        exit 2
    fi
    echo "$1 $found"
    if [[ $found != "$2"* ]]; then
        echo "written for $1 $2" >&2
        exit 1
    fi
}

needs_root() {
    if [ "$(id -u)" != 0 ]; then
        echo "needs root, to mount" >&2
        exit 2
    fi
}

# wait_for_mount DIR: waits up to 30 seconds until a program in the background has mounted DIR.
wait_for_mount() {
    for _ in $(seq 300); do
        if mountpoint -q "$1"; then
            mounts+=("$1")
            return
        fi
        sleep 0.1
    done
    echo "not mounted: $1" >&2
    exit 2
}

# expect WHAT EXPECTED SEEN: prints what was seen, and ends if it is something else.
expect() {
    echo "$1: $3"
    if [ "$2" != "$3" ]; then
        echo "changed: expected $2" >&2
        exit 1
    fi
}

# errno COMMAND…: runs a line of Python that makes a system call. Prints its error's name or "ok".
errno() {
    python3 - "$@" <<'PYTHON'
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def renameat2(old, new, flags):
    if libc.renameat2(-100, old.encode(), -100, new.encode(), flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")
calls = {
    "link": lambda old, new: os.link(old, new),
    "rename": lambda old, new: os.rename(old, new),
    "rename_noreplace": lambda old, new: renameat2(old, new, 1),
}
try:
    calls[sys.argv[1]](*sys.argv[2:])
    print("ok")
except OSError as e:
    print(errno.errorcode[e.errno])
PYTHON
}
