-- Whether a diff is drawn in one column or in two, the old text beside the new, and how the cursor
-- stays at its line when that changes.

local columns = require('agentchat.diff.columns')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local settings = require('agentchat.config.settings')

local M = {}

local AUTO = 150 -- columns from which on two columns are the better view
local LEAST = 64 -- columns below which there is no room for two

---@type boolean? what the user chose by a key; it holds for the session
local chosen

local function room(panel) return panels.window(panel).columns(panel.view) end

---@return boolean|'auto'
local function wish(chat_id)
  if chosen ~= nil then return chosen end
  return settings.get(registry.buffer(chat_id)).ui.side_by_side
end

--- Whether the user wants two columns, wherever there is room for them.
function M.is_chosen(chat_id) return wish(chat_id) == true end

local function wants_columns(panel)
  local set, there = wish(panel.spec.chat), room(panel)
  if set == 'auto' then return there >= AUTO end
  return set and there >= LEAST
end

---@return boolean whether the diff has lines that can face each other
local function has_line_numbers(doc)
  return vim.iter(doc.hunks or {}):any(function(hunk) return hunk.digits ~= nil end)
end

local function draw_at_cursor(view, drawn, before, done)
  local spot = before and render.current_spot(view.win, before)
  render.draw(view.buf, drawn, view.win)
  done(drawn)
  if spot then render.restore_spot(view.win, drawn, spot) end
end

--- Draws a diff as fits its window; the cursor stays at its line. What takes a while to be put into
--- two columns is shown in one until then.
---@param done fun(drawn: agentchat.Doc) called whenever something has been drawn, to measure it
function M.draw(panel, done)
  local view, doc, before = panel.view, panel.spec.doc(), panel.page
  local arranged, tick
  local function still_wanted()
    if not tick then return true end
    local there = vim.api.nvim_buf_is_valid(view.buf) and vim.api.nvim_win_is_valid(view.win)
    return there and vim.api.nvim_buf_get_changedtick(view.buf) == tick
  end
  if has_line_numbers(doc) and wants_columns(panel) then
    render.in_slices(function(pause)
      arranged = columns.arrange(doc, room(panel), pause)
      draw_at_cursor(view, arranged, tick and doc or before, done)
    end, still_wanted)
  end
  if arranged then return end
  draw_at_cursor(view, doc, before, done)
  tick = vim.api.nvim_buf_get_changedtick(view.buf)
end

--- Whether a diff must be drawn again as its window has another size.
function M.needs_redraw(panel) return panel.page.from ~= nil or wants_columns(panel) end

--- Chooses the other of the two, from now on and for all diffs.
function M.toggle(panel)
  local before = chosen
  chosen = not wants_columns(panel)
  if room(panel) >= LEAST then return end
  chosen = before
  notify.info('The window is too narrow for two columns.')
end

return M
