-- The previews that wait to be applied or discarded, those of a chat in one window: the newest is
-- shown. Closing it hides it and decides nothing.

local bridge = require('agentchat.bridge')
local commands = require('agentchat.commands')
local config = require('agentchat.config')
local diff = require('agentchat.diff')
local float = require('agentchat.float')
local hunks = require('agentchat.hunks')
local keypress = require('agentchat.keypress')
local layout = require('agentchat.layout')
local notice = require('agentchat.notice')
local paper = require('agentchat.paper')
local preview = require('agentchat.preview')
local why = require('agentchat.reason')
local screen = require('agentchat.screen')
local sheet = require('agentchat.sheet')
local sides = require('agentchat.sides')
local sight = require('agentchat.sight')
local verdicts = require('agentchat.verdicts')

local M = {}

---@class (exact) agentchat.Review
---@field chat string
---@field previews agentchat.Preview[] the oldest first
---@field form 'float'|'split'|'tab'
---@field view? agentchat.Float|agentchat.Sheet none while hidden
---@field page? agentchat.Doc what is drawn
---@field hidden boolean the user put it away
---@field moving boolean it is about to be opened elsewhere
---@field drawn number when it was drawn, in ms
---@field field? agentchat.Float where a comment or a reason is typed
---@field reason string what was typed so far

---@type table<string, agentchat.Review>
local reviews = {}

local Z = 50 -- below the question
local APPLY_MS = 300 -- what an accepted preview has for being applied before it is shown again

---@param it agentchat.Review
local function room(it) return it.form == 'float' and float or sheet end

