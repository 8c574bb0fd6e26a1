# Functions of the scripts that make packages. Sourced by bash from the root of the repository.
# shellcheck shell=bash

# The target of the static programs.
export STATIC_TARGET=x86_64-unknown-linux-musl

# Prints the version of the programs: four numbers.
brain_version() {
    sed -n 's/^pub const VERSION: &str = "\(.*\)";$/\1/p' protocol/src/lib.rs
}

# Prints the directory in which packaging/build leaves the programs.
programs_directory() {
    printf '%s\n' "${CARGO_TARGET_DIR:-target}/$STATIC_TARGET/${BRAIN_PROFILE:-dist}"
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
