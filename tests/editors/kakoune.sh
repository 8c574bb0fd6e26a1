#!/usr/bin/env bash
# Drives Kakoune and kakoune-lsp with `brain lsp`, by keys in a terminal: completes, jumps, renames,
# undoes, and reads diagnostics. Environment: BRAIN is the program, VAULT a registered source with the
# files of `.ci/clients`. Needs kak, kak-lsp and tmux.
set -euo pipefail

work=$(mktemp -d)
export XDG_CONFIG_HOME=$work XDG_RUNTIME_DIR=$work TMUX_TMPDIR=$work
session=brain-$$
finish() {
    # kakoune-lsp is a daemon, which outlives the terminal.
    kill $(cat "$work"/kakoune-lsp/*[0-9]/pid 2>/dev/null) 2>/dev/null || true
    tmux kill-server 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work/kak"
cat >"$work/kak/kakrc" <<END
eval %sh{kak-lsp}
hook global BufSetOption filetype=markdown %{
    set-option buffer lsp_servers %{
        [brain]
        command = "$BRAIN"
        args = ["lsp"]
        root_globs = [".git", ".obsidian"]
    }
}
hook global WinSetOption filetype=markdown %{
    lsp-enable-window
}
END

keys() { tmux send-keys -t kak "$@"; }
# Types a text.
type_text() { tmux send-keys -t kak -l "$1"; }
# Runs a command of the editor.
run() {
    keys Escape
    type_text ":$1"
    keys Enter
}
screen() { tmux capture-pane -p -t kak; }
fail() {
    echo "kakoune: $1" >&2
    screen >&2
    exit 1
}
# Waits until a command succeeds: `wait_for WHAT COMMAND…`.
wait_for() {
    local what=$1
    shift
    local end=$((SECONDS + 20))
    while [ "$SECONDS" -lt "$end" ]; do
        "$@" && return
        sleep 0.1
    done
    fail "$what"
}
shows() { screen | grep -qF -- "$1"; }
hides() { ! shows "$1"; }
is() { [ "$(cat "$VAULT/$1" 2>/dev/null)" = "$2" ]; }
exists() { [ -e "$VAULT/$1" ]; }

tmux new-session -d -s kak -x 120 -y 30 -c "$VAULT" "kak a.md"
wait_for "the editor" shows "a [[Old]] [[later]]"

# Completion.
keys g e
type_text "osee [[Meet"
wait_for "the list" shows "Meeting File"
# Kakoune shows the label first; the client makes the edit when the item is accepted.
chooses() { keys C-n && sleep 0.3 && shows "see [[Meeting"; }
wait_for "the chosen item" chooses
keys Escape
wait_for "the edit" shows "see [[Meeting]]"
run "write"
wait_for "the accepted item" is a.md "a [[Old]] [[later]]
see [[Meeting]]"

# Jump.
jumps() {
    keys g g l l l l l
    run "lsp-definition" && sleep 0.5 && shows "# Old page"
}
wait_for "the jump" jumps
run "buffer a.md"

# Diagnostics of a link that leads nowhere, and of one whose page comes into being.
diagnoses() { run "buffer a.md" && run "lsp-diagnostics" && sleep 0.5 && shows "$1"; }
wait_for "the diagnostic" diagnoses 'there is no page "later"'
echo here >"$VAULT/later.md"
is_clean() { ! diagnoses 'there is no page "later"'; }
wait_for "no diagnostic any more" is_clean
run "buffer a.md"

# Rename: this buffer by Kakoune, the file by kakoune-lsp, closed notes by brain.
keys g g l l l l l
run "lsp-rename New"
wait_for "the buffer" shows "a [[New]] [[later]]"
wait_for "the closed note" is b.md "[[New]]"
exists New.md && ! exists Old.md || fail "the file"

# Undo in this buffer alone, then turning the whole back.
run "write"
keys u
wait_for "the undo" shows "a [[Old]] [[later]]"
wait_for "the explanation" diagnoses '"Old" is now "New"'
run "buffer a.md"
run "lsp-execute-command brain.renameBack %{[]}"
wait_for "the closed note as before" is b.md "[[Old]]"
exists Old.md && ! exists New.md || fail "the file as before"

echo "kakoune: completed, jumped, renamed, undone, diagnosed"
