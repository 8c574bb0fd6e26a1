#!/usr/bin/env bash
# A mount over a watched directory: inotify says nothing, and goes on watching what is covered.
#
# Programs that watch a directory expect an event, or at least events of what is mounted there now.
# There is none; a file that is created in the mounted file system is not reported, while one that
# is created in the covered directory, by another way, is. Unmounting the watched file system is
# reported (IN_UNMOUNT), mounting is not. A poll on /proc/self/mountinfo sees both.
. "$(dirname "$0")/common.bash"
needs_root
uname -sr

mkdir "$dir/notes"
python3 - "$dir/notes" >"$dir/seen" <<'PYTHON'
import ctypes, os, select, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
notes = sys.argv[1]

def watch():
    fd = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(fd, notes.encode(), 0xFFF)
    return fd

def events(fd):
    """Returns the masks and names of the events of half a second."""
    seen = []
    while select.select([fd], [], [], 0.5)[0]:
        data = os.read(fd, 4096)
        while data:
            mask, length = int.from_bytes(data[4:8], "little"), int.from_bytes(data[12:16], "little")
            name = data[16:16 + length].rstrip(b"\0").decode()
            if mask & 0x100: seen.append("created " + name)
            if mask & 0x2000: seen.append("unmounted")
            data = data[16 + length:]
    return ", ".join(seen) or "nothing"

mountinfo = select.poll()
file = open("/proc/self/mountinfo")
file.read()
mountinfo.register(file, select.POLLPRI)
below = os.open(notes, os.O_DIRECTORY)
fd = watch()
subprocess.run(["mount", "-t", "tmpfs", "finding", notes], check=True)
print("mounted:", events(fd))
print("mountinfo:", "changed" if mountinfo.poll(1000) else "silent")
open(notes + "/above.md", "w").close()
print("file in the mounted file system:", events(fd))
os.close(os.open("below.md", os.O_CREAT | os.O_WRONLY, dir_fd=below))
print("file in the covered directory:", events(fd))
fd = watch()
subprocess.run(["umount", notes], check=True)
print("unmounted:", events(fd))
PYTHON
seen() { sed -n "s/^$1: //p" "$dir/seen"; }
expect "mounted" nothing "$(seen mounted)"
expect "mountinfo" changed "$(seen mountinfo)"
expect "file in the mounted file system" nothing "$(seen 'file in the mounted file system')"
expect "file in the covered directory" "created below.md" "$(seen 'file in the covered directory')"
expect "unmounted" unmounted "$(seen unmounted)"
