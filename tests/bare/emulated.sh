# The packages of the other architecture. qemu runs its programs on this machine.
# shellcheck shell=bash disable=SC2154 # .ci/bare-systems sets the variables

# Runs a command as root in a tree, in a user namespace whose kernel starts such programs with qemu.
# Nothing outside of the namespace changes. Needs Linux 6.7.
within_emulated() { # architecture, tree, command…
    local tree=$2 machine
    case $1 in
    x86_64) machine='\x3e' ;;
    aarch64) machine='\xb7' ;;
    esac
    # The bytes of an ELF header, and which of their bits count.
    local header='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00'
    local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff'
    local rule=":brain:M::$header$machine\x00:$mask\xff\xff:$(command -v "qemu-$1-static"):F"
    shift 2
    mkdir -p "$tree/proc"
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --user --map-root-user --mount --pid --fork --net \
        --kill-child --mount-proc="$tree/proc" sh -c '
            mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit
            printf "%s" "$1" >/proc/sys/fs/binfmt_misc/register || exit
            tree=$2
            shift 2
            exec chroot "$tree" env -i PATH=/usr/bin:/bin HOME=/home/ann BRAIN_HTTP_PUBLIC=off "$@"
        ' sh "$rule" "$tree" "$@"
}

# Without such a kernel, a script in the tree starts the daemon and each command with qemu. The
# programs that unpack the packages are those of this machine.
test_emulated() { # architecture
    local architecture=$1 tree=$work/emulated debian deb archive rpm image other program
    echo "== $architecture, emulated"
    debian=$(debian_architecture "$architecture")
    deb=$(echo "$packages"/brain_*_"$debian".deb)
    archive=$(echo "$packages"/brain-*-"$architecture"-linux.tar.gz)
    rpm=$(echo "$packages"/brain-*."$architecture".rpm)
    image=$(echo "$packages"/brain-*-"$architecture"-image.tar)
    if [ ! -f "$deb" ]; then
        echo "SKIPPED: $architecture: $packages has no packages for it" >&2
        return
    fi
    if ! install_packages qemu-user-static; then
        echo "SKIPPED: $architecture: qemu-user-static cannot be installed" >&2
        return
    fi

    is "the .deb names its architecture" "$debian" "$(dpkg-deb -f "$deb" Architecture)"
    is "the .rpm names its architecture" "$architecture" "$(rpm -qp --qf '%{arch}' "$rpm")"
    mkdir -p "$tree"/{dev,proc,tmp,bin,home/ann} "$work/other"/{rpm,archive,image,layer}
    dpkg-deb -x "$deb" "$tree"
    is "the files have the hashes in the .deb" "" "$(dpkg-deb --info "$deb" md5sums |
        (cd "$tree" && md5sum --quiet -c - 2>&1))"
    for program in brain brain-convert brain-daemon; do
        readelf -hl "$tree/usr/bin/$program" >"$work/headers"
        grep -qi "machine:.*${architecture/_/-}" "$work/headers" ||
            fail "$program is for another architecture: $(grep -i machine: "$work/headers")"
        if grep -q INTERP "$work/headers"; then fail "$program is not static"; fi
    done
    pass "the programs are static, and for $architecture"

    holds "rpm unpacks the .rpm" rpm --root "$work/other/rpm" --nodeps --ignorearch --noscripts \
        -i "$rpm"
    tar -xzf "$archive" -C "$work/other/archive"
    tar -xf "$image" -C "$work/other/image"
    is "the image names its architecture" "$debian" "$(python3 -c '
import json, sys
print(json.load(open(sys.argv[1]))["manifests"][0]["platform"]["architecture"])
' "$work/other/image/index.json")"
    for layer in "$work"/other/image/blobs/sha256/*; do
        # The layer is the one blob that is compressed.
        gzip -dc "$layer" 2>/dev/null | tar -x -C "$work/other/layer" 2>/dev/null || true
    done
    for program in brain brain-convert brain-daemon; do
        for other in rpm/usr/bin archive/brain-*-"$architecture"-linux/bin layer/usr/bin; do
            # shellcheck disable=SC2086 # the name of the archive's directory has a version
            cmp "$tree/usr/bin/$program" $work/other/$other/$program ||
                fail "$other has another program $program"
        done
    done
    pass ".rpm, archive and image have the same programs"

    mknod -m 666 "$tree/dev/null" c 1 3
    chmod 1777 "$tree/tmp"
    (cd "$work" && apt-get -o APT::Sandbox::User=root download -qq busybox-static >/dev/null)
    dpkg-deb --fsys-tarfile "$(echo "$work"/busybox-static_*.deb)" |
        tar -x -C "$tree" --wildcards '*bin/busybox'
    chroot "$tree" /bin/busybox --install -s /bin
    cp tests/bare/emulated-use "$tree/use"
    if within_emulated "$architecture" "$tree" brain --version >"$work/out" 2>&1; then
        within_emulated "$architecture" "$tree" sh /use
    else
        echo "    the kernel starts no emulated programs: $(tail -n 1 "$work/out")"
        cp "$(command -v "qemu-$architecture-static")" "$tree/qemu"
        within "$tree" 0 sh /use /qemu
    fi || fail "the emulated programs: see above, and $(tail -n 5 "$tree/tmp/daemon.log" \
        "$tree/home/ann/.brain/run/daemon.log" 2>/dev/null || true)"
    # Both programs write the same pages, so packages of both may contain those of one.
    (cd "$tree/usr/share/man/man1" && gzip -d -- *.gz)
    holds "its man pages are those of the package" diff -r "$tree/tmp/man" \
        "$tree/usr/share/man/man1"
    rm -rf "$tree" "$work/other"
}

for architecture in $ALL_ARCHITECTURES; do
    if [ "$architecture" != "$(uname -m)" ]; then test_emulated "$architecture"; fi
done
