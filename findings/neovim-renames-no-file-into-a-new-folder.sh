#!/usr/bin/env bash
# Neovim: a WorkspaceEdit with a rename into a folder that does not exist changes the texts, and then
# fails. The links have the new name, and the file the former one.
#
# The protocol does not say who creates folders; Visual Studio Code does. Neovim calls rename(), and
# an error in the middle takes back nothing. So a server has to create the folder before it answers.
. "$(dirname "$0")/common.bash"
package neovim 0.7.2
mkdir "$dir/notes"
echo '[[old]]' >"$dir/notes/links.md"
echo 'text' >"$dir/notes/old.md"
cat >"$dir/rename.lua" <<'LUA'
local dir = os.getenv("NOTES")
local uri = function(name) return vim.uri_from_fname(dir .. "/" .. name) end
vim.cmd("edit " .. dir .. "/links.md")
local range = { start = { line = 0, character = 2 }, ["end"] = { line = 0, character = 5 } }
local done, message = pcall(vim.lsp.util.apply_workspace_edit, { documentChanges = {
  { textDocument = { uri = uri("links.md") },
    edits = { { range = range, newText = "work/new" } } },
  { kind = "rename", oldUri = uri("old.md"), newUri = uri("work/new.md") },
} }, "utf-16")
vim.cmd("write")
io.stdout:write("\n", done and "done" or message:match("[^:]*$"):gsub("^ ", ""), "\n")
vim.cmd("qall!")
LUA
seen=$(NOTES=$dir/notes timeout 30 nvim --headless -u NONE -n -c "luafile $dir/rename.lua" \
    </dev/null 2>/dev/null | tail -n 1)
expect "the edit" "No such file or directory" "$seen"
expect "the link" "[[work/new]]" "$(cat "$dir/notes/links.md")"
expect "the files" "links.md old.md" "$(cd "$dir/notes" && echo *)"
