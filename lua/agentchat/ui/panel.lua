-- Where a question or a review is read: in a float, a split or a tab, whichever the user likes.
-- What stands there and what its keys do is its owner's.

local diff = require('agentchat.diff.keys')
local float = require('agentchat.ui.float')
local keypress = require('agentchat.ui.keypress')
local screen = require('agentchat.ui.screen')
local settle = require('agentchat.ui.settle')
local sheet = require('agentchat.ui.split')
local sides = require('agentchat.diff.side_by_side')

local M = {}

---@alias agentchat.Form 'float'|'split'|'tab'

---@class (exact) agentchat.Subject
---@field id string of the question or preview
---@field subject string what its diff is about
---@field title string

---@class (exact) agentchat.StandSpec
---@field chat string uuid
---@field filetype string
---@field zindex integer of the float
---@field place fun(screen: agentchat.Screen, want: agentchat.Want): agentchat.Rect
---@field title fun(width: integer, line: string): agentchat.Chunk[] of the float
---@field footer fun(at: agentchat.Edge): agentchat.Chunk[]
---@field heading fun(width: integer): string of a split or a tab
---@field subject fun(): agentchat.Subject
---@field doc fun(): agentchat.Doc in one column
---@field lead fun(): string the pattern of what stands before the text of a line
---@field delay fun(): integer ms within which keys are ignored
---@field map fun(buf: integer) gives a new window its keys
---@field closed fun() the user closed it

---@class (exact) agentchat.Edge the lower edge of a float
---@field width integer
---@field part agentchat.Part which rows are in sight
---@field line string the character of the border
---@field inside boolean whether the user is in it

---@class (exact) agentchat.Stand
---@field spec agentchat.StandSpec
---@field form agentchat.Form
---@field view? agentchat.Float|agentchat.Sheet none while hidden
---@field page? agentchat.Doc what is drawn
---@field field? agentchat.Float where something is typed for it
---@field moving boolean it is about to be opened elsewhere
---@field settle? agentchat.Settle since something new was drawn

--- One that shows nothing yet.
---@param spec agentchat.StandSpec
---@return agentchat.Stand
function M.new(spec) return { spec = spec, form = 'float', moving = false } end

---@param stand agentchat.Stand
local function room(stand) return stand.form == 'float' and float or sheet end

---@param stand agentchat.Stand
---@return agentchat.DiffSpec?
local function diff_spec(stand)
  if not (stand.view and stand.page) then return nil end
  local about = stand.spec.subject()
  return {
    chat = stand.spec.chat,
    id = about.id,
    subject = about.subject,
    title = about.title,
    buf = stand.view.buf,
    doc = stand.page,
    changed = function()
      if stand.view then room(stand).refit(stand.view) end
    end,
    turn = function()
      sides.turn(room(stand), stand.view)
      M.draw(stand)
    end,
    typing = function(field) stand.field = field end,
  }
end

--- Draws what it shows again, where the user was; it need not settle again.
---@param stand agentchat.Stand
function M.draw(stand)
  sides.draw(room(stand), stand.view, stand.spec.doc(), stand.page, function(drawn)
    stand.page = drawn
    diff.mark(diff_spec(stand))
    room(stand).refit(stand.view)
  end)
end

--- Draws something new: keys are ignored until it has settled.
---@param stand agentchat.Stand
function M.draw_new(stand)
  settle.stop(stand.settle)
  M.draw(stand)
  vim.cmd.redraw()
  stand.settle = settle.start(stand.spec.delay())
end

---@param stand agentchat.Stand
local function forget(stand)
  settle.stop(stand.settle)
  stand.view, stand.page, stand.settle = nil, nil, nil
end

---@param stand agentchat.Stand
local function resized(stand)
  if stand.page and sides.stale(room(stand), stand.view, stand.page) then M.draw(stand) end
end

---@param stand agentchat.Stand
local function closed(stand)
  keypress.deafen()
  if stand.moving then return end
  forget(stand)
  stand.form = 'float'
  stand.spec.closed()
end

