--- Aligns the columns of a Markdown table by what is seen of its cells.
local decorations = require('agentchat.transcript.decorations')

local M = {}

local api = vim.api

local GAP = '  ' -- between the name of a column and a cell
local MOST_COLUMNS = 20 -- of a record that somebody reads
local MOST_FOR_NAMES = 1 / 3 -- of the room; longer ones stand above the cells
local LEAST = 10 -- cells for the text of a record

---@class agentchat.Cell of a line; columns in bytes
---@field first integer after its bar, or of the line
---@field last integer of the next bar, or of the line's end
---@field width integer cells of the screen

local function bars_of(line)
  local bars = {}
  for at in line:gmatch('()|') do
    if line:sub(at - 1, at - 1) ~= '\\' then table.insert(bars, at - 1) end
  end
  return bars
end

---@return agentchat.Cell[] cells, integer[] bars columns
local function split(line, marks)
  local bars, cells = bars_of(line), {}
  local hidden, next_hidden = decorations.hidden_parts(line, marks), 1
  local first = 0
  for i = 1, #bars + 1 do
    local last = bars[i] or #line
    local text = line:sub(first + 1, last)
    local width = api.nvim_strwidth(text)
    while hidden[next_hidden] and hidden[next_hidden].first < last do
      local part = hidden[next_hidden]
      if part.first >= first and part.last <= last then width = width - part.cells end
      next_hidden = next_hidden + 1
    end
    -- Before the first bar and behind the last one there may be nothing.
    if (i > 1 and i <= #bars) or text:find('%S') then
      table.insert(cells, { first = first, last = last, width = width })
    end
    first = last + 1
  end
  return cells, bars
end

--- How the columns are aligned, if a line is the one below the heads of a table.
---@return ('left'|'right'|'center')[]?
local function alignments(line)
  if not line:find('^[%s|:-]+$') or not line:find('|', 1, true) then return nil end
  local out = {}
  for text in line:gmatch('([^|%s]+)') do
    local left, right = text:match('^(:?)%-+(:?)$')
    if not left then return nil end
    table.insert(out, right == '' and 'left' or left == '' and 'right' or 'center')
  end
  return out
end

local function widest(rows)
  local widths = {}
  for _, cells in ipairs(rows) do
    for i, cell in ipairs(cells) do
      widths[i] = math.max(widths[i] or 0, cell.width)
    end
  end
  return widths
end

---@param widths integer[] of the columns; empty if they are not aligned
local function missing_cells(widths, column, cell)
  return math.max(0, (widths[column] or 0) - cell.width)
end

local function pad_cell(out, cell, missing, side)
  local before = side == 'right' and missing or side == 'center' and math.floor(missing / 2) or 0
  if before > 0 then table.insert(out, decorations.pad(cell.first, before)) end
  if missing > before then table.insert(out, decorations.pad(cell.last, missing - before)) end
end

--- The line below the heads as a rule.
local function rule_row(cells, bars, widths)
  local out = {}
  for _, bar in ipairs(bars) do
    local starts = bar <= (cells[1] and cells[1].first or 0)
    local ends = cells[#cells] and bar >= cells[#cells].last
    local corner = starts and '├' or ends and '┤' or '┼'
    table.insert(out, decorations.conceal(bar, bar + 1, corner))
  end
  for i, cell in ipairs(cells) do
    table.insert(out, decorations.replace(cell.first, cell.last, '─'))
    local missing = missing_cells(widths, i, cell)
    if missing > 0 then table.insert(out, decorations.pad(cell.last, missing, '─')) end
  end
  return table.concat(out, ' ')
end

local function text_row(cells, bars, widths, sides)
  local out = {}
  for _, bar in ipairs(bars) do
    table.insert(out, decorations.conceal(bar, bar + 1, '│'))
  end
  for i, cell in ipairs(cells) do
    pad_cell(out, cell, missing_cells(widths, i, cell), sides[i])
  end
  return table.concat(out, ' ')
end

--- Whether no line wraps once the columns are aligned: Neovim counts what is concealed, too.
local function fits(lines, rows, widths, room)
  for i, cells in ipairs(rows) do
    local wide = api.nvim_strwidth(lines[i])
    for column, cell in ipairs(cells) do
      wide = wide + missing_cells(widths, column, cell)
    end
    if wide > room then return false end
  end
  return true
end

--- A cell as it is seen: without blanks around it, and without what is concealed of it.
local function text_of(line, cell, marks)
  local text, at = '', cell.first
  for _, part in ipairs(decorations.hidden_parts(line, marks)) do
    if part.first >= at and part.last <= cell.last then
      text, at = text .. line:sub(at + 1, part.first), part.last
    end
  end
  return vim.trim(text .. line:sub(at + 1, cell.last))
end

--- Lines of at most some cells, broken between words where that can be.
local function wrap(text, room)
  local out, line = {}, ''
  for word in text:gmatch('%S+') do
    local longer = line == '' and word or line .. ' ' .. word
    if line ~= '' and api.nvim_strwidth(longer) > room then
      table.insert(out, line)
      longer = word
    end
    line = longer
  end
  table.insert(out, line)
  return out
end

--- A row as a record: each cell on lines of its own, behind the name of its column.
---@return [string, string][] names and texts
local function record_of(texts, names, room)
  local widths = vim.tbl_map(api.nvim_strwidth, names)
  local widest_name = math.max(0, unpack(widths))
  local below = widest_name > room * MOST_FOR_NAMES
  local out = {}
  for column, text in ipairs(texts) do
    local name = names[column] or ''
    if below then
      table.insert(out, { name, '' })
      name, widest_name = '', 0
    end
    for i, piece in ipairs(wrap(text, math.max(room - widest_name - #GAP, LEAST))) do
      local label = i == 1 and name or ''
      local blanks = (' '):rep(widest_name - api.nvim_strwidth(label))
      table.insert(out, { label .. blanks .. GAP, piece })
    end
  end
  return out
end

--- Shows a table that is too wide as a record for each row. The lines themselves are hidden, but for
--- the one below the heads, which has the records below it.
---@param rows agentchat.Cell[][]
local function unfold(lines, rows, marks, room)
  local texts = {}
  for i, cells in ipairs(rows) do
    texts[i] = vim.tbl_map(function(cell) return text_of(lines[i], cell, marks[i] or '') end, cells)
  end
  local records = {}
  for i = 3, #rows do
    if i > 3 then table.insert(records, { '', '' }) end
    vim.list_extend(records, record_of(texts[i], texts[1], room))
  end
  for i = 1, #rows do
    marks[i] = vim.trim((marks[i] or '') .. ' ' .. (i == 2 and '' or decorations.FOLDED))
  end
  local last = #lines[2]
  local rule = { decorations.replace(0, last, '─'), decorations.rule(last) }
  marks[2] = table.concat({ marks[2], unpack(rule) }, ' ') .. ' ' .. decorations.records(records)
end

--- Adds to the decorations of each line its bars, and what aligns the columns; of a table that is then
--- wider than `room`, what makes a record of each row. Lines that are no table stay as they are.
---@param lines string[]
---@param marks string[] decorations of each line, changed
---@param room integer cells
---@param pause fun() called after each line
function M.align(lines, marks, room, pause)
  local sides = lines[2] and alignments(lines[2])
  if not sides then return end
  local rows, bars = {}, {}
  for i, line in ipairs(lines) do
    if not line:find('|', 1, true) then break end
    rows[i], bars[i] = split(line, marks[i] or '')
    pause()
  end
  local widths = widest(rows)
  if not fits(lines, rows, widths, room) then
    if #widths <= MOST_COLUMNS then unfold(lines, rows, marks, room) end
    return
  end
  for i, cells in ipairs(rows) do
    local added = i == 2 and rule_row(cells, bars[i], widths)
      or text_row(cells, bars[i], widths, sides)
    marks[i] = vim.trim((marks[i] or '') .. ' ' .. added)
    pause()
  end
end

return M
