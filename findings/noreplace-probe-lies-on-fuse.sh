#!/usr/bin/env bash
# renameat2(RENAME_NOREPLACE) on a FUSE file system that does not implement flags.
#
# A program that wants to know whether the flag works tries it with a name that is taken: EEXIST
# seems to say that it does. The kernel answers EEXIST before it asks the file system. With a free
# name, the only case that matters, the same call is EINVAL. Probe with a free name.
. "$(dirname "$0")/common.bash"
needs_root
package bindfs 1.14.7
uname -sr

mkdir "$dir/below" "$dir/at"
bindfs "$dir/below" "$dir/at"
mounts+=("$dir/at")
touch "$dir/at/old" "$dir/at/taken"
expect "name is taken" EEXIST "$(errno rename_noreplace "$dir/at/old" "$dir/at/taken")"
expect "name is free" EINVAL "$(errno rename_noreplace "$dir/at/old" "$dir/at/free")"
expect "plain rename" ok "$(errno rename "$dir/at/old" "$dir/at/free")"