---@param stand agentchat.Stand
---@return agentchat.Float?
local function open_float(stand)
  local spec = stand.spec
  local _, line = screen.border()
  return float.open({
    filetype = spec.filetype,
    chat = spec.chat,
    zindex = spec.zindex,
    share = 0.8,
    least = 74,
    place = spec.place,
    title = function(width) return spec.title(width, line) end,
    footer = function(width, part)
      local inside = float.focused(stand.view) or float.focused(stand.field)
      return spec.footer({ width = width, part = part, line = line, inside = inside })
    end,
    resized = function() resized(stand) end,
    closed = function() closed(stand) end,
  })
end

---@param stand agentchat.Stand
---@return agentchat.Sheet
local function open_sheet(stand)
  return sheet.open({
    form = stand.form,
    filetype = stand.spec.filetype,
    chat = stand.spec.chat,
    title = stand.spec.heading,
    resized = function() resized(stand) end,
    closed = function() closed(stand) end,
  })
end

--- Shows it in this tab, anew and without taking the focus where that can be.
---@param stand agentchat.Stand
---@param form? agentchat.Form
---@return boolean whether a window could be opened
function M.show(stand, form)
  M.close(stand)
  stand.form = form or 'float'
  stand.view = stand.form == 'float' and open_float(stand) or open_sheet(stand)
  if not stand.view then return false end
  vim.bo[stand.view.buf].formatlistpat = stand.spec.lead()
  stand.spec.map(stand.view.buf)
  keypress.listen()
  M.draw_new(stand)
  return true
end

--- Closes the window; `closed` is not called.
---@param stand agentchat.Stand
function M.close(stand)
  stand.moving = true
  room(stand).close(stand.view)
  forget(stand)
  stand.moving = false
end

--- Puts it away, as the user wishes.
---@param stand agentchat.Stand
function M.hide(stand) room(stand).close(stand.view) end

--- Ends it: nothing of it is left, what is being typed for it neither.
---@param stand agentchat.Stand
function M.discard(stand)
  float.close(stand.field)
  M.close(stand)
end

--- Whether the user sees it: it is shown in this tab.
---@param stand agentchat.Stand
---@return boolean
function M.visible(stand) return room(stand).visible(stand.view) end

--- Whether it has a place: it is shown in this tab, or the user has put it into one of its own.
---@param stand agentchat.Stand
---@return boolean
function M.placed(stand)
  return M.visible(stand) or (stand.form ~= 'float' and sheet.open_now(stand.view))
end

--- The row of the screen where its float begins, from 0.
---@param stand agentchat.Stand
---@return integer?
function M.row(stand)
  if stand.form ~= 'float' or not M.visible(stand) then return nil end
  return vim.api.nvim_win_get_config(stand.view.win).row
end

--- Takes the user there, or into what they were typing for it.
---@param stand agentchat.Stand
function M.enter(stand)
  if float.visible(stand.field) then return float.enter(stand.field) end
  room(stand).enter(stand.view)
end

--- Takes the user back to where they came from.
---@param stand agentchat.Stand
function M.leave(stand) room(stand).leave(stand.view) end

--- Whether the user is in it.
---@param stand agentchat.Stand
---@return boolean
function M.focused(stand) return room(stand).focused(stand.view) end

--- Tells again how to get in, after the user went elsewhere.
---@param stand agentchat.Stand
function M.refresh(stand)
  if stand.form == 'float' and float.open_now(stand.view) then float.redraw_footer(stand.view) end
end

--- Runs what a key asks for, if a person pressed it after the page had settled.
---@param stand agentchat.Stand
---@param action fun()
---@param key? string that was pressed, where it is a single one
function M.gate(stand, action, key)
  if settle.done(stand.settle) and keypress.deliberate(key) then action() end
end

---Shows it as a float, a split or a tab, whichever comes next; the user stays at their line.
---@param stand agentchat.Stand
local function cycle(stand)
  local spot = sides.spot(stand.view.win, stand.page)
  if not M.show(stand, float.NEXT[stand.form]) then return end
  M.enter(stand)
  sides.go(stand.view.win, stand.page, spot)
end

--- Gives its buffer the keys of a diff.
---@param stand agentchat.Stand
---@param buf integer
function M.map_diff(stand, buf)
  vim.keymap.set('n', 's', function()
    M.gate(stand, function() cycle(stand) end, 's')
  end, { buffer = buf, nowait = true, desc = 'Float, split or tab' })
  diff.map(buf, function() return diff_spec(stand) end, function(action) M.gate(stand, action) end)
end

return M
