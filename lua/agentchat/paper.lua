-- A buffer on which a doc is drawn, and the window options that show all of it as it is.

local M = {}

---@class (exact) agentchat.Doc rows from 0, columns in bytes
---@field lines string[]
---@field marks [integer, integer, integer, string][] row, col, end_col, group
---@field rows [integer, string][] row, group of the whole line
---@field hunks? agentchat.Hunk[] of a diff
---@field dim? table<integer, true> rows that are drawn dimmed

local ns = vim.api.nvim_create_namespace('agentchat.paper')

local AT_ONCE = 2000 -- marks made without letting anything else run

local shielded = false

---Makes a paste into a paper do nothing, once for all: what Neovim says of it is a traceback.
local function shield()
  if shielded then return end
  shielded = true
  local paste = vim.paste
  ---@diagnostic disable-next-line: duplicate-set-field
  vim.paste = function(lines, phase)
    local on_paper = vim.b.agentchat_paper and not vim.bo.modifiable
    return on_paper or paste(lines, phase)
  end
end

--- Makes an empty buffer that goes with its last window.
---@param filetype string
---@param chat? string uuid of the chat it belongs to
---@return integer
function M.create(filetype, chat)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.b[buf].agentchat_chat = chat
  vim.b[buf].agentchat_paper = true
  shield()
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = false
  return buf
end

---@param buf integer
---@param row [integer, string]
local function mark_row(buf, row)
  -- Not `line_hl_group`: that would lie over the marks inside the line.
  local look = { end_row = row[1] + 1, hl_group = row[2], hl_eol = true, priority = 100 }
  vim.api.nvim_buf_set_extmark(buf, ns, row[1], 0, look)
end

---@param buf integer
---@param mark [integer, integer, integer, string]
local function mark_text(buf, mark)
  local look = { end_col = mark[3], hl_group = mark[4], priority = 110, strict = false }
  vim.api.nvim_buf_set_extmark(buf, ns, mark[1], mark[2], look)
end

---Makes the marks of a list, the first ones at once and the others soon, so that nothing waits.
---@param buf integer
---@param list any[]
---@param make fun(buf: integer, item: any)
---@param dim table<integer, true> rows that have none
---@param from? integer
local function mark_all(buf, list, make, dim, from)
  local tick, first = vim.api.nvim_buf_get_changedtick(buf), from or 1
  local last = math.min(#list, first + AT_ONCE - 1)
  for i = first, last do
    if not dim[list[i][1]] then make(buf, list[i]) end
  end
  if last == #list then return end
  vim.defer_fn(function()
    local same = vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_changedtick(buf) == tick
    if same then mark_all(buf, list, make, dim, last + 1) end
  end, 1)
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
  doc.dim = {}
  mark_all(buf, doc.rows, mark_row, doc.dim)
  mark_all(buf, doc.marks, mark_text, doc.dim)
end

--- Draws some rows of `doc` dimmed, or as they are.
---@param buf integer
---@param doc agentchat.Doc that is drawn there
---@param first integer from 0
---@param last integer excluded
---@param dimmed boolean
function M.dim(buf, doc, first, last, dimmed)
  if dimmed == (doc.dim[first] or false) then return end
  -- Clearing the rows would take the marks that end there along.
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, { first, 0 }, { last - 1, -1 }, {})) do
    vim.api.nvim_buf_del_extmark(buf, ns, mark[1])
  end
  local function inside(mark) return mark[1] >= first and mark[1] < last end
  for row = first, last - 1 do
    doc.dim[row] = dimmed or nil
    if dimmed then mark_text(buf, { row, 0, #doc.lines[row + 1], 'AgentChatRejected' }) end
  end
  if dimmed then return end
  vim.iter(doc.rows):filter(inside):each(function(it) mark_row(buf, it) end)
  vim.iter(doc.marks):filter(inside):each(function(it) mark_text(buf, it) end)
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
