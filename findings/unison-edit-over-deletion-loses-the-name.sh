#!/usr/bin/env bash
# Unison with -copyonconflict: an edit that wins over a deletion loses its name.
#
# note.md is edited on one side and deleted on the other, and the newer version wins. Unison reports
# "Synchronization complete" and ends with 0. The side that deleted the note gets the text under the
# name of a conflict copy, and the next run deletes note.md on the side of the edit, too. Then the
# only copy is "note (conflict_on_DATE_was_deleted).md": it must not be sorted out as a duplicate.
. "$(dirname "$0")/common.bash"
package unison-2.52 2.52.1

mkdir "$dir/a" "$dir/b"
synchronise() {
    unison "$dir/a" "$dir/b" -ui text -batch -times -confirmbigdel=false \
        -copyonconflict -prefer newer >"$dir/log" 2>&1
}
names() { (cd "$1" && ls | sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/'); }

echo "first text" >"$dir/a/note.md"
synchronise
rm "$dir/a/note.md"
sleep 1
echo "edited text" >"$dir/b/note.md"
status=0
synchronise || status=$?
expect "status of the run, and its last line" "0 complete" \
    "$status $(grep -ao complete "$dir/log" | tail -1)"
copy="note (conflict_on_DATE_was_deleted).md"
expect "side of the deletion" "$copy" "$(names "$dir/a")"
expect "side of the edit" note.md "$(names "$dir/b")"
synchronise
expect "side of the edit after a second run" "$copy" "$(names "$dir/b")"
expect "its text" "edited text" "$(cat "$dir"/b/*)"
