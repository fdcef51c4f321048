-- Changes the lines of a buffer so that all that hangs on its text stays: marks, extmarks, folds,
-- the jump list. Each kind of change uses the call that keeps them: `:substitute` inside a line (the
-- API drops marks there and shortens folds), append() and deletebufline() for whole lines.

local M = {}

---@alias agentchat.LineEdit [integer, integer, string[]] first, last (excluded), new lines; from 0

local DELIMITER = '\1'
local MATCHED = 60 -- lines that are paired by likeness when one hunk replaces others

---Cuts what two lines have in common at both ends, in whole characters.
---@return integer from, integer to bytes of `old`, `to` excluded
---@return string the text there in `new`
local function difference(old, new)
  local least = math.min(#old, #new)
  local head = 0
  while head < least and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  if head < #old then head = head + vim.str_utf_start(old, head + 1) end
  if head < #new then head = math.min(head, head + vim.str_utf_start(new, head + 1)) end
  local tail = 0
  while tail < least - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  while tail > 0 and vim.str_utf_start(old, #old - tail + 1) < 0 do
    tail = tail - 1
  end
  return head, #old - tail, new:sub(head + 1, #new - tail)
end

local function substitute(row, from, to, text)
  local pattern = ('\\%%%dl\\%%%dc.\\{-}\\%%%dc'):format(row + 1, from + 1, to + 1)
  local parts = { '', pattern, '\\=' .. vim.fn.string(text), '' }
  vim.api.nvim_cmd({
    cmd = 'substitute',
    range = { row + 1 },
    args = { table.concat(parts, DELIMITER) },
    magic = { bar = false, file = false },
    mods = { keepjumps = true, keeppatterns = true, lockmarks = true, silent = true },
  }, {})
end

local function line_at(row) return vim.api.nvim_buf_get_lines(0, row, row + 1, true)[1] end

local function change_line(row, new)
  local from, to, text = difference(line_at(row), new)
  if not text:find('[%z\1\r\n]') then pcall(substitute, row, from, to, text) end
  -- It finds no place inside a composed character, and eats a backslash before a combining one.
  local made = line_at(row)
  if made == new then return end
  from, to, text = difference(made, new)
  vim.api.nvim_buf_set_text(0, row, from, row, to, { text })
end

---@return string[] as Vim's functions take them: a NUL in a line is a newline there
local function for_vim(lines)
  return vim.tbl_map(function(line) return (line:gsub('%z', '\n')) end, lines)
end

---Replaces `count` lines from `row` on; those that face each other are changed in place.
local function replace(row, count, new)
  local both = math.min(count, #new)
  if #new > both then
    vim.fn.append(row + both, for_vim(vim.list_slice(new, both + 1)))
  elseif count > both then
    vim.fn.deletebufline('%', row + both + 1, row + count)
  end
  for i = both, 1, -1 do
    change_line(row + i - 1, new[i])
  end
end

local function join_lines(lines) return #lines > 0 and table.concat(lines, '\n') .. '\n' or '' end

---Whether as many lines come as go, all of them different: then each faces its own, and comparing
---them would cost as much as changing them.
local function all_differ(old, new)
  local there = {}
  for _, line in ipairs(old) do
    there[line] = true
  end
  return #old == #new and not vim.iter(new):any(function(line) return there[line] end)
end

local function make_edit(edit)
  local first, new = edit[1], edit[3]
  local old = vim.api.nvim_buf_get_lines(0, first, edit[2], true)
  if all_differ(old, new) then return replace(first, #old, new) end
  local opts = { result_type = 'indices', linematch = MATCHED }
  local diff = vim.text and vim.text.diff or vim.diff
  local hunks = diff(join_lines(old), join_lines(new), opts)
  for i = #hunks, 1, -1 do
    local at, count, from, size = unpack(hunks[i])
    -- A hunk that only adds comes after the line it names.
    local row = first + (count > 0 and at - 1 or at)
    local lines = size > 0 and vim.list_slice(new, from, from + size - 1) or {}
    replace(row, count, lines)
  end
end

---The one line of a buffer without text is not in its file: there is nothing to change in place.
local function fill(lines)
  -- Neovim takes a single empty line for no text at all, unless there was text before.
  vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'text' })
  vim.api.nvim_buf_set_lines(0, 0, -1, true, lines)
end

--- Whether the current buffer holds no text at all, as that of an empty file.
function M.is_empty()
  local lines = vim.api.nvim_buf_get_lines(0, 0, 2, false)
  return #lines == 1 and lines[1] == '' and vim.fn.wordcount().bytes == 0
end

--- What is wrong with `edits` for a buffer, if anything.
---@param edits agentchat.LineEdit[] the last place first
function M.problem(edits, count)
  local before = count
  for _, edit in ipairs(edits) do
    local first, last = edit[1], edit[2]
    if first < 0 or last < first or last > before then
      return ('lines %d to %d are not there or overlap'):format(first, last)
    end
    before = first
  end
end

--- Makes the edits in the current buffer. Lines that stay the same are not touched.
---@param edits agentchat.LineEdit[] the last place first, not overlapping
function M.make(edits)
  if M.is_empty() then
    local lines = edits[1] and edits[1][3] or {}
    if #lines > 0 then fill(lines) end
    return
  end
  for _, edit in ipairs(edits) do
    make_edit(edit)
  end
end

local ns = vim.api.nvim_create_namespace('agentchat.views')

local function set_mark(buf, row, col)
  return vim.api.nvim_buf_set_extmark(buf, ns, row, col, { strict = false, undo_restore = false })
end

local function save(buf)
  return vim.tbl_map(function(win)
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    return {
      win = win,
      view = view,
      cursor = set_mark(buf, view.lnum - 1, view.col),
      top = set_mark(buf, view.topline - 1, 0),
    }
  end, vim.fn.win_findbuf(buf))
end

local function restore(buf, kept)
  local cursor = vim.api.nvim_buf_get_extmark_by_id(buf, ns, kept.cursor, {})
  local top = vim.api.nvim_buf_get_extmark_by_id(buf, ns, kept.top, {})
  kept.view.lnum, kept.view.col, kept.view.topline = cursor[1] + 1, cursor[2], top[1] + 1
  vim.api.nvim_win_call(kept.win, function() vim.fn.winrestview(kept.view) end)
end

--- Calls `change`, which changes the text of a buffer; cursors and scroll positions of all its
--- windows stay at their text. An error of `change` is raised again after that.
function M.keep_views(buf, change)
  local all = save(buf)
  local ok, problem = pcall(change)
  for _, kept in ipairs(all) do
    restore(buf, kept)
  end
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  if not ok then error(problem, 0) end
end

return M
