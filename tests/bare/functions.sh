# Functions of .ci/bare-systems: systems, commands within them, and checks.
# shellcheck shell=bash disable=SC2154 # .ci/bare-systems sets the variables

nspawn=
init=

skip() {
    printf 'SKIPPED: .ci/bare-systems: %s\n' "$*" >&2
    exit 0
}
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    [ -z "$init" ] || inside journalctl --no-pager -n 30 >&2 || true
    exit 1
}
pass() { printf 'ok  %s\n' "$1"; }
is() { # description, expected, actual
    [ "$2" = "$3" ] || fail "$1: expected \"$2\", found \"$3\""
    pass "$1"
}
holds() { # description, command…
    local description=$1
    shift
    "$@" >"$work/out" 2>&1 || fail "$description: $(cat "$work/out")"
    pass "$description"
}
prints() { # description, expected text, command…
    local description=$1 expected=$2
    shift 2
    "$@" >"$work/out" 2>&1 || fail "$description: $(cat "$work/out")"
    grep -qF -- "$expected" "$work/out" ||
        fail "$description: \"$expected\" was not printed: $(cat "$work/out")"
    pass "$description"
}
refuses() { # description, expected text, command…
    local description=$1 expected=$2
    shift 2
    if "$@" >"$work/out" 2>&1; then fail "$description: it succeeded: $(cat "$work/out")"; fi
    grep -qF -- "$expected" "$work/out" ||
        fail "$description: \"$expected\" was not printed: $(cat "$work/out")"
    pass "$description"
}
eventually() { # description, command…: waits up to 20 s
    local description=$1
    shift
    for _ in $(seq 200); do
        if "$@" >"$work/out" 2>&1; then pass "$description"; return; fi
        sleep 0.1
    done
    fail "$description: $(cat "$work/out")"
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# ---- trees ---------------------------------------------------------------------------------------

# Packages that a booted system needs in addition.
system_packages=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,procps

# Unpacks a minimal Debian. The first call makes it and stores it in the cache.
debian_tree() { # directory, release
    local cache=${CARGO_TARGET_DIR:-target}/trees/$2.tar
    if [ ! -f "$cache" ]; then
        mkdir -p "${cache%/*}"
        debootstrap --variant=minbase --include="$system_packages" "$2" "$work/$2" \
            http://deb.debian.org/debian >"$work/debootstrap.log" 2>&1 || return 1
        rm -rf "$work/$2"/var/cache/apt/archives/*.deb
        tar -cf "$cache.new" -C "$work/$2" .
        rm -rf "${work:?}/$2"
        mv "$cache.new" "$cache"
    fi
    mkdir "$1"
    tar -xpf "$cache" -C "$1"
}

# Runs a command in a tree as a user, with /proc and without a network or other processes.
within() { # tree, user id, command…
    local tree=$1 user=$2
    shift 2
    mkdir -p "$tree/proc"
    unshare --mount --pid --fork --net --kill-child --mount-proc="$tree/proc" \
        chroot --userspec="$user:$user" "$tree" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin \
        BRAIN_HTTP_LOCAL=off BRAIN_HTTP_PUBLIC=off HOME=/home/ann "$@"
}

# ---- a booted system -----------------------------------------------------------------------------

# Boots a tree in a container; skips the tests if that is not possible here.
boot() { # tree
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet -D "$1" --register=no --keep-unit \
        --private-network --console=pipe --machine=brain-bare --bind="$work/shared:/shared" -b \
        systemd.mask=systemd-firstboot.service </dev/null >"$work/console" 2>&1 &
    nspawn=$!
    local state=
    for _ in $(seq 300); do
        kill -0 "$nspawn" 2>/dev/null ||
            skip "systemd-nspawn does not work here: $(tail -n 3 "$work/console" | tr '\n' ' ')"
        init=$(cat "/proc/$nspawn/task/$nspawn/children" 2>/dev/null || true)
        init=${init%% *}
        if [ -n "$init" ]; then
            state=$(inside systemctl is-system-running 2>/dev/null || true)
            case $state in running | degraded) return ;; esac
        fi
        sleep 0.1
    done
    skip "systemd did not start: $(tail -n 3 "$work/console" | tr '\n' ' ')"
}

# Powers the system off, and waits for its end.
power_off() {
    [ -n "$nspawn" ] || return 0
    inside systemctl poweroff >/dev/null 2>&1 || true
    for _ in $(seq 200); do
        kill -0 "$nspawn" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$nspawn" 2>/dev/null || true
    wait "$nspawn" 2>/dev/null || true
    nspawn='' init=''
}

finish() {
    result=$?
    trap - EXIT ERR
    touch "$work/shared/enough" 2>/dev/null || true
    power_off
    rm -rf "$work"
    exit "$result"
}

# Runs a command in the booted system as root.
inside() {
    nsenter -t "$init" -m -u -i -p -C -n -- env -i \
        PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive "$@"
}
# Runs a command in the booted system as the user ann, as after a login.
ann() {
    inside setpriv --reuid=1000 --regid=1000 --init-groups env HOME=/home/ann USER=ann \
        XDG_RUNTIME_DIR=/run/user/1000 "$@"
}
