# The oldest Debian, a system without glibc, the RPM package and the image.
# shellcheck shell=bash disable=SC2154 # .ci/bare-systems sets the variables

# Tests a capture and a search in a tree.
use() { # tree, user id, program
    prints "a capture" "created" within "$1" "$2" "$3" capture "Ann chose the blue logo"
    prints "a search" "blue logo" within "$1" "$2" "$3" search "which logo"
}

if [ "$is_static" = yes ]; then
    echo "== Debian bullseye"
    if debian_tree "$work/oldest" bullseye; then
        mkdir -p "$work/oldest/home/ann"
        chown 1000:1000 "$work/oldest/home/ann"
        cp "$deb" "$work/oldest/new.deb"
        holds "the package is installed" within "$work/oldest" 0 dpkg -i /new.deb
        use "$work/oldest" 1000 brain
        holds "the package is purged" within "$work/oldest" 0 dpkg -P brain
    else
        echo "SKIPPED: Debian bullseye: debootstrap failed" >&2
    fi

    echo "== only BusyBox and musl"
    tree=$work/musl
    mkdir -p "$tree"/{dev,proc,tmp,usr/bin,bin,home/ann}
    mknod -m 666 "$tree/dev/null" c 1 3
    chown 1000:1000 "$tree/home/ann"
    (cd "$work" && apt-get -o APT::Sandbox::User=root download -qq busybox-static musl >/dev/null)
    for package in "$work"/{busybox-static,musl}_*.deb; do dpkg-deb -x "$package" "$tree"; done
    chmod 1777 "$tree/tmp"
    [ -z "$(find "$tree" -name 'libc.so.6')" ] || fail "the tree contains glibc"
    chroot "$tree" /bin/busybox --install -s /bin
    cp "$archive" "$packages/install.sh" "$tree/"
    prints "install.sh runs in BusyBox" "verified SHA-256" within "$tree" 1000 sh /install.sh \
        --from "/${archive##*/}"
    use "$tree" 1000 /home/ann/.local/bin/brain
    prints "install.sh --uninstall runs in BusyBox" "your data is still in" within "$tree" 1000 sh \
        /install.sh --uninstall
else
    echo "SKIPPED: other C libraries: the programs in $packages are not static" >&2
fi

echo "== RPM"
prints "the digests of the package are right" "digests OK" rpm -K "$rpm"
rpm -qlp "$rpm" >"$work/files"
for file in /usr/bin/brain /usr/bin/brain-convert /usr/bin/brain-daemon \
    /usr/lib/systemd/user/brain-daemon.socket \
    /usr/share/man/man1/brain.1.gz; do
    grep -qxF "$file" "$work/files" || fail "$rpm does not contain $file"
done
tree=$work/rpm
debian_tree "$tree" bookworm || fail "debootstrap failed"
mkdir -p "$tree/home/ann"
chown 1000:1000 "$tree/home/ann"
holds "the package is installed" rpm --root "$tree" --nodeps -i "$rpm"
use "$tree" 1000 brain
holds "its files are intact" rpm --root "$tree" --nodeps -V brain
holds "the package is removed" rpm --root "$tree" -e brain
[ ! -e "$tree/usr/bin/brain" ] || fail "the program is still there"
[ -s "$tree/home/ann/.brain/brain.redb" ] || fail "the data is gone"
pass "the data stays"

echo "== the image"
tree=$work/image
mkdir -p "$tree/image" "$tree/root"
tar -xf "$image" -C "$tree/image"
read_json() { python3 -c "import json, sys; it = json.load(open(sys.argv[1])); print($2)" "$1"; }
blob() { printf '%s\n' "$tree/image/blobs/${1/:/\/}"; }
manifest=$(blob "$(read_json "$tree/image/index.json" 'it["manifests"][0]["digest"]')")
config=$(blob "$(read_json "$manifest" 'it["config"]["digest"]')")
layer=$(blob "$(read_json "$manifest" 'it["layers"][0]["digest"]')")
for file in "$manifest" "$config" "$layer"; do
    is "the blob ${file##*/} has its hash" "${file##*/}" "$(sha256sum "$file" | cut -d ' ' -f 1)"
done
is "the layer has the id in the configuration" \
    "$(read_json "$config" 'it["rootfs"]["diff_ids"][0]')" \
    "sha256:$(gzip -dc <"$layer" | sha256sum | cut -d ' ' -f 1)"
if [ "$is_static" = yes ]; then
    gzip -dc <"$layer" | tar -xp -C "$tree/root"
    # A container gets /proc and /dev from the program that runs it.
    mkdir -p "$tree"/root/{proc,dev}
    mknod -m 666 "$tree/root/dev/null" c 1 3
    # Runs a program in the image, which has neither a shell nor `env`.
    in_image() {
        unshare --mount --pid --fork --net --kill-child --mount-proc="$tree/root/proc" env -i \
            PATH=/usr/bin HOME=/home/brain BRAIN_HOME=/home/brain/data \
            BRAIN_HTTP_LOCAL=off BRAIN_HTTP_PUBLIC=off \
            /usr/sbin/chroot --userspec=65532:65532 "$tree/root" "$@"
    }
    prints "a capture in the image" "created" in_image /usr/bin/brain capture "The blue logo"
    prints "a search in the image" "blue logo" in_image /usr/bin/brain search "which logo"
else
    echo "SKIPPED: running the image: the programs in $packages are not static" >&2
fi