---@param it agentchat.Review
---@return agentchat.Preview
local function newest(it) return it.previews[#it.previews] end

---@param it agentchat.Review
local function closed(it)
  it.view, it.page = nil, nil
  keypress.deafen()
  if it.moving then return end
  it.hidden, it.form = true, 'float'
end

local draw

---@param it agentchat.Review
local function resized(it)
  if it.page and sides.stale(room(it), it.view, it.page) then draw(it) end
end

---@param it agentchat.Review
---@return agentchat.Float?
local function open_float(it)
  local _, line = screen.border()
  return float.open({
    filetype = 'agentchat-review',
    chat = it.chat,
    zindex = Z,
    share = 0.8,
    least = 74,
    place = layout.bottom,
    title = function(width) return preview.title(it.previews, width, line) end,
    footer = function(width, part)
      local inside = float.focused(it.view)
      return preview.footer(
        newest(it),
        it.chat,
        { width = width, part = part, line = line },
        inside
      )
    end,
    resized = function() resized(it) end,
    closed = function() closed(it) end,
  })
end

---@param it agentchat.Review
---@return agentchat.Sheet
local function open_sheet(it)
  return sheet.open({
    form = it.form,
    filetype = 'agentchat-review',
    chat = it.chat,
    title = function() return preview.heading(it.previews, it.chat) end,
    resized = function() resized(it) end,
    closed = function() closed(it) end,
  })
end

---@param it agentchat.Review
local function close(it)
  it.moving = true
  room(it).close(it.view)
  it.view, it.page, it.moving = nil, nil, false
end

---@return number
local function now() return vim.uv.hrtime() / 1e6 end

---@param it agentchat.Review
---@return agentchat.DiffSpec?
local function diff_spec(it)
  if not (it.view and it.page) then return nil end
  local shown = newest(it)
  return {
    chat = it.chat,
    id = shown.id,
    subject = shown.id,
    title = shown.label,
    buf = it.view.buf,
    doc = it.page,
    changed = function()
      if it.view then room(it).refit(it.view) end
    end,
    turn = function()
      sides.turn(room(it), it.view)
      draw(it)
    end,
    typing = function(field) it.field = field end,
  }
end

---@param it agentchat.Review
function draw(it)
  sides.draw(room(it), it.view, newest(it).doc, it.page, function(drawn)
    it.page = drawn
    diff.mark(diff_spec(it))
    room(it).refit(it.view)
  end)
end

---@param it agentchat.Review
---@param action fun()
local function gate(it, action)
  local chat = require('agentchat.chat').get(it.chat)
  local settled = now() - it.drawn >= config.get(chat and chat.buf).ui.prompt_delay_ms
  if settled and keypress.deliberate() then action() end
end

---@param it agentchat.Review
local function reject(it)
  local id = newest(it).id
  it.field = why.open({
    chat = it.chat,
    title = 'Why not? ' .. newest(it).label,
    text = it.reason,
    send = function(text)
      local asked = reviews[it.chat] == it and newest(it).id == id
      if not asked then return notice.warn('What you rejected is not shown any more.') end
      M.resolve(it.chat, 'discard', text ~= '' and text or nil)
    end,
    back = function(text) it.reason = text end,
  })
end

---@param it agentchat.Review
---@param buf integer
local function map_keys(it, buf)
  paper.deaden(buf)
  local function map(key, action, desc)
    vim.keymap.set('n', key, action, { buffer = buf, nowait = true, desc = desc })
  end
  local function gated(key, action, desc)
    map(key, function() gate(it, action) end, desc)
  end
  diff.map(buf, function() return diff_spec(it) end, function(action) gate(it, action) end)
  gated('a', function()
    M.resolve(it.chat, 'apply')
    keypress.drain()
  end, 'Apply what is kept')
  gated('r', function() reject(it) end, 'Discard it, and say why')
  gated('s', function() M.cycle(it.chat) end, 'Float, split or tab')
  map('q', function() room(it).close(it.view) end, 'Hide the preview')
  map('<Esc>', function() room(it).leave(it.view) end, 'Back to where you came from')
  map('?', preview.help, 'Keys')
  map('g?', preview.help, 'Keys')
end

---Opens the newest preview in this tab, without taking the focus where that can be.
---@param it agentchat.Review
local function open(it)
  close(it)
  it.view = it.form == 'float' and open_float(it) or open_sheet(it)
  it.hidden = false
  keypress.listen()
  local buf = it.view.buf
  vim.bo[buf].formatlistpat = hunks.GUTTER
  commands.attach_resolve(buf, it.chat)
  map_keys(it, buf)
  draw(it)
  vim.cmd.redraw()
  it.drawn = now()
end

---@param chat string
---@return boolean whether a question of the chat shows the same
local function covered(chat) return require('agentchat.approval').has(chat) end

---Shows what has changed where the user sees the chat.
---@param it agentchat.Review
local function present(it)
  if it.hidden or covered(it.chat) then return end
  if it.view then
    draw(it)
    it.drawn = now()
  elseif sight.of(it.chat) then
    open(it)
  end
end

local function follow()
  for _, it in pairs(reviews) do
    if not it.view then
      present(it)
    elseif it.form == 'float' then
      float.redraw_footer(it.view)
    end
  end
end

---@param chat string
---@return agentchat.Review
local function of(chat)
  if not reviews[chat] then
    reviews[chat] = {
      chat = chat,
      previews = {},
      form = 'float',
      hidden = false,
      moving = false,
      drawn = 0,
      reason = '',
    }
    sight.follow('review', follow)
  end
  return reviews[chat]
end

---@param it agentchat.Review
---@param id string
---@return integer? index
local function index(it, id)
  for i, staged in ipairs(it.previews) do
    if staged.id == id then return i end
  end
end

--- Shows a preview; one with the same id is replaced.
---@param chat string
---@param staged agentchat.Preview
function M.show(chat, staged)
  local it = of(chat)
  it.previews[index(it, staged.id) or #it.previews + 1] = staged
  it.hidden = false
  present(it)
end

--- Takes back a preview that is applied or discarded; one below it is shown in its place.
---@param chat string
---@param id string
function M.close(chat, id)
  local it = reviews[chat]
  local at = it and index(it, id)
  if not at then return end
  table.remove(it.previews, at)
  verdicts.forget(chat, id)
  if #it.previews == 0 then return M.close_all(chat) end
  present(it)
end

--- Takes back all previews of a chat.
---@param chat string
function M.close_all(chat)
  local it = reviews[chat]
  if not it then return end
  reviews[chat] = nil
  float.close(it.field)
  close(it)
end

--- Applies what is kept of the newest preview, or discards it.
---@param chat string
---@param action 'apply'|'discard'
---@param reason? string
function M.resolve(chat, action, reason)
  local order = { chat = chat, action = action, reason = reason }
  local it = reviews[chat]
  if it then
    local shown = newest(it)
    order.preview, order.stamp = shown.id, shown.stamp
    order.hunks = diff.told(chat, shown.id, shown.doc)
  end
  bridge.send('resolve', order)
end

--- Puts the text that the user wrote in place of the proposed one.
---@param chat string
---@param id string of the preview
---@param path string
---@param text string
---@return boolean whether that preview is pending
function M.replace(chat, id, path, text)
  local it = reviews[chat]
  if not (it and index(it, id)) then return false end
  bridge.send('amend', { chat = chat, preview = id, path = path, text = text })
  return true
end

--- Takes the user to the newest preview, shown again if it was hidden.
---@param chat string
function M.focus(chat)
  local it = reviews[chat]
  if not it then return notice.warn('Nothing is pending.') end
  if covered(chat) then return require('agentchat.approval').focus(chat) end
  if not room(it).visible(it.view) then open(it) end
  room(it).enter(it.view)
end

--- Shows the preview as a float, a split or a tab, whichever comes next.
---@param chat string
function M.cycle(chat)
  local it = reviews[chat]
  local spot = sides.spot(it.view.win, it.page)
  close(it)
  it.form = float.NEXT[it.form]
  open(it)
  room(it).enter(it.view)
  sides.go(it.view.win, it.page, spot)
end

--- Makes room for a question of the chat, which shows the same.
---@param chat string
function M.cover(chat)
  local it = reviews[chat]
  if it and it.form == 'float' then close(it) end
end

--- Shows again what is still pending a moment after the question was answered.
---@param chat string
function M.uncover(chat)
  local it = reviews[chat]
  if not it then return end
  vim.defer_fn(function()
    if reviews[chat] == it and not it.view then present(it) end
  end, APPLY_MS)
end

return M
