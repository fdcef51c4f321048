-- A line taken apart into rows of so many columns, and where its bytes are in those. Pure.

local M = {}

---@class (exact) agentchat.Piece a part of a line, in bytes from 0, and where it is in its row
---@field first integer
---@field last integer excluded
---@field col integer
---@field size integer bytes there: more where a tab becomes blanks

---@class (exact) agentchat.WrappedRow
---@field text string
---@field width integer columns
---@field pieces agentchat.Piece[]

---@return agentchat.WrappedRow
local function new_row() return { text = '', width = 0, pieces = {} } end

---@param row agentchat.WrappedRow
---@param text string as it is drawn
---@param width integer columns
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
---@param line string
---@return boolean
function M.plain(line) return not line:find('[\t\128-\255]') end

---@param line string
---@param columns integer
---@return agentchat.WrappedRow[]
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
---@param line string
---@param columns integer of a row, at least 2
---@return agentchat.WrappedRow[] one at least
function M.wrap(line, columns)
  if M.plain(line) then return wrap_plain(line, columns) end
  local rows, at, column, stop = { new_row() }, 0, 0, vim.go.tabstop
  for _, char in ipairs(vim.fn.split(line, '\\zs')) do
    local blanks = (' '):rep(math.min(stop - column % stop, columns))
    local text = char:gsub('^\t', blanks)
    -- Behind a blank, as one that combines is drawn on what stands before it.
    local width = vim.api.nvim_strwidth(' ' .. text) - 1
    if rows[#rows].width + width > columns then table.insert(rows, new_row()) end
    extend(rows[#rows], text, width, at, #char)
    at, column = at + #char, column + width
  end
  return rows
end

--- Where a part of the line is in a row.
---@param row agentchat.WrappedRow
---@param first integer byte of the line
---@param last integer excluded
---@return [integer, integer][] columns in bytes, ends excluded
function M.places(row, first, last)
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

return M
