#!/bin/sh
# Installs brain @VERSION@ for your user: programs, completions and man pages. Needs no root.
#
#   sh install.sh                        installs, or upgrades
#   sh install.sh --from FILE_OR_URL     installs this archive; its hash must match, too
#   sh install.sh --sha256 HASH          expects this SHA-256 instead of the one in this script
#   sh install.sh --uninstall            removes what it installed; ~/.brain stays
#
# BRAIN_BIN is the directory of the programs (default: ~/.local/bin). Within an unpacked archive the
# script installs the files beside it.
set -eu

version='@VERSION@'
base='@RELEASE_URL@'
# The hashes of the archives; one that was not made has none.
sha256_x86_64='@SHA256_X86_64@'
sha256_aarch64='@SHA256_AARCH64@'
architecture=$(uname -m)
case $architecture in
x86_64) sha256=$sha256_x86_64 ;;
aarch64) sha256=$sha256_aarch64 ;;
*) sha256='' ;;
esac
name=brain-$version-$architecture-linux

fail() {
    printf 'install.sh: error: %s\n' "$*" >&2
    exit 1
}
say() { printf '%s\n' "$*"; }

from='' action=install
while [ $# -gt 0 ]; do
    case $1 in
    --from | --sha256)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case $1 in --from) from=$2 ;; *) sha256=$2 ;; esac
        shift
        ;;
    --uninstall) action=uninstall ;;
    -h | --help)
        sed -n '2,10s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) fail "$1 is unknown; see: sh install.sh --help" ;;
    esac
    shift
done

[ -n "${HOME:-}" ] || fail "HOME is not set"
bin=${BRAIN_BIN:-$HOME/.local/bin}
data=${XDG_DATA_HOME:-$HOME/.local/share}
config=${XDG_CONFIG_HOME:-$HOME/.config}
# The file with the paths of the installed files and created directories, one a line. Those of
# directories end with a slash.
list=$data/brain/installed-files

# Prints the process ids of the daemons that run from the installed program.
daemons() {
    for process in /proc/[0-9]*; do
        case $(readlink "$process/exe" 2>/dev/null || :) in
        "$bin/brain-daemon" | "$bin/brain-daemon (deleted)") say "${process#/proc/}" ;;
        esac
    done
}

# Removes the listed files, and the listed directories that are empty then.
remove_listed() { # file with a list
    while IFS= read -r path; do
        case $path in */) ;; *) rm -f "$path" ;; esac
    done <"$1"
    # In this order, a directory follows those within it.
    grep '/$' "$1" | sort -r | while IFS= read -r directory; do
        rmdir "$directory" 2>/dev/null || :
    done
}

uninstall() {
    [ -f "$list" ] || fail "there is nothing to remove: $list does not exist"
    # The record of the changes that `brain setup` made outside of brain.
    if [ -f "${BRAIN_HOME:-$HOME/.brain}/setup.json" ]; then
        "$bin/brain" setup --undo --no-start ||
            say "not all was undone; to disconnect an AI client, remove its entry \"brain\""
    fi
    unit=$config/systemd/user/brain-daemon.service
    if grep -qsF "ExecStart=\"$bin/brain-daemon\"" "$unit"; then
        "$bin/brain" service uninstall || "$bin/brain" service uninstall --no-start || :
    fi
    for pid in $(daemons); do
        kill -TERM "$pid" 2>/dev/null || continue
        tries=0
        # A daemon answers open requests for up to 5 s.
        while kill -0 "$pid" 2>/dev/null && [ $tries -lt 70 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
        say "stopped brain-daemon (process $pid)"
    done
    # The list is the last file in its directory.
    former=$(mktemp)
    mv "$list" "$former"
    remove_listed "$former"
    rm -f "$former"
    say "removed brain; your data is still in ${BRAIN_HOME:-$HOME/.brain}"
}

# Downloads a file.
download() { # url, file
    if command -v curl >/dev/null 2>&1; then
        curl -fsL --retry 2 -o "$2" "$1"
    else
        wget -q -O "$2" "$1"
    fi
}

# Sets `tree` to the directory with the files of the archive.
fetch() {
    here=$(cd "$(dirname "$0")" && pwd)
    if [ -z "$from" ] && [ -x "$here/bin/brain-daemon" ]; then
        tree=$here
        return
    fi
    case $from in
    '')
        [ -n "$sha256" ] || fail "there is no archive for $architecture in this release: use an" \
            "archive that you have, --from ARCHIVE --sha256 HASH, or build it with cargo"
        case $base in
        @* | https://example.invalid/*)
            fail "there is no published release; use an archive that you have: --from ARCHIVE"
            ;;
        esac
        from=$base/$name.tar.gz
        ;;
    http:*) fail "--from takes a file or an https URL, not $from" ;;
    esac
    archive=$from
    case $from in
    https://*)
        archive=$work/archive.tar.gz
        command -v curl >/dev/null 2>&1 || command -v wget >/dev/null 2>&1 ||
            fail "neither curl nor wget is installed; use an archive that you have: --from ARCHIVE"
        say "downloading $from"
        # The message of the program that downloads has no way out, so it is not shown.
        download "$from" "$archive" 2>/dev/null ||
            fail "$from cannot be downloaded; use an archive that you have: --from ARCHIVE"
        ;;
    esac
    [ -f "$archive" ] || fail "$archive does not exist"
    [ -n "$sha256" ] || fail "the expected hash is not known: use --sha256 HASH"
    actual=$(sha256sum "$archive") || fail "sha256sum is not installed"
    [ "${actual%% *}" = "$sha256" ] ||
        fail "$from has the SHA-256 ${actual%% *}, not $sha256; nothing was installed"
    say "verified SHA-256 $sha256"
    gzip -dc "$archive" | tar -xf - -C "$work" || fail "$from cannot be unpacked"
    tree=$(echo "$work"/brain-*-linux)
    [ -x "$tree/bin/brain-daemon" ] || fail "$from is not an archive of brain"
}

