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
---@field least? integer rows with the border, for which it may cover what counts least

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

--- The area that a float of that place covers with its border.
---@return agentchat.Area
function M.area(rect)
  local bottom, right = rect.row + rect.height + BORDER, rect.col + rect.width + BORDER
  return { top = rect.row, bottom = bottom, left = rect.col, right = right }
end

---@param areas agentchat.Area[]
function M.overlaps(rect, areas)
  local own = M.area(rect)
  return vim.iter(areas):any(
    function(area)
      return own.top < area.bottom
        and own.bottom > area.top
        and own.left < area.right
        and own.right > area.left
    end
  )
end

--- The rows of the screen that none of the areas has.
---@param areas agentchat.Area[]
---@return { top: integer, bottom: integer }[] from top to bottom, ends excluded
local function free_rows(screen, areas)
  local sorted, free, row = vim.list_slice(areas), {}, screen.top
  table.sort(sorted, function(a, b) return a.top < b.top end)
  for _, area in ipairs(sorted) do
    if area.top > row then table.insert(free, { top = row, bottom = area.top }) end
    row = math.max(row, area.bottom)
  end
  local bottom = screen.top + screen.rows
  if bottom > row then table.insert(free, { top = row, bottom = bottom }) end
  return free
end

-- Rows that a float should have with its border, the best first.
local ENOUGH = { LEAST_ROWS, 8, 6, 4, 3 }

--- The lowest of the parts that has so many rows.
local function lowest_part(parts, rows)
  return vim.iter(parts):rev():find(function(part) return part.bottom - part.top >= rows end)
end

--- At the bottom of the screen, or above what is there and must be seen. Where there is no room for
--- that, the last areas are covered first.
---@param areas agentchat.Area[] the most important first
function M.lowest(screen, want, areas)
  local rect = sized(screen, want)
  local total = rect.height + BORDER
  for count = #areas, 0, -1 do
    local parts = free_rows(screen, vim.list_slice(areas, 1, count))
    local part
    for _, rows in ipairs(ENOUGH) do
      local is_enough = rows >= (want.least or 0)
      part = part or is_enough and lowest_part(parts, math.min(total, rows)) or nil
    end
    if part then
      rect.height = math.min(total, part.bottom - part.top) - BORDER
      rect.row = part.bottom - rect.height - BORDER
      return rect
    end
  end
  return rect
end

--- The same, and beside or above other areas where nothing else is covered then.
---@param areas agentchat.Area[] the most important first
---@param others agentchat.Area[]
function M.clear_of(screen, want, areas, others)
  local lowest = M.lowest(screen, want, areas)
  if not M.overlaps(lowest, others) then return lowest end
  local right = vim.tbl_extend('force', lowest, { col = screen.columns - lowest.width - BORDER })
  local left = vim.tbl_extend('force', lowest, { col = 0 })
  local above = M.lowest(screen, want, vim.list_extend(vim.list_slice(areas), others))
  for _, rect in ipairs({ right, left, above }) do
    if not M.overlaps(rect, others) and not M.overlaps(rect, areas) then return rect end
  end
  return lowest
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

--- The same, after a whole word where there is one.
function M.cut_words(text, width)
  local cut = M.cut(text, width)
  return cut == text and cut or (cut:gsub('[%s,]+%S*…$', '…'))
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
---@param tight? boolean with one blank between them
function M.hints(hints, words, lead, tight)
  local chunks, form = { M.line() }, tight and ' %s' or ' %s '
  if lead then table.insert(chunks, M.on_edge(lead, 'AgentChatKey')) end
  for i, hint in ipairs(hints) do
    table.insert(chunks, M.on_edge(' ' .. hint[1], 'AgentChatKey'))
    local has_word = i <= words and hint[2] ~= ''
    table.insert(chunks, M.on_edge(has_word and form:format(hint[2]) or ''))
  end
  if words < #hints or tight then table.insert(chunks, M.on_edge(' ')) end
  return chunks
end

--- One edge: `left` and `right` with the border's own line between them. Where both do not fit,
--- `right` is left out.
function M.edge(left, right, width)
  local gap = width - M.width(left) - M.width(right)
  if #right == 0 or gap < 1 then return left end
  return vim.iter({ left, { M.line(gap) }, right }):flatten(1):totable()
end

--- The first pair of `lefts` and `rights` that fits on an edge.
---@param lefts agentchat.Chunk[][] the best first
---@param rights agentchat.Chunk[][] the best first
---@return agentchat.Chunk[]?
function M.fitting_pair(lefts, rights, width)
  for _, left in ipairs(lefts) do
    for _, right in ipairs(rights) do
      if M.width(left) + M.width(right) < width then return M.edge(left, right, width) end
    end
  end
end

--- The same; where none fits, the last left alone.
function M.fitting_edge(lefts, rights, width)
  return M.fitting_pair(lefts, rights, width) or lefts[#lefts]
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
