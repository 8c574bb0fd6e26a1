#!/usr/bin/env bash
# Zim: the export of a page that does not begin with a heading is an empty page.
#
# A page of Zim is plain text, and needs no heading: a page whose heading was deleted, or that
# another program wrote. `zim --export` with the usual template, to HTML or markdown, writes such a
# page with its name and none of its text, says nothing, and ends with 0. The template Print keeps
# the text.
. "$(dirname "$0")/common.bash"
package zim 0.75.1
package xvfb 2
export XDG_RUNTIME_DIR=$dir/run
mkdir -p "$dir/run" "$dir/notes"
printf '[Notebook]\nversion=0.4\nname=Notes\n' >"$dir/notes/notebook.zim"
head='Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.6\n\n'
printf "${head}====== With ======\nblue rope\n" >"$dir/notes/With.txt"
printf "${head}blue rope\n\n===== Below =====\nblue rope\n" >"$dir/notes/Without.txt"

# export_notes FORMAT TEMPLATE: prints how often the text is in each exported page.
export_notes() {
    local out=$dir/$1-$2
    mkdir "$out"
    xvfb-run -a zim --export --format="$1" --template="$2" --recursive --output="$out" \
        "$dir/notes" >/dev/null 2>&1 || echo "status $?"
    (cd "$out" && grep -c "blue rope" With.* Without.*) | xargs
}
expect "html, Default" "With.html:1 Without.html:0" "$(export_notes html Default)"
expect "markdown, Default" "With.md:1 Without.md:0" "$(export_notes markdown Default)"
expect "html, Print" "With.html:1 Without.html:2" "$(export_notes html Print)"
