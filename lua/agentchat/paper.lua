-- A buffer on which a doc is drawn, and the window options that show all of it as it is.

local M = {}

---@class (exact) agentchat.Doc rows from 0, columns in bytes
---@field lines string[]
---@field marks [integer, integer, integer, string][] row, col, end_col, group
---@field rows [integer, string][] row, group of the whole line

local ns = vim.api.nvim_create_namespace('agentchat.paper')

--- Makes an empty buffer that goes with its last window.
---@param filetype string
---@param chat? string uuid of the chat it belongs to
---@return integer
function M.create(filetype, chat)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.b[buf].agentchat_chat = chat
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = false
  return buf
end

---@param buf integer
---@param doc agentchat.Doc
local function highlight(buf, doc)
  for _, row in ipairs(doc.rows) do
    -- Not `line_hl_group`: that would lie over the marks inside the line.
    local look = { end_row = row[1] + 1, hl_group = row[2], hl_eol = true, priority = 100 }
    vim.api.nvim_buf_set_extmark(buf, ns, row[1], 0, look)
  end
  for _, mark in ipairs(doc.marks) do
    local look = { end_col = mark[3], hl_group = mark[4], priority = 110, strict = false }
    vim.api.nvim_buf_set_extmark(buf, ns, mark[1], mark[2], look)
  end
end

--- Draws `doc` in place of what the buffer showed.
---@param buf integer
---@param doc agentchat.Doc
function M.draw(buf, doc)
  local editable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, doc.lines)
  vim.bo[buf].modifiable = editable
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  highlight(buf, doc)
end

--- The rows that are highlighted as a whole in one of the `groups`, from 0, in order.
---@param buf integer
---@param groups string[]
---@return integer[]
function M.rows(buf, groups)
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    local whole = mark[4].hl_eol and vim.list_contains(groups, mark[4].hl_group)
    if whole then table.insert(found, mark[2]) end
  end
  return found
end

--- Sets what makes every character reachable, and nothing look like what it is not.
---@param win integer
function M.dress(win)
  local options = {
    wrap = true,
    linebreak = false,
    smoothscroll = true,
    showbreak = '↳ ',
    breakindent = true,
    breakindentopt = 'min:20,list:-1',
    list = true,
    listchars = 'tab:  ,nbsp:␣',
    statuscolumn = ' ',
    foldenable = false,
    scrolloff = 0,
    conceallevel = 0,
    spell = false,
    winfixbuf = true,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

return M
