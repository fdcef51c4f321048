-- The previews that wait to be applied or discarded, those of a chat in one window: the newest is
-- shown. Closing it hides it and decides nothing.

local decisions = require('agentchat.diff.decisions')
local document = require('agentchat.review.document')
local host = require('agentchat.host.process')
local hunks = require('agentchat.diff.hunks')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local settings = require('agentchat.config.settings')

local M = {}

---@class (exact) agentchat.Review
---@field chat string
---@field previews agentchat.Preview[] the oldest first
---@field panel agentchat.Panel
---@field hidden boolean the user put it away
---@field reason string what was typed so far

---@type table<string, agentchat.Review>
local reviews = {}

---@type table<string, fun()> goes to the approval request that shows the same, by chat
local covered = {}

local Z = 50 -- below the approval request
local APPLY_MS = 300 -- what an accepted preview has for being applied before it is shown again

local function newest(it) return it.previews[#it.previews] end

local function reject(it)
  local id = newest(it).id
  it.panel.field = input.ask({
    chat = it.chat,
    title = 'Why not? ' .. newest(it).label,
    text = it.reason,
    send = function(text)
      local asked = reviews[it.chat] == it and newest(it).id == id
      if not asked then return notify.warn('What you rejected is not shown any more.') end
      M.resolve(it.chat, 'discard', text ~= '' and text or nil)
    end,
    back = function(text) it.reason = text end,
  })
end

local function map_keys(it, buf)
  registry.announce('buffer', registry.get(it.chat), buf)
  render.disable_keys(buf)
  local function map(key, action, desc)
    vim.keymap.set('n', key, action, { buffer = buf, nowait = true, desc = desc })
  end
  local function gated(key, action, desc)
    map(key, function() panels.gate(it.panel, action, key) end, desc)
  end
  hunks.map(it.panel, buf)
  gated('a', function()
    M.resolve(it.chat, 'apply')
    key_guard.drain()
  end, 'Apply what is kept')
  gated('r', function() reject(it) end, 'Discard it, and say why')
  map('q', function() panels.hide(it.panel) end, 'Hide the preview')
  map('<Esc>', function() panels.leave(it.panel) end, 'Back to where you came from')
  map('?', document.help, 'Keys')
  map('g?', document.help, 'Keys')
end

local function panel_spec(it)
  return {
    chat = it.chat,
    name = 'review',
    filetype = 'agentchat-review',
    zindex = Z,
    place = layout.bottom,
    title = function(width) return document.title(it.previews, width) end,
    footer = function(at) return document.footer(newest(it), it.chat, at) end,
    heading = function() return document.heading(it.previews, it.chat) end,
    subject = function()
      local shown = newest(it)
      return { id = shown.id, subject = shown.id, title = shown.label }
    end,
    doc = function() return newest(it).doc end,
    draw = hunks.draw,
    resized = hunks.resized,
    lead = function() return hunks.GUTTER end,
    delay = function() return settings.get(registry.buffer(it.chat)).ui.prompt_delay_ms end,
    map = function(buf) map_keys(it, buf) end,
    closed = function() it.hidden = true end,
  }
end

---Shows what has changed where the user sees the chat.
local function present(it)
  if it.hidden or covered[it.chat] then return end
  if it.panel.view then
    panels.draw_new(it.panel)
  elseif registry.is_visible(it.chat) then
    panels.show(it.panel, it.panel.form)
  end
end

local function update()
  for _, it in pairs(reviews) do
    if not it.panel.view then present(it) end
    panels.refresh(it.panel)
  end
end

local function of(chat)
  if not reviews[chat] then
    local it = { chat = chat, previews = {}, hidden = false, reason = '' }
    it.panel = panels.new(panel_spec(it))
    reviews[chat] = it
    registry.on_view_change('review', update)
  end
  return reviews[chat]
end

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
  decisions.forget(chat, M.subjects(chat))
  if #it.previews == 0 then return M.close_all(chat) end
  present(it)
end

--- Takes back all previews of a chat.
---@param chat string
function M.close_all(chat)
  local it = reviews[chat]
  if not it then return end
  reviews[chat] = nil
  panels.discard(it.panel)
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
    order.hunks = decisions.report(chat, shown.id, shown.doc)
  end
  host.send('resolve', order)
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
  host.send('amend', { chat = chat, preview = id, path = path, text = text })
  return true
end

--- Takes the user to the newest preview, shown again if it was hidden.
---@param chat string
function M.focus(chat)
  local it = reviews[chat]
  if not it then return notify.warn('Nothing is pending.') end
  if covered[chat] then return covered[chat]() end
  if not panels.visible(it.panel) then
    it.hidden = false
    panels.show(it.panel, it.panel.form)
  end
  panels.enter(it.panel)
end

--- What is decided about, as a set.
---@param chat string
---@return table<string, true>
function M.subjects(chat)
  local found = {}
  for _, preview in ipairs(reviews[chat] and reviews[chat].previews or {}) do
    found[preview.id] = true
  end
  return found
end

--- Lets an approval request of the chat show the same, in place of the review.
---@param chat string
---@param focus fun() goes to the request
function M.cover(chat, focus) covered[chat] = focus end

--- Makes room for the approval request that covers the review.
---@param chat string
function M.close_float(chat)
  local it = reviews[chat]
  if it and it.panel.form == 'float' then panels.close(it.panel) end
end

--- Shows again what is still pending a moment after the request was answered.
---@param chat string
function M.uncover(chat)
  covered[chat] = nil
  local it = reviews[chat]
  if not it then return end
  vim.defer_fn(function()
    if reviews[chat] == it and not it.panel.view then present(it) end
  end, APPLY_MS)
end

registry.listen({ ended = function(chat) M.close_all(chat.id) end })

return M
