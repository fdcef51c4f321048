-- Draws a doc into a buffer, and sets window options that hide nothing of it.

local folds = require('agentchat.ui.folds')
local key_guard = require('agentchat.ui.key_guard')
local notify = require('agentchat.notify')

local M = {}

---@class (exact) agentchat.Doc rows from 0, columns in bytes, ends excluded
---@field lines string[]
---@field marks? agentchat.Marks by line, from 1
---@field parts? fun(row: integer): agentchat.Mark[] the same, made when they are needed
---@field rows agentchat.Row[] in order
---@field hunks? agentchat.Hunk[] of a diff
---@field dim? table<integer, true> rows that are drawn dimmed
---@field from? integer[] the row of another doc that each line stands for

---@alias agentchat.Marks table<integer, string> parts like `4:9:Group 7:8:Other`, the last on top
---@alias agentchat.Mark [integer, integer, string] column, end column, group
---@alias agentchat.Row [integer, string, integer?, integer?] row, group of the whole line, or of the
---  part from one column to another, below its marks

local ns = vim.api.nvim_create_namespace('agentchat.render')

local MOST_FOLDS = 200 -- files, which is more than anybody folds
local SLICE_MS = 1 -- of drawing without letting anything else run

---Makes a paste into a buffer do nothing while it cannot be changed: Neovim would show a traceback.
local function ignore_pastes(buf)
  local before
  local function paste(lines, phase)
    local ours = vim.api.nvim_get_current_buf() == buf and not vim.bo.modifiable
    return ours or before(lines, phase)
  end
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { buffer = buf, callback = callback })
  end
  on('BufEnter', function()
    if vim.paste ~= paste then
      ---@diagnostic disable-next-line: duplicate-set-field
      before, vim.paste = vim.paste, paste
    end
  end)
  on({ 'BufLeave', 'BufWipeout' }, function()
    if vim.paste == paste then vim.paste = before end
  end)
end

--- Makes an empty buffer that goes with its last window.
---@param chat? string uuid of the chat it belongs to
function M.create(filetype, chat)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.b[buf].agentchat_chat = chat
  ignore_pastes(buf)
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = false
  return buf
end

local function parse_marks(marks)
  local found = {}
  for first, last, group in marks:gmatch('(%d+):(%d+):(%S+)') do
    table.insert(found, { tonumber(first), tonumber(last), group })
  end
  return found
end

function M.parts(doc, row)
  if doc.parts then return doc.parts(row) end
  return parse_marks(doc.marks and doc.marks[row + 1] or '')
end

-- What would answer elsewhere, and what would change the text.
local DEAD = '<CR> <Space> y i I o O s S x X d D c C p P r R A e J u U . ~ < > ='

--- Maps keys in a buffer, without waiting for longer ones.
---@param modes? string[] default: normal mode
function M.map(buf, keys, action, desc, modes)
  for _, key in ipairs(keys) do
    vim.keymap.set(modes or 'n', key, action, { buffer = buf, nowait = true, desc = desc })
  end
end

--- Makes keys do nothing that would do something in another window.
---@param keys? string divided by blanks; default: those that answer or change text
function M.disable_keys(buf, keys) M.map(buf, vim.split(keys or DEAD, ' '), key_guard.nothing) end

local function mark_row(buf, it)
  -- Not `line_hl_group`: that would lie over the marks inside the line.
  local look = { hl_group = it[2], priority = 100 }
  if it[3] then
    look.end_col = it[4]
  else
    look.end_row, look.hl_eol = it[1] + 1, true
  end
  vim.api.nvim_buf_set_extmark(buf, ns, it[1], it[3] or 0, look)
end

local function mark_text(buf, row, mark)
  local look = { end_col = mark[2], hl_group = mark[3], priority = 110, strict = false }
  vim.api.nvim_buf_set_extmark(buf, ns, row, mark[1], look)
end

--- The highlights of a whole line or parts of it, found by halves as all are in order.
---@return fun(): agentchat.Row?
local function rows_at(doc, row)
  local low, high = 1, #doc.rows + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if doc.rows[middle][1] < row then
      low = middle + 1
    else
      high = middle
    end
  end
  return function()
    local found = doc.rows[low]
    low = low + 1
    return found and found[1] == row and found or nil
  end
end

local function colour(buf, doc, row)
  if doc.dim[row] then return end
  for it in rows_at(doc, row) do
    mark_row(buf, it)
  end
  for _, mark in ipairs(M.parts(doc, row)) do
    mark_text(buf, row, mark)
  end
end

