#!/usr/bin/env bash
# git-annex resolves a conflict of an annexed file into two variants and no original.
#
# `git annex sync` ends with 0 and has resolved the merge by itself. Whoever expects git's or a sync
# program's way looks for note.md with one version in it: it is gone, and both versions have the
# names of variants, note.variant-XXXX.md. The names depend on the texts alone, so every clone makes
# the same ones.
. "$(dirname "$0")/common.bash"
package git-annex 10.20230126

git config --global user.name finding
git config --global user.email finding@localhost
git config --global init.defaultBranch main
cd "$dir"
git init -q a
git -C a annex init -q a
cd a
echo "first text" >note.md
git annex add -q note.md
git commit -qm "first"
cd ..
git clone -q a b
git -C b annex init -q b
git -C b annex get -q .
for side in a b; do
    cd "$dir/$side"
    git annex unlock -q note.md
    echo "text of $side" >note.md
    git annex add -q note.md
    git commit -qam "$side"
done
cd "$dir/b"
status=0
git annex sync -q >"$dir/log" 2>&1 || status=$?
expect "status of git annex sync" 0 "$status"
expect "note.md" absent "$([ -e note.md ] || [ -L note.md ] && echo there || echo absent)"
expect "variants" 2 "$(ls | grep -cE '^note\.variant-[0-9a-f]{4}\.md$')"
expect "unresolved conflicts" 0 "$(git ls-files -u | wc -l)"
