#!/usr/bin/env bash
# link() in an rclone mount, where there are no hard links, says EIO.
#
# EPERM is documented for "the file system does not support hard links", and programs fall back on a
# rename after EPERM, ENOSYS or EOPNOTSUPP. Here the same fact looks like a broken disk. Treat every
# error of link() but EEXIST as "not here".
. "$(dirname "$0")/common.bash"
needs_root
package rclone 1.60.1

mkdir "$dir/below" "$dir/at"
rclone mount "$dir/below" "$dir/at" --vfs-cache-mode writes >/dev/null 2>&1 &
pids+=($!)
wait_for_mount "$dir/at"
echo text >"$dir/at/old"
expect "link" EIO "$(errno link "$dir/at/old" "$dir/at/new")"
expect "rename" ok "$(errno rename "$dir/at/old" "$dir/at/new")"
