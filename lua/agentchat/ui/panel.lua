-- The window of an approval request, a review or a rule: a float, a split or a tab, as the user
-- chooses. Its owner decides what it shows and what its keys do.

local float = require('agentchat.ui.float')
local key_guard = require('agentchat.ui.key_guard')
local render = require('agentchat.ui.render')
local split = require('agentchat.ui.split')

local M = {}

---@alias agentchat.Form 'float'|'split'|'tab'
local NEXT = { float = 'split', split = 'tab', tab = 'float' }

---@class (exact) agentchat.Subject
---@field id string of the question or preview
---@field subject string what its diff is about
---@field title string

---@class agentchat.PanelSpec: agentchat.FloatSpec
---@field heading fun(width: integer): string the title of a split or a tab
---@field subject fun(): agentchat.Subject
---@field name string of a split, in its status line
---@field doc fun(): agentchat.Doc in one column
---@field draw fun(panel: agentchat.Panel) draws the doc into the view, as `page`
---@field resized fun(panel: agentchat.Panel) the view has another size
---@field lead fun(): string the pattern of what is before the text of a line
---@field delay fun(): integer ms within which keys are ignored
---@field map fun(buf: integer) gives a new window its keys
---@field closed fun() the user closed it

---@class (exact) agentchat.Panel
---@field spec agentchat.PanelSpec
---@field form agentchat.Form
---@field view? agentchat.Float|agentchat.Split none while hidden
---@field page? agentchat.Doc what is drawn
---@field field? agentchat.Float where something is typed for it
---@field moving boolean it is about to be opened elsewhere
---@field countdown? agentchat.Countdown since something new was drawn

function M.new(spec) return { spec = spec, form = 'float', moving = false } end

function M.window(panel) return panel.form == 'float' and float or split end

--- Draws the same again; keys need not wait again.
function M.draw(panel) panel.spec.draw(panel) end

--- Draws something new: keys are ignored for a while.
function M.draw_new(panel)
  key_guard.stop_countdown(panel.countdown)
  M.draw(panel)
  vim.cmd.redraw()
  panel.countdown = key_guard.start_countdown(panel.spec.delay())
end

local function forget(panel)
  key_guard.stop_countdown(panel.countdown)
  panel.view, panel.page, panel.countdown = nil, nil, nil
end

local function closed(panel)
  key_guard.stop_listening()
  if panel.moving then return end
  forget(panel)
  panel.form = 'float'
  panel.spec.closed()
end

local function open(panel)
  local spec = panel.spec
  return M.window(panel).open(vim.tbl_extend('force', spec, {
    form = panel.form,
    title = panel.form == 'float' and spec.title or spec.heading,
    footer = function(edge)
      edge.inside = edge.inside or float.is_focused(panel.field)
      return spec.footer(edge)
    end,
    resized = function()
      if panel.page then spec.resized(panel) end
    end,
    closed = function() closed(panel) end,
  }))
end

--- Shows it in this tab, in a new window and without taking the focus where that can be.
---@return boolean whether a window could be opened
function M.show(panel, form)
  M.close(panel)
  panel.form = form or 'float'
  panel.view = open(panel)
  if not panel.view then return false end
  vim.bo[panel.view.buf].formatlistpat = panel.spec.lead()
  panel.spec.map(panel.view.buf)
  key_guard.listen()
  M.draw_new(panel)
  return true
end

--- Closes the window; `closed` is not called.
function M.close(panel)
  panel.moving = true
  M.window(panel).close(panel.view)
  forget(panel)
  panel.moving = false
end

--- Hides the panel for the user: `closed` is called.
function M.hide(panel) M.window(panel).close(panel.view) end

--- Closes the panel and its input.
function M.discard(panel)
  float.close(panel.field)
  M.close(panel)
end

function M.is_visible(panel) return M.window(panel).is_visible(panel.view) end

--- Whether it has a place: it is shown in this tab, or the user has put it into one of its own.
function M.has_window(panel)
  return M.is_visible(panel) or (panel.form ~= 'float' and split.is_open(panel.view))
end

--- Where its float is.
---@return agentchat.Rect?
function M.rect(panel)
  if panel.form ~= 'float' or not M.is_visible(panel) then return nil end
  return vim.api.nvim_win_get_config(panel.view.win)
end

--- Columns for its text.
function M.columns(panel) return M.window(panel).columns(panel.view) end

--- Enters the panel, or its input if one is open.
function M.enter(panel)
  if float.is_visible(panel.field) then return float.enter(panel.field) end
  M.window(panel).enter(panel.view)
end

function M.leave(panel) M.window(panel).leave(panel.view) end

--- Updates the key that leads into the float, after the user entered or left it.
function M.refresh(panel)
  if panel.form == 'float' and float.is_open(panel.view) then float.redraw_edges(panel.view) end
end

--- Runs what a key asks for, if a person pressed it after the page had been visible for long enough.
---@param key? string that was pressed, where it is a single one
function M.gate(panel, action, key)
  if key_guard.is_over(panel.countdown) and key_guard.is_deliberate(key) then action() end
end

--- Shows it as a float, a split or a tab, whichever comes next; the user stays at their line.
function M.cycle(panel)
  local spot = render.current_spot(panel.view.win, panel.page)
  if not M.show(panel, NEXT[panel.form]) then return end
  M.enter(panel)
  render.restore_spot(panel.view.win, panel.page, spot)
end

return M
