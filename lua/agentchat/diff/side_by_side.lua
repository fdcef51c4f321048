-- Whether a diff is drawn in one column or in two, the old text beside the new, and how the cursor
-- stays at its line when that changes.

local columns = require('agentchat.diff.columns')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local settings = require('agentchat.config.settings')

local M = {}

local AUTO = 150 -- columns from which on two columns are the better view
local LEAST = 64 -- columns below which there is no room for two

---@class agentchat.WindowKind a kind of window: `float` or `split`
---@field columns fun(view: agentchat.Float|agentchat.Split): integer

---@type boolean? what the user chose by a key; it holds for the session
local chosen

local function setting(view)
  return settings.get(registry.buffer(vim.b[view.buf].agentchat_chat)).ui.side_by_side
end

local function wanted(window, view)
  local set, there = chosen, window.columns(view)
  if set == nil then set = setting(view) end
  if set == 'auto' then return there >= AUTO end
  return set and there >= LEAST
end

---@return boolean whether it has lines that can face each other
local function numbered(doc)
  return vim.iter(doc.hunks or {}):any(function(hunk) return hunk.digits ~= nil end)
end

---@param before? agentchat.Doc what the view shows now
---@param done fun(drawn: agentchat.Doc)
local function put(view, drawn, before, done)
  local spot = before and render.spot(view.win, before)
  render.draw(view.buf, drawn, view.win)
  done(drawn)
  if spot then render.go(view.win, drawn, spot) end
end

--- Draws a diff as fits its window; the cursor stays at its line. What takes a while to be put into
--- two columns is shown in one until then.
---@param window agentchat.WindowKind
---@param view agentchat.Float|agentchat.Split
---@param doc agentchat.Doc in one column
---@param before? agentchat.Doc what the view shows now
---@param done fun(drawn: agentchat.Doc) called whenever something has been drawn, to measure it
function M.draw(window, view, doc, before, done)
  local arranged, tick
  local function wanted_still()
    if not tick then return true end
    local there = vim.api.nvim_buf_is_valid(view.buf) and vim.api.nvim_win_is_valid(view.win)
    return there and vim.api.nvim_buf_get_changedtick(view.buf) == tick
  end
  if numbered(doc) and wanted(window, view) then
    render.in_slices(function(pause)
      arranged = columns.arranged(doc, window.columns(view), pause)
      put(view, arranged, tick and doc or before, done)
    end, wanted_still)
  end
  if arranged then return end
  put(view, doc, before, done)
  tick = vim.api.nvim_buf_get_changedtick(view.buf)
end

--- Whether a diff must be drawn again as its window has another size.
---@param window agentchat.WindowKind
---@param view agentchat.Float|agentchat.Split
---@param drawn agentchat.Doc
---@return boolean
function M.stale(window, view, drawn) return drawn.from ~= nil or wanted(window, view) end

--- Chooses the other of the two, from now on and for all diffs.
---@param window agentchat.WindowKind
---@param view agentchat.Float|agentchat.Split
function M.toggle(window, view)
  if window.columns(view) < LEAST then return notify.info('There is no room for two columns.') end
  chosen = not wanted(window, view)
end

return M
