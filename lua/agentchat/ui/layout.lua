-- Where a float goes and what fits into its border.

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
---@return integer columns, integer rows
function M.limits(screen, share)
  local margin = screen.columns > 60 and 4 or 0
  local rows = math.max(math.min(screen.rows, LEAST_ROWS), math.floor(screen.rows * share))
  return math.max(1, screen.columns - margin - BORDER), math.max(1, rows - BORDER)
end

local function sized(screen, want)
  local columns, rows = M.limits(screen, want.share)
  local width = math.max(1, math.min(want.width, columns))
  local height = math.max(1, math.min(want.height, rows))
  local col = math.max(0, math.floor((screen.columns - width - BORDER) / 2))
  return { row = screen.top, col = col, width = width, height = height }
end

function M.centre(screen, want)
  local rect = sized(screen, want)
  rect.row = screen.top + math.max(0, math.floor((screen.rows - rect.height - BORDER) / 2))
  return rect
end

--- At the bottom of the screen; above the line the user works in, if it would lie on that.
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

--- Whether a float of that place covers the line the user works in.
function M.covers(screen, row, height)
  local cursor = screen.cursor or -1
  return cursor >= row and cursor < row + height + BORDER
end

---@class (exact) agentchat.Area a part of the screen: rows and columns from 0, ends excluded
---@field top integer
---@field bottom integer
---@field left integer
---@field right integer

local function overlaps(rect, area)
  local bottom, right = rect.row + rect.height + BORDER, rect.col + rect.width + BORDER
  return rect.row < area.bottom
    and bottom > area.top
    and rect.col < area.right
    and right > area.left
end

--- At the bottom of the screen, or, if that would cover one of the areas, where nothing is covered:
--- at the right, at the left, or above them.
---@param areas agentchat.Area[]
function M.clear_of(screen, want, areas)
  local function is_clear(rect)
    return not vim.iter(areas):any(function(area) return overlaps(rect, area) end)
  end
  local bottom = M.bottom(screen, want)
  if is_clear(bottom) then return bottom end
  local top = vim
    .iter(areas)
    :fold(bottom.row, function(row, area) return math.min(row, area.top) end)
  local row = math.max(screen.top, top - bottom.height - BORDER)
  local above = vim.tbl_extend('force', bottom, { row = row })
  local right = vim.tbl_extend('force', bottom, { col = screen.columns - bottom.width - BORDER })
  local left = vim.tbl_extend('force', bottom, { col = 0 })
  for _, rect in ipairs({ right, left, above }) do
    if is_clear(rect) and not M.covers(screen, rect.row, rect.height) then return rect end
  end
  return bottom
end

--- The screen above a float, where there is room for another one of `rows`; else all of it.
---@param row integer of the float
function M.above(screen, row, rows)
  local free = row - screen.top
  if free < rows + BORDER then return screen end
  return vim.tbl_extend('force', screen, { rows = free })
end

--- The screen now, with the row the user works in.
function M.screen()
  local tabs, wins = #vim.api.nvim_list_tabpages(), #vim.api.nvim_tabpage_list_wins(0)
  local top = (vim.o.showtabline == 2 or (vim.o.showtabline == 1 and tabs > 1)) and 1 or 0
  local status = (vim.o.laststatus > 1 or (vim.o.laststatus == 1 and wins > 1)) and 1 or 0
  local in_float = vim.api.nvim_win_get_config(0).relative ~= ''
  return {
    top = top,
    rows = math.max(1, vim.o.lines - top - vim.o.cmdheight - status),
    columns = vim.o.columns,
    cursor = not in_float and vim.fn.win_screenpos(0)[1] + vim.fn.winline() - 2 or nil,
    typing = vim.api.nvim_get_current_line() ~= '',
  }
end

local LINES = { double = '═', bold = '━', solid = ' ' }
local INSTEAD = { [''] = 'rounded', none = 'solid', shadow = 'solid' } -- those carry no title

