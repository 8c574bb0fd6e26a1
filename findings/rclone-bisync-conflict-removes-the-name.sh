#!/usr/bin/env bash
# rclone bisync: after a conflict, neither side has a file of the note's name.
#
# Other sync programs leave a winner at note.md and put the loser beside it. bisync renames both, to
# note.md..path1 and note.md..path2, on both sides, and ends with 0. The extension is at the wrong
# end: editors and indexers of *.md see a deletion and no new file.
. "$(dirname "$0")/common.bash"
package rclone 1.60.1

mkdir "$dir/a" "$dir/b" "$dir/state"
bisync() { rclone bisync "$dir/a" "$dir/b" --workdir "$dir/state" "$@" 2>"$dir/log"; }
echo "first text" >"$dir/a/note.md"
echo "other" >"$dir/a/other.md"
bisync --resync
sleep 1
echo "text of a" >"$dir/a/note.md"
echo "longer text of b" >"$dir/b/note.md"
status=0
bisync || status=$?
expect "status" 0 "$status"
for side in a b; do
    expect "side $side" "note.md..path1 note.md..path2 other.md" "$(cd "$dir/$side" && echo *)"
    expect "notes on side $side" "other.md" "$(cd "$dir/$side" && echo *.md)"
done
