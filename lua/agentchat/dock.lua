-- Where the floats of a chat stand. An approval request: right above the prompt of its chat, whose
-- transcript makes room, so that its newest words stay above the float. Where the chat is too narrow, too
-- low or out of sight: at the bottom of the screen, as a review always does. None covers a prompt or the
-- cursor.

local float = require('agentchat.ui.float')
local layout = require('agentchat.ui.layout')
local panels = require('agentchat.ui.panel')
local prompt = require('agentchat.prompt.region')
local registry = require('agentchat.chat.registry')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api

local BORDER = 2
local LEAST_COLUMNS = 50 -- of a chat's window: a command needs them
local LEAST_ROWS = 4 -- of a float with its text
local LEAST_INSIDE = 6 -- with its border, for a user who is in it: a todo list gives way
local MOST_WORDS = 0.4 -- of the rows of a window, for the newest words
local BLANKS = 2 -- rows around the words

---@class (exact) agentchat.Dock the part of a chat's window where a float can stand
---@field win integer
---@field area agentchat.Area of the window's text
---@field rows integer rows that a float may have with its border
---@field prompt integer rows of the prompt

--- The window of a chat in this tab; the user's own first.
local function window_of(chat)
  local here = api.nvim_get_current_win()
  return api.nvim_win_get_buf(here) == chat.buf and here or window.find(chat.buf)
end

---@return agentchat.Area of the text of a window
local function text_area(win)
  local at = vim.fn.win_screenpos(win)
  local info = vim.fn.getwininfo(win)[1]
  local top, left = at[1] - 1 + info.winbar, at[2] - 1
  return { top = top, bottom = top + info.height, left = left, right = left + info.width }
end

--- Rows that the newest words of the model take, with the calls below them.
local function rows_of_words(chat, width)
  local words, rows = chat.words, BLANKS
  if not words then return rows end
  for _, line in ipairs(vim.split(M.last_paragraph(words.text), '\n')) do
    rows = rows + math.max(1, math.ceil(api.nvim_strwidth(line) / width))
  end
  return rows + vim.tbl_count(words.calls)
end

--- The last paragraph of a text.
function M.last_paragraph(text)
  local lines = vim.split(vim.trim(text), '\n')
  for i = #lines, 1, -1 do
    if not lines[i]:find('%S') then return table.concat(lines, '\n', i + 1) end
  end
  return table.concat(lines, '\n')
end

--- The place for a float in the window of a chat; nil where there is none.
---@return agentchat.Dock?
function M.find(chat)
  local win = window_of(chat)
  if not win or api.nvim_win_get_width(win) < LEAST_COLUMNS then return nil end
  local area = text_area(win)
  local height = area.bottom - area.top
  local words =
    math.min(rows_of_words(chat, area.right - area.left), math.floor(height * MOST_WORDS))
  local below = prompt.rows(chat, win).count
  local rows = height - words - below
  if rows < LEAST_ROWS + BORDER then return nil end
  return { win = win, area = area, rows = rows, prompt = below }
end

--- The part of a window that the prompt takes with its todo list; nil if it is out of sight.
---@return agentchat.Area? area, integer? above rows of it that the todo list takes
local function prompt_area(chat, win, area)
  local rows = prompt.rows(chat, win)
  local row = vim.fn.screenpos(win, rows.first + 1, 1).row
  if row == 0 then return nil end
  local top = row - 1 - rows.above
  local bottom = math.min(area.bottom, top + rows.count)
  local first = math.max(area.top, top)
  return vim.tbl_extend('force', area, { top = first, bottom = bottom }), row - 1 - first
end

--- The row of the user's cursor, unless they are in one of these floats.
---@param own table<integer, true>
---@return agentchat.Area?
local function cursor_area(own)
  local win = api.nvim_get_current_win()
  if own[win] then return nil end
  local at = vim.fn.screenpos(win, vim.fn.line('.'), vim.fn.col('.'))
  if at.row == 0 then return nil end
  local left = vim.fn.win_screenpos(win)[2] - 1
  local right = left + api.nvim_win_get_width(win)
  return { top = at.row - 1, bottom = at.row, left = left, right = right }
end

--- What no float may cover: the cursor, and the prompts that are in sight.
---@param own table<integer, true> the windows of the request itself
---@return agentchat.Area[] the most important first
local function kept_areas(chat, own)
  local areas, todos = { cursor_area(own) }, {}
  local chats = vim.tbl_filter(function(other) return other ~= chat end, registry.visible())
  table.insert(chats, 1, chat)
  for _, shown in ipairs(chats) do
    local win = window_of(shown)
    local area, above = nil, 0
    if win then
      area, above = prompt_area(shown, win, text_area(win))
    end
    if area then
      table.insert(areas, vim.tbl_extend('force', area, { top = area.top + above }))
      table.insert(todos, area)
    end
  end
  return vim.list_extend(areas, todos)
