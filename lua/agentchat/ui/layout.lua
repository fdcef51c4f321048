-- Where a float goes and what fits into its border. Pure: all that is known of the screen is given.

local M = {}

---@class (exact) agentchat.Screen
---@field top integer rows above the windows: the tab line
---@field rows integer rows that windows may use
---@field columns integer
---@field cursor? integer row of the user's cursor, from 0, which a float should not cover
---@field typing? boolean there is text in that row: it is worth more than the whole of a float

---@class (exact) agentchat.Rect size without the border; `row` and `col` are those of the border
---@field row integer
---@field col integer
---@field width integer
---@field height integer

---@class (exact) agentchat.Want
---@field width integer columns the content would like
---@field height integer rows the content would like
---@field share number the part of the screen's rows a float may have with its border

---@class (exact) agentchat.Part rows as they are drawn, wrapped lines being several; from 1
---@field first integer
---@field last integer
---@field rows integer

---@alias agentchat.Chunk [string, string|string[]] text and highlight groups, the last on top

local EDGE = 'FloatBorder'
local BORDER = 2
local LEAST_ROWS = 12 -- with the border; a smaller screen is used whole

--- The columns and rows a float may have inside its border.
---@param screen agentchat.Screen
---@param share number
---@return integer columns, integer rows
function M.limits(screen, share)
  local margin = screen.columns > 60 and 4 or 0
  local rows = math.max(math.min(screen.rows, LEAST_ROWS), math.floor(screen.rows * share))
  return math.max(1, screen.columns - margin - BORDER), math.max(1, rows - BORDER)
end

---@param screen agentchat.Screen
---@param want agentchat.Want
---@return agentchat.Rect
local function sized(screen, want)
  local columns, rows = M.limits(screen, want.share)
  local width = math.max(1, math.min(want.width, columns))
  local height = math.max(1, math.min(want.height, rows))
  local col = math.max(0, math.floor((screen.columns - width - BORDER) / 2))
  return { row = screen.top, col = col, width = width, height = height }
end

--- In the middle of the screen.
---@param screen agentchat.Screen
---@param want agentchat.Want
---@return agentchat.Rect
function M.centre(screen, want)
  local rect = sized(screen, want)
  rect.row = screen.top + math.max(0, math.floor((screen.rows - rect.height - BORDER) / 2))
  return rect
end

--- At the bottom of the screen; above the line the user works in, if it would lie on that.
---@param screen agentchat.Screen
---@param want agentchat.Want
---@return agentchat.Rect
function M.bottom(screen, want)
  local rect = sized(screen, want)
  local total = rect.height + BORDER
  rect.row = math.max(screen.top, screen.top + screen.rows - total)
  if not screen.cursor or screen.cursor < rect.row then return rect end
  local above = math.min(total, screen.cursor - screen.top)
  if above == total or (screen.typing and above >= LEAST_ROWS) then
    rect.row, rect.height = screen.cursor - above, above - BORDER
  end
  return rect
end

--- Whether a float of that place lies on the line the user works in.
---@param screen agentchat.Screen
---@param row integer
---@param height integer
---@return boolean
function M.covers(screen, row, height)
  local cursor = screen.cursor or -1
  return cursor >= row and cursor < row + height + BORDER
end

--- A text on the edge of a float; without a group it looks like the border.
---@param text string
---@param group? string
---@return agentchat.Chunk
function M.on_edge(text, group) return { text, group and { EDGE, group } or EDGE } end

--- The screen above a float, where there is room for another one of `rows`; else all of it.
---@param screen agentchat.Screen
---@param row integer of the float
---@param rows integer
---@return agentchat.Screen
function M.above(screen, row, rows)
  local free = row - screen.top
  if free < rows + BORDER then return screen end
  return vim.tbl_extend('force', screen, { rows = free })
end

---@param chunks agentchat.Chunk[]
---@return integer
function M.width(chunks)
  local width = 0
  for _, chunk in ipairs(chunks) do
    width = width + vim.api.nvim_strwidth(chunk[1])
  end
  return width
end

--- Cuts `text` to `width` columns; a cut is shown by a dot dot dot.
---@param text string
---@param width integer
---@return string
function M.cut(text, width)
  if vim.api.nvim_strwidth(text) <= width then return text end
  local kept = vim.fn.strcharpart(text, 0, math.max(0, width - 1))
  while vim.api.nvim_strwidth(kept) > width - 1 do
    kept = vim.fn.strcharpart(kept, 0, vim.fn.strchars(kept) - 1)
  end
  return kept .. '…'
end

--- Keys and what they do, for an edge.
---@param pairs [string, string][] key and word
---@param words integer how many of them have their word
---@return agentchat.Chunk[]
function M.hints(pairs, words)
  local chunks = {}
  for i, hint in ipairs(pairs) do
    table.insert(chunks, M.on_edge(' ' .. hint[1], 'AgentChatKey'))
    table.insert(chunks, M.on_edge(i <= words and (' %s '):format(hint[2]) or ''))
  end
  if words < #pairs then table.insert(chunks, M.on_edge(' ')) end
  return chunks
end

--- One edge of a border: `left` and `right` text with the border's own line between them. Where
--- both do not fit, `right` goes.
---@param left agentchat.Chunk[]
---@param right agentchat.Chunk[]
---@param width integer
---@param line string the character of the border
---@return agentchat.Chunk[]
function M.edge(left, right, width, line)
  local gap = width - M.width(left) - M.width(right)
  if #right == 0 or gap < 1 then return left end
  local chunks = vim.list_extend({}, left)
  table.insert(chunks, M.on_edge(line:rep(gap)))
  return vim.list_extend(chunks, right)
end

--- The first pair of `lefts` and `rights` that fits on an edge, else the last left alone.
---@param lefts agentchat.Chunk[][] the best first
---@param rights agentchat.Chunk[][] the best first
---@param width integer
---@param line string the character of the border
---@return agentchat.Chunk[]
function M.fitting_edge(lefts, rights, width, line)
  for _, left in ipairs(lefts) do
    for _, right in ipairs(rights) do
      if M.width(left) + M.width(right) < width then return M.edge(left, right, width, line) end
    end
  end
  return lefts[#lefts]
end

--- Ways to say which rows of a longer text are in sight.
---@param part agentchat.Part
---@param line string the character of the border
---@return agentchat.Chunk[][]
function M.parts(part, line)
  if part.first == 1 and part.last >= part.rows then return { {} } end
  local ways = {}
  local texts = { ' %d-%d of %d lines shown ', ' %d-%d of %d lines ', ' %d-%d of %d ' }
  for _, text in ipairs(texts) do
    local shown = text:format(part.first, part.last, part.rows)
    table.insert(ways, { M.on_edge(shown, 'AgentChatFact'), M.on_edge(line) })
  end
  return ways
end

return M
