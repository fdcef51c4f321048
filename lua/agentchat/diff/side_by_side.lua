-- Whether a diff is drawn in one column or in two, the old text beside the new, and how the cursor
-- stays at its line when that changes.

local chats = require('agentchat.chat.actions')
local columns = require('agentchat.diff.columns')
local config = require('agentchat.config.settings')
local notice = require('agentchat.notify')
local paper = require('agentchat.ui.render')

local M = {}

local AUTO = 150 -- columns from which on two columns are the better view
local LEAST = 64 -- columns below which there is no room for two
local SLICE_MS = 2 -- of arranging without letting anything else run

---@class agentchat.Room a kind of window: `float` or `sheet`
---@field columns fun(view: agentchat.Float|agentchat.Sheet): integer

---@class (exact) agentchat.Spot
---@field row integer of the diff in one column, from 0
---@field above integer rows between it and the top of the window

---@type boolean? what the user chose by a key; it holds for the session
local chosen

---@param view agentchat.Float|agentchat.Sheet
---@return 'auto'|boolean
local function setting(view)
  local chat = chats.get(vim.b[view.buf].agentchat_chat)
  return config.get(chat and chat.buf).ui.side_by_side
end

---@param room agentchat.Room
---@param view agentchat.Float|agentchat.Sheet
---@return boolean
local function wanted(room, view)
  local set, there = chosen, room.columns(view)
  if set == nil then set = setting(view) end
  if set == 'auto' then return there >= AUTO end
  return set and there >= LEAST
end

---@param doc agentchat.Doc
---@return boolean whether it has lines that can face each other
local function numbered(doc)
  return vim.iter(doc.hunks or {}):any(function(hunk) return hunk.digits ~= nil end)
end

---Calls `done` with the diff in two columns, at once where that takes no time, else later.
---@param doc agentchat.Doc in one column
---@param there integer columns
---@param wanted_still fun(): boolean
---@param done fun(drawn: agentchat.Doc)
local function arrange(doc, there, wanted_still, done)
  local began
  local function pause()
    if vim.uv.hrtime() / 1e6 - began > SLICE_MS then coroutine.yield() end
  end
  local work = coroutine.create(function() done(columns.arranged(doc, there, pause)) end)
  local function go_on()
    if not wanted_still() then return end
    began = vim.uv.hrtime() / 1e6
    assert(coroutine.resume(work))
    if coroutine.status(work) ~= 'dead' then vim.defer_fn(go_on, 1) end
  end
  go_on()
end

--- Where the cursor of a window is.
---@param win integer
---@param doc agentchat.Doc as it is drawn there
---@return agentchat.Spot
function M.spot(win, doc)
  local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  local row = doc.from and doc.from[view.lnum] or view.lnum - 1
  return { row = row, above = view.lnum - view.topline }
end

--- Puts the cursor of a window there.
---@param win integer
---@param doc agentchat.Doc as it is drawn there
---@param spot agentchat.Spot
function M.go(win, doc, spot)
  local line = math.min(spot.row + 1, #doc.lines)
  for at, row in ipairs(doc.from or {}) do
    if row <= spot.row then line = at end
  end
  local view = { lnum = line, col = 0, topline = math.max(1, line - spot.above), skipcol = 0 }
  vim.api.nvim_win_call(win, function() vim.fn.winrestview(view) end)
end

---@param view agentchat.Float|agentchat.Sheet
---@param drawn agentchat.Doc
---@param before? agentchat.Doc what the view shows now
---@param done fun(drawn: agentchat.Doc)
local function put(view, drawn, before, done)
  local spot = before and M.spot(view.win, before)
  paper.draw(view.buf, drawn)
  paper.fold(view.win, drawn)
  done(drawn)
  if spot then M.go(view.win, drawn, spot) end
end

--- Draws a diff as fits its window; the cursor stays at its line. What takes a while to be put into
--- two columns is shown in one until then.
---@param room agentchat.Room
---@param view agentchat.Float|agentchat.Sheet
---@param doc agentchat.Doc in one column
---@param before? agentchat.Doc what the view shows now
---@param done fun(drawn: agentchat.Doc) called whenever something has been drawn, to measure it
function M.draw(room, view, doc, before, done)
  local arranged, tick
  local function wanted_still()
    if not tick then return true end
    local there = vim.api.nvim_buf_is_valid(view.buf) and vim.api.nvim_win_is_valid(view.win)
    return there and vim.api.nvim_buf_get_changedtick(view.buf) == tick
  end
  if numbered(doc) and wanted(room, view) then
    arrange(doc, room.columns(view), wanted_still, function(drawn)
      arranged = drawn
      put(view, drawn, tick and doc or before, done)
    end)
  end
  if arranged then return end
  put(view, doc, before, done)
  tick = vim.api.nvim_buf_get_changedtick(view.buf)
end

--- Whether a diff must be drawn anew as its window has another size.
---@param room agentchat.Room
---@param view agentchat.Float|agentchat.Sheet
---@param drawn agentchat.Doc
---@return boolean
function M.stale(room, view, drawn) return drawn.from ~= nil or wanted(room, view) end

--- Chooses the other of the two, from now on and for all diffs.
---@param room agentchat.Room
---@param view agentchat.Float|agentchat.Sheet
function M.turn(room, view)
  if room.columns(view) < LEAST then return notice.info('There is no room for two columns.') end
  chosen = not wanted(room, view)
end

return M
