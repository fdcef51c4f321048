--- Folds of tool blocks. They are made by hand: an expression is not evaluated in insert mode, where
--- the user is while the agent works.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.folds')
local blocks = api.nvim_create_namespace('agentchat.blocks')

local TITLE = 'AgentChatBlock'

---@type table<integer, table<integer, string>> by buffer and extmark
local labels = {}

---@class agentchat.Fold
---@field first integer 1-based line
---@field last integer
---@field closed boolean
---@field label? string what is shown in place of its first line
---@field note? 'earlier' it hides lines that come before others

local function in_windows(buf, run)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].foldmethod == 'manual' then api.nvim_win_call(win, function() run(win) end) end
  end
end

local function make(fold, open)
  pcall(vim.cmd, ('%d,%dfold'):format(fold.first, fold.last))
  if open or not fold.closed then pcall(vim.cmd, ('%dfoldopen'):format(fold.first)) end
end

--- Remembers the labels of folds, for all windows.
local function set_labels(buf, folds)
  for _, fold in ipairs(folds) do
    if fold.label then
      local row = fold.first - 1
      api.nvim_buf_clear_namespace(buf, ns, row, row + 1)
      local id = api.nvim_buf_set_extmark(buf, ns, row, 0, { end_row = fold.last, strict = false })
      labels[buf] = labels[buf] or {}
      labels[buf][id] = fold.label
    end
  end
end

local function label_of(buf, first, last)
  local at = { first - 1, 0 }
  local mark = api.nvim_buf_get_extmarks(buf, ns, at, at, { details = true })[1]
  return mark and mark[4].end_row == last and labels[buf] and labels[buf][mark[1]]
end

--- Makes folds in all windows of a buffer, the outer ones first.
---@param closes? fun(win: integer): boolean whether closed folds are closed there; default: in all
function M.make(buf, folds, closes)
  if #folds == 0 then return end
  set_labels(buf, folds)
  in_windows(buf, function(win)
    local open = closes ~= nil and not closes(win)
    vim.iter(folds):each(function(fold) make(fold, open) end)
  end)
end

--- Inserts lines; folds and marks around them stay. The API's functions stretch a fold that begins
--- where they insert.
function M.insert_lines(buf, row, list)
  local stored = {}
  for i, line in ipairs(list) do
    stored[i] = line:gsub('%z', '\n')
  end
  -- In insert mode Neovim adds a single line to the fold above.
  local single = #stored == 1 and vim.fn.mode():find('^[iR]')
  if single then table.insert(stored, '') end
  vim.fn.appendbufline(buf, row, stored)
  if single then vim.fn.deletebufline(buf, row + 2) end
end

--- Closes the fold that begins at a line.
function M.close(buf, line)
  in_windows(buf, function() pcall(vim.cmd, ('%dfoldclose'):format(line)) end)
end

--- Puts a fold in the place of one that had other lines; it is open where that was.
---@param old agentchat.Fold
---@param new agentchat.Fold
function M.replace(buf, old, new)
  in_windows(buf, function()
    local view, closed = vim.fn.winsaveview(), vim.fn.foldclosed(old.first)
    while vim.fn.foldclosed(old.first) > 0 do
      vim.cmd(('%dfoldopen'):format(old.first))
    end
    pcall(vim.cmd, ('keepjumps normal! %dGzd'):format(old.first))
    make(new, closed < 0)
    -- It was inside of a closed one.
    if closed > 0 and closed < old.first then vim.cmd(('%dfoldclose'):format(closed)) end
    vim.fn.winrestview(view)
  end)
end

--- Opens the closed fold that begins at a line.
function M.open(buf, line)
  in_windows(buf, function()
    if vim.fn.foldclosed(line) == line then vim.cmd(('%dfoldopen'):format(line)) end
  end)
end

--- Makes the folds of one window again, for a buffer it did not show before.
function M.restore(win, folds)
  if #folds == 0 then return end
  api.nvim_win_call(win, function()
    if vim.wo.foldmethod ~= 'manual' then return end
    vim.cmd('silent! normal! zE')
    vim.iter(folds):each(function(fold) make(fold) end)
  end)
end

--- The header of a block as it is drawn where it is not folded.
---@return [string, string][] chunks
local function header_chunks(first, line)
  local opts = { details = true, type = 'highlight' }
  local found = api.nvim_buf_get_extmarks(0, blocks, { first - 1, 0 }, { first - 1, -1 }, opts)
  local chunks, at = {}, 0
  table.sort(found, function(a, b) return a[3] < b[3] end)
  for _, mark in ipairs(found) do
    local from, to, sign = mark[3], mark[4].end_col, mark[4].conceal
    local shown = not (sign and vim.wo.conceallevel == 0) and (sign or mark[4].hl_group ~= TITLE)
    if shown and from >= at then
      table.insert(chunks, { line:sub(at + 1, from), TITLE })
      table.insert(chunks, { sign or line:sub(from + 1, to), mark[4].hl_group })
      at = to
    end
  end
  table.insert(chunks, { line:sub(at + 1), TITLE })
  return chunks
end

function M.text()
  local first, last = vim.v.foldstart, vim.v.foldend
  local label = label_of(api.nvim_get_current_buf(), first, last)
  if label then return { { '✓', 'AgentChatDone' }, { ' ' .. label, 'AgentChatBlock' } } end
  local count, line = last - first + 1, vim.fn.getline(first)
  if not vim.startswith(line, '▸ ') then -- output is indented, or blank
    local which = vim.startswith(vim.fn.getline(first - 1), '▸ ') and 'earlier' or 'more'
    local what = count == 1 and 'line' or 'lines'
    return { { ('    … %d %s %s'):format(count, which, what), 'AgentChatReasoning' } }
  end
  local hidden = (' (%d %s)'):format(count - 1, count == 2 and 'line' or 'lines')
  return vim.list_extend(header_chunks(first, line), { { hidden, 'AgentChatReasoning' } })
end

return M
