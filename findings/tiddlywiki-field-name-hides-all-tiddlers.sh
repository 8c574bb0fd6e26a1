#!/usr/bin/env bash
# TiddlyWiki: one field name with a blank turns a file of many tiddlers into one tiddler.
#
# 5.4.1 allows any text as the name of a field, and writes such tiddlers as a JSON array. 5.1.23
# allows fewer characters. It then reads the whole array as one data tiddler, whose title is the
# absolute path of the file, and says nothing.
. "$(dirname "$0")/common.bash"
if ! command -v npm >/dev/null; then
    echo "needs npm" >&2
    exit 2
fi

# tiddlers VERSION FIELD: prints the titles of all tiddlers, of which one has the field, without the
# directory of the wiki.
tiddlers() {
    mkdir -p "$dir/$1/wiki/tiddlers"
    cd "$dir/$1"
    npm install --silent --no-audit --no-fund "tiddlywiki@$1" >/dev/null
    echo '{ "plugins": [], "themes": [] }' >wiki/tiddlywiki.info
    echo "[{ \"title\": \"One\", \"text\": \"a\" }, { \"title\": \"Two\", \"$2\": \"b\" }]" \
        >wiki/tiddlers/two.json
    node node_modules/tiddlywiki/tiddlywiki.js wiki --rendertiddlers '[!is[system]]' \
        '$:/core/templates/tid-tiddler' out text/plain .tid >/dev/null 2>&1
    grep -h '^title: ' wiki/output/out/* | sed "s|^title: ||; s|$dir/$1/||" | xargs
}
expect "5.4.1, due date" "One Two" "$(tiddlers 5.4.1 "due date")"
expect "5.1.23, due-date" "One Two" "$(tiddlers 5.1.23 due-date)"
rm -r "$dir/5.1.23/wiki"
expect "5.1.23, due date" "wiki/tiddlers/two.json" "$(tiddlers 5.1.23 "due date")"