fail_to_write() { # path
    fail "cannot write $1; name directories that you can write to with BRAIN_BIN (programs)," \
        "XDG_DATA_HOME and XDG_CONFIG_HOME"
}

# Creates a directory and its parents, and lists those that did not exist.
make_directory() { # directory
    [ ! -d "$1" ] || return 0
    make_directory "$(dirname "$1")"
    mkdir "$1" 2>/dev/null || fail_to_write "$1"
    say "$1/" >>"$work/list"
}

# Installs a file atomically, so that a running program is not disturbed, and lists it.
put() { # file, destination
    make_directory "$(dirname "$2")"
    cp "$1" "$2.brain-new" 2>/dev/null || fail_to_write "$2"
    mv -f "$2.brain-new" "$2"
    say "$2" >>"$work/list"
}

install_all() {
    case $(uname -s)/$architecture in
    Linux/x86_64 | Linux/aarch64) ;;
    *) fail "there is no archive for $(uname -s) on $architecture: build it with cargo" ;;
    esac
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    fetch
    "$tree/bin/brain" --version >/dev/null 2>&1 ||
        fail "the programs do not run here: check that the archive is for $architecture"
    : >"$work/list"
    put "$tree/bin/brain-convert" "$bin/brain-convert"
    put "$tree/bin/brain-daemon" "$bin/brain-daemon"
    put "$tree/bin/brain" "$bin/brain"
    share=$tree/share
    put "$share/bash-completion/completions/brain" "$data/bash-completion/completions/brain"
    put "$share/zsh/site-functions/_brain" "$data/zsh/site-functions/_brain"
    put "$share/fish/vendor_completions.d/brain.fish" "$config/fish/completions/brain.fish"
    for page in "$share"/man/man1/*; do put "$page" "$data/man/man1/${page##*/}"; done
    for page in "$share"/doc/brain/*.md "$share"/doc/brain/copyright; do
        put "$page" "$data/doc/brain/${page##*/}"
    done
    for page in "$share"/doc/brain/docs/*.md; do
        put "$page" "$data/doc/brain/docs/${page##*/}"
    done
    make_directory "$data/brain"
    if [ -f "$list" ]; then
        # Directories that a former version created are still to be removed.
        grep '/$' "$list" >>"$work/list" || :
        # Removes files that the former version installed and this one does not.
        grep -vxF -f "$work/list" "$list" >"$work/former" || :
        remove_listed "$work/former"
    fi
    cp "$work/list" "$list"
    say "installed $("$bin/brain" --version):"
    say "  programs      $bin/brain, $bin/brain-convert, $bin/brain-daemon"
    say "  completions   $data/bash-completion, $data/zsh/site-functions, $config/fish/completions"
    say "  man pages     $data/man/man1"
    say "  documents     $data/doc/brain"
    for pid in $(daemons); do
        cmp -s "/proc/$pid/exe" "$bin/brain-daemon" ||
            say "process $pid still runs the former brain-daemon; change it: $bin/brain restart"
    done
    case :$PATH: in
    *:"$bin":*) ;;
    *) say "add the programs to your PATH: export PATH=\"$bin:\$PATH\"" ;;
    esac
    say "begin with: brain capture \"A first thought\""
    say "remove it with: sh install.sh --uninstall"
}

case $action in
install) install_all ;;
uninstall) uninstall ;;
esac