--- The user's 'winborder', or the nearest one that can carry a title.
---@return string|string[] border, string line the character of its edges
function M.border()
  local set = vim.o.winborder
  local parts = vim.split(set, ',')
  if #parts > 1 then return parts, parts[2] or ' ' end
  local name = INSTEAD[set] or set
  return name, LINES[name] or '─'
end

--- A text on the edge of a float; without a group it looks like the border.
function M.on_edge(text, group) return { text, group and { EDGE, group } or EDGE } end

---@param columns? integer default: 1
function M.line(columns) return M.on_edge((select(2, M.border())):rep(columns or 1)) end

function M.width(chunks)
  local width = 0
  for _, chunk in ipairs(chunks) do
    width = width + vim.api.nvim_strwidth(chunk[1])
  end
  return width
end

--- Cuts `text` to `width` columns; `…` replaces the rest.
function M.cut(text, width)
  if vim.api.nvim_strwidth(text) <= width then return text end
  local starts = vim.str_utf_pos(text)
  -- Counted, so that it ends whatever the widths are.
  for count = math.min(width, #starts), 1, -1 do
    local kept = text:sub(1, starts[count] - 1)
    if vim.api.nvim_strwidth(kept) < width then return kept .. '…' end
  end
  return ''
end

--- `text` without characters that the screen shows as several cells or acts on.
function M.printable(text) return (text:gsub('%c', '?')) end

--- Cells for text in the narrowest window that shows a buffer.
function M.room(buf)
  local room = math.huge
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    room = math.min(room, info.width - info.textoff)
  end
  return room
end

--- A text on the upper edge, with another one at its right end.
---@param text string cut where there is no room for it
---@param right? string
---@param group? string of `right`
function M.title(text, width, right, group)
  local ending = right and { M.on_edge((' %s '):format(right), group), M.line() } or {}
  local cut = M.cut(text, width - M.width(ending) - 4)
  local left = { M.line() }
  if cut ~= '' then table.insert(left, M.on_edge((' %s '):format(cut), 'AgentChatTitle')) end
  return M.edge(left, ending, width)
end

--- Keys and what they do, for the lower edge.
---@param hints [string, string][] key and word
---@param words integer how many of them have their word
---@param lead? string before them
function M.hints(hints, words, lead)
  local chunks = { M.line() }
  if lead then table.insert(chunks, M.on_edge(lead, 'AgentChatKey')) end
  for i, hint in ipairs(hints) do
    table.insert(chunks, M.on_edge(' ' .. hint[1], 'AgentChatKey'))
    table.insert(chunks, M.on_edge(i <= words and (' %s '):format(hint[2]) or ''))
  end
  if words < #hints then table.insert(chunks, M.on_edge(' ')) end
  return chunks
end

--- One edge: `left` and `right` with the border's own line between them. Where both do not fit,
--- `right` is left out.
function M.edge(left, right, width)
  local gap = width - M.width(left) - M.width(right)
  if #right == 0 or gap < 1 then return left end
  return vim.iter({ left, { M.line(gap) }, right }):flatten(1):totable()
end

--- The first pair of `lefts` and `rights` that fits on an edge, else the last left alone.
---@param lefts agentchat.Chunk[][] the best first
---@param rights agentchat.Chunk[][] the best first
function M.fitting_edge(lefts, rights, width)
  for _, left in ipairs(lefts) do
    for _, right in ipairs(rights) do
      if M.width(left) + M.width(right) < width then return M.edge(left, right, width) end
    end
  end
  return lefts[#lefts]
end

--- Ways to show which rows of a longer text are visible.
---@return agentchat.Chunk[][] the best first
function M.parts(part)
  if part.first == 1 and part.last >= part.rows then return { {} } end
  return vim.tbl_map(function(text)
    local shown = text:format(part.first, part.last, part.rows)
    return { M.on_edge(shown, 'AgentChatFact'), M.line() }
  end, { ' %d-%d of %d lines shown ', ' %d-%d of %d lines ', ' %d-%d of %d ' })
end

return M