end

--- Columns of a float: those of the chat's window, and more where its longest line needs them and
--- nothing is covered that must be seen.
---@param others agentchat.Area[]
function M.width(chat, dock, screen, longest, rows, others, own)
  local columns = dock.area.right - dock.area.left - BORDER
  if longest <= columns then return columns end
  local want = { width = longest, height = rows, share = 1 }
  local below = prompt_area(chat, dock.win, dock.area)
  local row = below and below.top or dock.area.bottom - dock.prompt
  local rect = M.stand(dock, screen, want, row)
  -- What it covers in the window of the chat itself, it would cover anyway.
  local function is_elsewhere(area)
    return area.left >= dock.area.right or area.right <= dock.area.left
  end
  local kept = vim.tbl_filter(is_elsewhere, kept_areas(chat, own))
  local covers = layout.overlaps(rect, others) or layout.overlaps(rect, kept)
  return covers and columns or rect.width
end

--- A float whose lower edge is above a row; it reaches over other windows where it is wider.
function M.stand(dock, screen, want, row)
  local width = math.min(want.width, screen.columns - BORDER)
  local height =
    math.max(1, math.min(want.height, dock.rows - BORDER, row - dock.area.top - BORDER))
  local is_left = dock.area.left < screen.columns - dock.area.right
  local col = is_left and dock.area.left or dock.area.right - width - BORDER
  col = math.max(0, math.min(col, screen.columns - width - BORDER))
  return { row = row - height - BORDER, col = col, width = width, height = height }
end

--- A float in the window of the chat: above the prompt, or at the lower edge while the user reads what
--- is further up.
local function docked(chat, dock, screen, want, own)
  local height = math.min(want.height, dock.rows - BORDER)
  local followers = window.at_end(chat.buf)
  if prompt.make_room(chat, height + BORDER) then window.follow(chat.buf, followers) end
  local below = prompt_area(chat, dock.win, dock.area)
  local row = below and below.top or dock.area.bottom
  local rect = M.stand(dock, screen, vim.tbl_extend('force', want, { height = height }), row)
  local cursor = cursor_area(own)
  if not cursor or not layout.overlaps(rect, { cursor }) then return rect end
  local inside = { top = dock.area.top, rows = row - dock.area.top, columns = screen.columns }
  local beside = layout.lowest(
    inside,
    { width = want.width, height = height, share = 1 },
    { cursor }
  )
  return vim.tbl_extend('force', rect, { row = beside.row, height = beside.height })
end

--- Where a float goes.
---@param dock? agentchat.Dock
---@param code agentchat.Area[] lines that it is about
---@param floats agentchat.Area[] those of other chats
---@param own table<integer, true>
---@return agentchat.Rect
function M.place(chat, dock, screen, want, code, floats, own)
  if dock then return docked(chat, dock, screen, want, own) end
  prompt.make_room(chat, 0)
  want.least = own[api.nvim_get_current_win()] and LEAST_INSIDE or 0
  return layout.clear_of(screen, want, vim.list_extend(kept_areas(chat, own), floats), code)
end

--- The place of a float that may be as wide as the screen, as the review of changes: at its bottom, or
--- above the prompt where that is there.
---@param view? agentchat.Float none while it is opened
---@return agentchat.Rect
function M.place_wide(chat, view, screen, want)
  local own = view and { [view.win] = true } or {}
  want.least = own[api.nvim_get_current_win()] and LEAST_INSIDE or 0
  return layout.lowest(screen, want, kept_areas(chat, own))
end

--- Moves such a float if a prompt or the cursor has come below it.
---@param panel agentchat.Panel
function M.keep_clear(chat, panel)
  local rect, view = panels.rect(panel), panel.view
  if not rect or not view then return end
  if layout.overlaps(rect, kept_areas(chat, { [view.win] = true })) then float.refit(view) end
end

--- What the place of a float follows from, to see whether any of it has changed.
---@param own table<integer, true>
---@return string
function M.state(chat, own)
  local win = window_of(chat)
  local area = win and text_area(win)
  local below = area and prompt_area(chat, win, area)
  local screen = { vim.o.columns, vim.o.lines, vim.o.cmdheight }
  return vim.inspect({ win, area, below, cursor_area(own), screen, M.find(chat) })
end

--- Takes the room back that the transcript made.
function M.release(chat)
  local followers = window.at_end(chat.buf)
  if prompt.make_room(chat, 0) then window.follow(chat.buf, followers) end
end

return M
