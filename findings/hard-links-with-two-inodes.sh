#!/usr/bin/env bash
# The two names of a hard link on mergerfs and unionfs-fuse have two inode numbers.
#
# link() succeeds and the text is shared, but st_ino differs. Programs that compare st_dev and
# st_ino to find out whether two names are one file (rsync -H, tar, a check after link() and
# unlink()) see two files. The count of links is right. The kernel caches them as two files as well: for a second,
# the other name can have its old length.
. "$(dirname "$0")/common.bash"
needs_root
package mergerfs 2.33.5
package unionfs-fuse 1.0

mkdir "$dir/a" "$dir/b" "$dir/mergerfs" "$dir/unionfs"
mergerfs "$dir/a:$dir/b" "$dir/mergerfs"
mounts+=("$dir/mergerfs")
unionfs "$dir/a=RW" "$dir/unionfs"
mounts+=("$dir/unionfs")
for at in mergerfs unionfs; do
    cd "$dir/$at"
    echo text >"$at-one"
    ln "$at-one" "$at-two"
    echo more >>"$at-one"
    # Each name has its own cached length.
    sleep 2
    expect "$at: both names have the text" yes "$(cmp -s "$at-one" "$at-two" && echo yes)"
    expect "$at: links" 2 "$(stat -c %h "$at-one")"
    numbers=$(stat -c %i "$at-one" "$at-two" | sort -u | wc -l)
    expect "$at: inode numbers of the two names" 2 "$numbers"
    expect "below: inode numbers" 1 "$(stat -c %i "$dir"/[ab]/"$at"-* | sort -u | wc -l)"
    cd /
done
