-- A diff in two columns: the old text on the left, the new text beside it. Pure. A
-- line too long for its column continues below, so that nothing of it is cut.

local render = require('agentchat.ui.render')

local M = {}

local SEPARATOR = '│'
local ON = '↳' -- in place of the sign, where a line continues
local LEAST = 30 -- columns of a side
local BLANK = (' '):byte()

---@class (exact) agentchat.Piece a part of a line, in bytes from 0, and where it is in its row
---@field first integer
---@field last integer excluded
---@field col integer
---@field size integer bytes there: more where a tab becomes blanks

---@class (exact) agentchat.WrappedRow
---@field text string
---@field width integer columns
---@field pieces agentchat.Piece[]

local function new_row() return { text = '', width = 0, pieces = {} } end

---@param first integer byte of the line
---@param bytes integer of the line
local function extend(row, text, width, first, bytes)
  local last, as_is = row.pieces[#row.pieces], bytes == #text
  if last and as_is and last.size == last.last - last.first then
    last.last, last.size = first + bytes, last.size + bytes
  else
    local piece = { first = first, last = first + bytes, col = #row.text, size = #text }
    table.insert(row.pieces, piece)
  end
  row.text, row.width = row.text .. text, row.width + width
end

--- Whether a column of the line is a byte of it.
local function is_plain(line) return not line:find('[\t\128-\255]') end

local function wrap_plain(line, columns)
  local rows = {}
  for first = 0, math.max(#line - 1, 0), columns do
    local text = line:sub(first + 1, first + columns)
    local piece = { first = first, last = first + #text, col = 0, size = #text }
    table.insert(rows, { text = text, width = #text, pieces = { piece } })
  end
  return rows
end

--- The rows of a line. Characters stay whole; a tab becomes the blanks up to the next stop.
local function wrap(line, columns)
  columns = math.max(columns, 1)
  if is_plain(line) then return wrap_plain(line, columns) end
  local rows, at, column, stop = { new_row() }, 0, 0, vim.go.tabstop
  for _, char in ipairs(vim.fn.split(line, '\\zs')) do
    local blanks = (' '):rep(math.min(stop - column % stop, columns))
    local text = char:gsub('^\t', blanks)
    -- Behind a blank, as a combining character is drawn on the one before it.
    local width = vim.api.nvim_strwidth(' ' .. text) - 1
    if rows[#rows].width + width > columns then table.insert(rows, new_row()) end
    extend(rows[#rows], text, width, at, #char)
    at, column = at + #char, column + width
  end
  return rows
end

--- Where a part of the line is in a row.
---@return [integer, integer][] columns in bytes, ends excluded
local function find_columns(row, first, last)
  local found = {}
  for _, piece in ipairs(row.pieces) do
    local from, to = math.max(first, piece.first), math.min(last, piece.last)
    local as_is = piece.size == piece.last - piece.first
    if from < to and as_is then
      table.insert(found, { piece.col + from - piece.first, piece.col + to - piece.first })
    elseif from < to then
      table.insert(found, { piece.col, piece.col + piece.size })
    end
  end
  return found
end

---@return string the text, without line numbers and sign
---@return integer columns it may have: those of a side without one number and the sign
local function text_of(sides, row)
  local skip = sides.skips[row]
  return sides.doc.lines[row + 1]:sub(skip + 1), sides.size - skip / 2 - 1
end

---One side of a line: its own number, sign and text.
---@return string first, string[]? more what continues below
local function draw_side(sides, row, new)
  if not row then return sides.blank end
  local line, digits = sides.doc.lines[row + 1], sides.skips[row] / 2 - 2
  local whole = new and line:sub(digits + 2) or line:sub(1, digits) .. line:sub(2 * digits + 2)
  if sides.plain and #whole <= sides.size then return whole .. sides.blank:sub(#whole + 1) end
  local text, room = text_of(sides, row)
  local more = vim.tbl_map(
    function(part) return part.text .. sides.blank:sub(1, room - part.width) end,
    wrap(text, room)
  )
  local first = whole:sub(1, digits + 3) .. table.remove(more, 1)
  local below = (' '):rep(digits + 1) .. ON .. ' '
  return first, vim.tbl_map(function(part) return below .. part end, more)
end

local function add_row(sides, old, new, left, right, nth)
  local out, at = sides.out, #sides.out.lines + 1
  out.lines[at], out.from[at] = left .. SEPARATOR .. right, old or new
  sides.old[at], sides.new[at], sides.nth[at], sides.seams[at] = old, new, nth, #left
  local under = old and sides.groups[old]
  if not old then under = 'AgentChatFiller' end
  if under then table.insert(out.rows, { at - 1, under, 0, #left }) end
  under = new and sides.groups[new]
  if not new then under = 'AgentChatFiller' end
  if under then table.insert(out.rows, { at - 1, under, #left + #SEPARATOR, #out.lines[at] }) end
end

---Draws two lines of the diff facing each other; at least one is there.
local function add_pair(sides, old, new)
  local left, left_more = draw_side(sides, old, false)
  local right, right_more = draw_side(sides, new, true)
  add_row(sides, old, new, left, right, 1)
  if not (left_more or right_more) then return end
  left_more, right_more = left_more or {}, right_more or {}
  for i = 1, math.max(#left_more, #right_more) do
    add_row(sides, old, new, left_more[i] or sides.blank, right_more[i] or sides.blank, i + 1)
  end
end

---Removed lines face the added ones that follow them.
local function add_hunk(sides, hunk)
  local skip, removed, added, kind = 2 * hunk.digits + 4, {}, {}, ' '
  local function flush()
    for i = 1, math.max(#removed, #added) do
      add_pair(sides, removed[i], added[i])
    end
    removed, added = {}, {}
  end
  local first, last = hunk.row + 1, hunk.row + hunk.rows - 1
  sides.plain = is_plain(table.concat(sides.doc.lines, '', first + 1, last + 1))
  for row = first, last do
    local line = sides.doc.lines[row + 1]
    sides.skips[row] = skip
    -- A note about a line is below it, without numbers.
    local number = line:byte(hunk.digits) ~= BLANK or line:byte(2 * hunk.digits + 1) ~= BLANK
    if number then kind = line:sub(skip - 1, skip - 1) end
    if kind == '-' then
      table.insert(removed, row)
    elseif kind == '+' then
      table.insert(added, row)
    else
      flush()
      add_pair(sides, row, row)
    end
  end
  flush()
end

local function copy(sides, row)
  table.insert(sides.out.lines, sides.doc.lines[row + 1])
  table.insert(sides.out.from, row)
  if sides.groups[row] then
    table.insert(sides.out.rows, { #sides.out.lines - 1, sides.groups[row] })
  end
end

local function add_side_marks(found, sides, row, nth, start)
  local skip = sides.skips[row]
  local text, room = text_of(sides, row)
  local digits = skip / 2 - 2
  local part = wrap(text, room)[nth]
  if not part then return end
  local gutter = nth == 1 and digits + 3 or digits + 2 + #ON
  table.insert(found, { start, start + gutter, 'AgentChatLineNr' })
  for _, mark in ipairs(render.parts(sides.doc, row)) do
    if mark[1] >= skip then
      for _, place in ipairs(find_columns(part, mark[1] - skip, mark[2] - skip)) do
        local from = start + gutter
        table.insert(found, { from + place[1], from + place[2], mark[3] })
      end
    end
  end
end

local function marks_of(sides, row)
  local at = row + 1
  local seam = sides.seams[at]
  if not seam then return render.parts(sides.doc, sides.out.from[at]) end
  local found = { { seam, seam + #SEPARATOR, 'AgentChatLineNr' } }
  if sides.old[at] then add_side_marks(found, sides, sides.old[at], sides.nth[at], 0) end
  if sides.new[at] then
    add_side_marks(found, sides, sides.new[at], sides.nth[at], seam + #SEPARATOR)
  end
  return found
end

---Columns of a side in which no line of the diff continues below.
local function natural_size(doc, most)
  local widest, tab = LEAST, (' '):rep(vim.go.tabstop)
  for _, hunk in ipairs(doc.hunks or {}) do
    for row = hunk.digits and hunk.row + 1 or math.huge, hunk.row + hunk.rows - 1 do
      local line = doc.lines[row + 1]
      -- No line has more columns than bytes, but for its tabs.
      if #line - hunk.digits - 1 > widest or line:find('\t', 1, true) then
        local width = vim.api.nvim_strwidth((line:gsub('\t', tab)))
        widest = math.max(widest, width - hunk.digits - 1)
      end
      if widest >= most then return most end
    end
  end
  return widest
end

---Two sides in the making. Rows of the diff count from 0, drawn rows from 1.
local function new_sides(doc, size)
  local groups = {}
  for _, row in ipairs(doc.rows) do
    groups[row[1]] = row[2]
  end
  return {
    doc = doc,
    size = size, -- columns of a side
    blank = (' '):rep(size),
    plain = false, -- whether each column of the hunk is one byte
    groups = groups, -- by row of the diff
    out = { lines = {}, rows = {}, from = {}, hunks = {} },
    old = {}, -- row of the diff on the left, by drawn row
    new = {}, -- the same for the right
    nth = {}, -- which piece of its lines a drawn row has
    seams = {}, -- bytes of the left side, by drawn row
    skips = {}, -- bytes before the text of a row of the diff
  }
end

--- The same diff in two columns. Hunks without line numbers, and all that is in no hunk, stay as
--- they are.
---@param pause fun() called now and then, for letting other things run
function M.arrange(doc, columns, pause)
  local most = math.max(LEAST, math.floor((columns - 1) / 2))
  local sides = new_sides(doc, natural_size(doc, most))
  local out, next_row = sides.out, 0
  local function copy_until(row)
    for at = next_row, row do
      copy(sides, at)
    end
    next_row = row + 1
  end
  for _, hunk in ipairs(doc.hunks or {}) do
    copy_until(hunk.row)
    local first = #out.lines - 1
    if hunk.digits then
      add_hunk(sides, hunk)
      next_row = hunk.row + hunk.rows
    end
    copy_until(hunk.row + hunk.rows - 1)
    local place = { row = first, rows = #out.lines - first }
    table.insert(out.hunks, vim.tbl_extend('force', hunk, place))
    pause()
  end
  copy_until(#doc.lines - 1)
  out.parts = function(row) return marks_of(sides, row) end
  return out
end

return M
