# Functions of the scripts that make packages. Sourced by bash from the root of the repository.
# shellcheck shell=bash

# The architectures that packages are made for, as `uname -m` names them.
export ALL_ARCHITECTURES="x86_64 aarch64"

# Prints the version of the programs: four numbers.
brain_version() {
    sed -n 's/^pub const VERSION: &str = "\(.*\)";$/\1/p' protocol/src/lib.rs
}

# Prints the target of the static programs.
static_target() { # architecture
    printf '%s\n' "$1-unknown-linux-musl"
}

# Prints the directory in which packaging/build leaves the programs.
programs_directory() { # architecture
    printf '%s\n' "${CARGO_TARGET_DIR:-target}/$(static_target "$1")/${BRAIN_PROFILE:-release}"
}

# Prints the name that Debian and images have for an architecture.
debian_architecture() { # architecture
    case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *)
        printf 'there are no packages for the architecture %s, only for: %s\n' "$1" \
            "$ALL_ARCHITECTURES" >&2
        return 1
        ;;
    esac
}

# Installs missing Debian packages. On other systems, does nothing: a missing command then fails
# with its name.
install_packages() {
    command -v dpkg-query >/dev/null || return 0
    local package missing=()
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        printf 'install these packages first: %s\n' "${missing[*]}" >&2
        return 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Sets SHA256_X86_64 and SHA256_AARCH64 to the hashes of the archives in $OUT. The hash of an
# archive that does not exist is empty.
set_archive_hashes() {
    local name archive hash
    for name in $ALL_ARCHITECTURES; do
        archive=$OUT/brain-$VERSION-$name-linux.tar.gz
        hash=
        if [ -f "$archive" ]; then hash=$(sha256sum "$archive" | cut -d ' ' -f 1); fi
        printf -v "SHA256_${name^^}" %s "$hash"
    done
}

# Gives a directory and all files in it the date of the commit.
set_dates() {
    find "$1" -depth -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# Writes a tar file of paths in a directory to standard output. Equal trees give equal bytes.
reproducible_tar() { # directory, path…
    local directory=$1
    shift
    tar --create --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" --mode='u+rwX,go+rX,go-w' -C "$directory" "$@"
}

# Prints a template with each @NAME@ replaced by the value of the variable NAME.
fill() { # template, name…
    local text name
    text=$(cat "$1")
    shift
    for name in "$@"; do text=${text//"@$name@"/${!name}}; done
    printf '%s\n' "$text"
}