--- Runs something long in slices, the first one at once, so that keys and redraws come in between.
---@param work fun(pause: fun(now?: boolean): boolean) calls `pause` often, which returns whether others
---  have run; they do if `now`
---@param wanted fun(): boolean whether it should go on
function M.in_slices(work, wanted)
  local began
  local function pause(now)
    local over = now or vim.uv.hrtime() / 1e6 - began > SLICE_MS
    if over then coroutine.yield() end
    return over
  end
  local thread = coroutine.create(function() work(pause) end)
  local function continue()
    if not wanted() then return end
    began = vim.uv.hrtime() / 1e6
    local ok, problem = coroutine.resume(thread)
    if not ok then return notify.error('drawing failed: ' .. problem) end
    if coroutine.status(thread) ~= 'dead' then vim.defer_fn(continue, 1) end
  end
  continue()
end

---Colours the first rows at once and the others soon, so that nothing waits.
local function colour_all(buf, doc)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  M.in_slices(
    function(pause)
      for row = 0, #doc.lines - 1 do
        colour(buf, doc, row)
        pause()
      end
    end,
    function()
      return vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_changedtick(buf) == tick
    end
  )
end

--- The rows that are highlighted as a whole in a group, in order.
function M.rows(doc, group)
  local found = {}
  for _, it in ipairs(doc.rows) do
    if it[2] == group and not it[3] then table.insert(found, it[1]) end
  end
  return found
end

---@return agentchat.Fold[] one for each of several files
local function file_folds(doc)
  local files, found = M.rows(doc, 'AgentChatFile'), {}
  if #files < 2 or #files > MOST_FOLDS then return found end
  for i, row in ipairs(files) do
    local last = files[i + 1] or #doc.lines
    -- The blank line between two files is in no fold.
    if doc.lines[last] == '' then last = last - 1 end
    table.insert(found, { first = row + 1, last = last, closed = true })
  end
  return found
end

local function fold(win, doc)
  local wanted = file_folds(doc)
  if #wanted == 0 then return end
  folds.restore(win, wanted)
  vim.api.nvim_win_call(win, function() vim.cmd('normal! zR') end)
end

---@param win integer its window; of several files in `doc` each gets a fold there, all of them open
function M.draw(buf, doc, win)
  local editable = vim.bo[buf].modifiable
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, doc.lines)
  vim.bo[buf].modifiable = editable
  doc.dim = {}
  colour_all(buf, doc)
  fold(win, doc)
end

--- Draws some rows of `doc` dimmed, or as they are.
function M.dim(buf, doc, first, last, dimmed)
  if dimmed == (doc.dim[first] or false) then return end
  -- Clearing the rows would take the marks that end there along.
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, { first, 0 }, { last - 1, -1 }, {})) do
    vim.api.nvim_buf_del_extmark(buf, ns, mark[1])
  end
  for row = first, last - 1 do
    doc.dim[row] = dimmed or nil
    if dimmed then mark_text(buf, row, { 0, #doc.lines[row + 1], 'AgentChatRejected' }) end
    colour(buf, doc, row)
  end
end

function M.fold_text()
  local line = vim.fn.getline(vim.v.foldstart)
  local count = vim.v.foldend - vim.v.foldstart
  local hidden = ('  … %d %s'):format(count, count == 1 and 'line' or 'lines')
  return { { line, 'AgentChatFile' }, { hidden, 'AgentChatFact' } }
end

function M.current_spot(win, doc)
  local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  local row = doc.from and doc.from[view.lnum] or view.lnum - 1
  return { row = row, above = view.lnum - view.topline }
end

function M.restore_spot(win, doc, spot)
  local line = math.min(spot.row + 1, #doc.lines)
  for at, row in ipairs(doc.from or {}) do
    if row <= spot.row then line = at end
  end
  local view = { lnum = line, col = 0, topline = math.max(1, line - spot.above), skipcol = 0 }
  vim.api.nvim_win_call(win, function() vim.fn.winrestview(view) end)
end

--- Sets options with which every character can be reached and nothing is hidden.
function M.set_options(win)
  local options = {
    wrap = true,
    linebreak = false,
    smoothscroll = true,
    showbreak = '↳ ',
    breakindent = true,
    breakindentopt = 'min:20,list:-1',
    list = true,
    listchars = 'tab:  ,nbsp:␣',
    statuscolumn = '',
    foldenable = true,
    foldmethod = 'manual',
    foldcolumn = '1', -- a margin; with 'statuscolumn' a click on the border would end Neovim
    foldtext = [[v:lua.require'agentchat.ui.render'.fold_text()]],
    fillchars = 'fold: ,foldopen: ,foldclose: ,foldsep: ,eob: ,lastline:…',
    scrolloff = 0,
    conceallevel = 0,
    spell = false,
    number = false, -- a diff has its own
    relativenumber = false,
    signcolumn = 'no',
    colorcolumn = '',
    cursorcolumn = false,
    winfixbuf = true,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

return M
