--- Aligns the columns of a Markdown table by what is seen of its cells.
local decorations = require('agentchat.transcript.decorations')

local M = {}

local api = vim.api

---@class agentchat.Cell of a line; columns in bytes
---@field first integer after its bar
---@field last integer of the next bar
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
  for i, bar in ipairs(bars) do
    local first, last = bar + 1, bars[i + 1] or #line
    local text = line:sub(first + 1, last)
    local width = api.nvim_strwidth(text)
    while hidden[next_hidden] and hidden[next_hidden].first < last do
      local part = hidden[next_hidden]
      if part.first >= first and part.last <= last then width = width - part.cells end
      next_hidden = next_hidden + 1
    end
    if bars[i + 1] or text:find('%S') then
      table.insert(cells, { first = first, last = last, width = width })
    end
  end
  return cells, bars
end

--- How the columns are aligned, if a line is the one below the heads of a table.
---@return ('left'|'right'|'center')[]?
local function alignments(line)
  if not line:find('^%s*|[%s|:-]+$') then return nil end
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
  for i, bar in ipairs(bars) do
    local corner = i == 1 and '├' or i == #bars and #cells < #bars and '┤' or '┼'
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

--- Adds to the decorations of each line its bars, and what aligns the columns unless the table is then
--- wider than `room`. Lines that are no table stay as they are.
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
  local wide = bars[1][1] + 1 -- before the cells, of which each ends in a bar
  for _, width in ipairs(widths) do
    wide = wide + width + 1
  end
  if wide > room then widths = {} end
  for i, cells in ipairs(rows) do
    local added = i == 2 and rule_row(cells, bars[i], widths)
      or text_row(cells, bars[i], widths, sides)
    marks[i] = vim.trim((marks[i] or '') .. ' ' .. added)
    pause()
  end
end

return M
