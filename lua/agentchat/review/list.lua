-- The previews that wait to be applied or discarded, those of a chat in one window: the newest is
-- shown. Closing it hides it and decides nothing.

local bridge = require('agentchat.host.rpc')
local commands = require('agentchat.commands')
local config = require('agentchat.config.settings')
local diff = require('agentchat.diff.keys')
local hunks = require('agentchat.diff.navigation')
local keypress = require('agentchat.ui.keypress')
local layout = require('agentchat.ui.layout')
local notice = require('agentchat.notify')
local paper = require('agentchat.ui.render')
local preview = require('agentchat.review.document')
local sight = require('agentchat.chat.visibility')
local stands = require('agentchat.ui.panel')
local verdicts = require('agentchat.diff.decisions')
local why = require('agentchat.ui.reason')

local M = {}

---@class (exact) agentchat.Review
---@field chat string
---@field previews agentchat.Preview[] the oldest first
---@field stand agentchat.Stand
---@field hidden boolean the user put it away
---@field reason string what was typed so far

---@type table<string, agentchat.Review>
local reviews = {}

local Z = 50 -- below the question
local APPLY_MS = 300 -- what an accepted preview has for being applied before it is shown again

---@param it agentchat.Review
---@return agentchat.Preview
local function newest(it) return it.previews[#it.previews] end

---@param it agentchat.Review
local function reject(it)
  local id = newest(it).id
  it.stand.field = why.open({
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
  commands.attach_resolve(buf, it.chat)
  paper.deaden(buf)
  local function map(key, action, desc)
    vim.keymap.set('n', key, action, { buffer = buf, nowait = true, desc = desc })
  end
  local function gated(key, action, desc)
    map(key, function() stands.gate(it.stand, action, key) end, desc)
  end
  stands.map_diff(it.stand, buf)
  gated('a', function()
    M.resolve(it.chat, 'apply')
    keypress.drain()
  end, 'Apply what is kept')
  gated('r', function() reject(it) end, 'Discard it, and say why')
  map('q', function() stands.hide(it.stand) end, 'Hide the preview')
  map('<Esc>', function() stands.leave(it.stand) end, 'Back to where you came from')
  map('?', preview.help, 'Keys')
  map('g?', preview.help, 'Keys')
end

---@param it agentchat.Review
---@return agentchat.StandSpec
local function stand_spec(it)
  return {
    chat = it.chat,
    filetype = 'agentchat-review',
    zindex = Z,
    place = layout.bottom,
    title = function(width, line) return preview.title(it.previews, width, line) end,
    footer = function(at) return preview.footer(newest(it), it.chat, at) end,
    heading = function() return preview.heading(it.previews, it.chat) end,
    subject = function()
      local shown = newest(it)
      return { id = shown.id, subject = shown.id, title = shown.label }
    end,
    doc = function() return newest(it).doc end,
    lead = function() return hunks.GUTTER end,
    delay = function()
      local chat = require('agentchat.chat.actions').get(it.chat)
      return config.get(chat and chat.buf).ui.prompt_delay_ms
    end,
    map = function(buf) map_keys(it, buf) end,
    closed = function() it.hidden = true end,
  }
end

---@param chat string
---@return boolean whether a question of the chat shows the same
local function covered(chat) return require('agentchat.approval.requests').has(chat) end

---Shows what has changed where the user sees the chat.
---@param it agentchat.Review
local function present(it)
  if it.hidden or covered(it.chat) then return end
  if it.stand.view then
    stands.draw_new(it.stand)
  elseif sight.of(it.chat) then
    stands.show(it.stand, it.stand.form)
  end
end

local function follow()
  for _, it in pairs(reviews) do
    if not it.stand.view then present(it) end
    stands.refresh(it.stand)
  end
end

---@param chat string
---@return agentchat.Review
local function of(chat)
  if not reviews[chat] then
    local it = { chat = chat, previews = {}, hidden = false, reason = '' }
    it.stand = stands.new(stand_spec(it))
    reviews[chat] = it
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
  stands.discard(it.stand)
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
  if covered(chat) then return require('agentchat.approval.requests').focus(chat) end
  if not stands.visible(it.stand) then
    it.hidden = false
    stands.show(it.stand, it.stand.form)
  end
  stands.enter(it.stand)
end

--- Makes room for a question of the chat, which shows the same.
---@param chat string
function M.cover(chat)
  local it = reviews[chat]
  if it and it.stand.form == 'float' then stands.close(it.stand) end
end

--- Shows again what is still pending a moment after the question was answered.
---@param chat string
function M.uncover(chat)
  local it = reviews[chat]
  if not it then return end
  vim.defer_fn(function()
    if reviews[chat] == it and not it.stand.view then present(it) end
  end, APPLY_MS)
end

return M
