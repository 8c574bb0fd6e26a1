-- Drives Neovim with `brain lsp`: completes, jumps, renames, undoes, and reads diagnostics.
-- Environment: BRAIN is the program, VAULT a registered source with the files of `.ci/clients`.

local vault = os.getenv("VAULT")

local function check(condition, message)
  if not condition then
    io.stderr:write("neovim: " .. message .. "\n")
    vim.cmd("cquit 1")
  end
end

local function wait(what, condition)
  check(vim.wait(20000, condition, 20), what)
end

local function lines(path)
  local ok, text = pcall(vim.fn.readfile, path)
  return ok and table.concat(text, "\n") or ""
end

vim.cmd("edit " .. vault .. "/a.md")
local client_id = vim.lsp.start_client({
  name = "brain",
  cmd = { os.getenv("BRAIN"), "lsp" },
  root_dir = vault,
})
vim.lsp.buf_attach_client(0, client_id)
local client = vim.lsp.get_client_by_id(client_id)
wait("the server starts", function()
  return client.initialized and #vim.lsp.get_active_clients() == 1
end)

-- Completion, with Neovim's own completion in insert mode.
vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
vim.api.nvim_buf_set_lines(0, -1, -1, false, { "see [[Meet" })
vim.cmd("normal! G$")
local position = vim.lsp.util.make_position_params(0, client.offset_encoding)
position.position.character = 10
local answer = vim.lsp.buf_request_sync(0, "textDocument/completion", position, 10000)
local items = answer[client_id].result.items
check(#items == 1 and items[1].label == "Meeting", vim.inspect(items))
local found = vim.lsp.util.text_document_completion_list_to_complete_items(
  answer[client_id].result, "[[Meet")
check(#found <= 1, vim.inspect(found))
vim.lsp.util.apply_text_edits({ items[1].textEdit }, 0, client.offset_encoding)
check(vim.fn.getline("$") == "see [[Meeting]]", vim.fn.getline("$"))

-- Jump.
vim.fn.cursor(1, 6)
vim.lsp.buf.definition()
wait("the jump", function() return vim.fn.expand("%:t") == "Old.md" end)
vim.cmd("buffer a.md")

-- Diagnostics of a link that leads nowhere, and of one whose page comes into being.
wait("the diagnostic", function() return #vim.diagnostic.get(0) == 1 end)
vim.fn.writefile({ "here" }, vault .. "/later.md")
wait("no diagnostic any more", function() return #vim.diagnostic.get(0) == 0 end)

-- Rename: this buffer by Neovim, closed notes by brain, and the file by Neovim.
vim.fn.cursor(1, 6)
vim.lsp.buf.rename("New")
wait("the buffer", function() return vim.fn.getline(1) == "a [[New]] [[later]]" end)
wait("the closed note", function() return lines(vault .. "/b.md") == "[[New]]" end)
wait("the file", function()
  return vim.fn.filereadable(vault .. "/New.md") == 1
    and vim.fn.filereadable(vault .. "/Old.md") == 0
end)
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":t")
  check(name ~= "b.md", "a hidden buffer of a closed note")
end

-- Undo in this buffer alone, then turning the whole back.
vim.cmd("write")
vim.cmd("undo")
check(vim.fn.getline(1) == "a [[Old]] [[later]]", vim.fn.getline(1))
wait("the explanation", function()
  local found = vim.diagnostic.get(0)
  return #found == 1 and found[1].message == '"Old" is now "New"'
end)
vim.lsp.buf_request_sync(0, "workspace/executeCommand",
  { command = "brain.renameBack", arguments = {} }, 10000)
wait("the closed note as before", function() return lines(vault .. "/b.md") == "[[Old]]" end)
wait("the file as before", function() return vim.fn.filereadable(vault .. "/Old.md") == 1 end)

-- A folder that does not exist yet: Neovim creates none.
wait("the link to the page", function() return #vim.diagnostic.get(0) == 0 end)
vim.fn.cursor(1, 6)
vim.lsp.buf.rename("work/Newer")
wait("the page in the folder", function()
  return vim.fn.filereadable(vault .. "/work/Newer.md") == 1
end)
wait("the closed note with the folder", function() return lines(vault .. "/b.md") == "[[Newer]]" end)

print("neovim: completed, jumped, renamed, undone, diagnosed\n")
vim.cmd("qall!")
