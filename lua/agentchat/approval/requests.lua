-- The questions that wait for an answer, one for each chat: shown, hidden, found and answered.

local ask = require('agentchat.approval.float')
local bridge = require('agentchat.host.rpc')
local chats = require('agentchat.chat.actions')
local config = require('agentchat.config.settings')
local diff = require('agentchat.diff.keys')
local layout = require('agentchat.ui.layout')
local notice = require('agentchat.notify')
local question = require('agentchat.approval.document')
local review = require('agentchat.review.list')
local sight = require('agentchat.chat.visibility')
local stands = require('agentchat.ui.panel')

local M = {}

---@class (exact) agentchat.Asked
---@field chat string
---@field prompt agentchat.Prompt
---@field ask agentchat.Ask
---@field hidden boolean the user put it away
---@field told boolean the user was told of it, as the chat was not in sight

---@type table<string, agentchat.Asked>
local asked = {}

local CHOICES = { 'always', 'accept', 'reject', 'cancel' }
local NOTHING = 'Nothing is being asked.'
local SHOWN_NOW = 'The question was hidden and is shown now: answer it again.'
local WHICH = 'More than one chat asks: go to the one you mean and answer there.'

---@param chat string
---@return integer? buf
local function buffer(chat)
  local found = chats.get(chat)
  return found and found.buf
end

---@param it agentchat.Asked
local function finish(it)
  asked[it.chat] = nil
  stands.discard(it.ask.stand)
  review.uncover(it.chat)
end

---@param it agentchat.Asked
---@param choice agentchat.Choice
---@param more? agentchat.AnswerMore
local function reply(it, choice, more)
  if asked[it.chat] ~= it then return end
  finish(it)
  local answer = { chat = it.chat, prompt = it.prompt.id, choice = choice }
  local subject = it.prompt.subject or it.prompt.id
  answer.hunks = diff.told(it.chat, subject, it.prompt.doc)
  bridge.send('answer', vim.tbl_extend('error', answer, more or {}))
end

---Above the questions of other chats, where there is room.
---@param it agentchat.Asked
---@param screen agentchat.Screen
---@param want agentchat.Want
---@return agentchat.Rect
local function place(it, screen, want)
  for _, other in pairs(asked) do
    local row = other ~= it and stands.row(other.ask.stand)
    if row then screen = layout.above(screen, row, want.height) end
  end
  return layout.bottom(screen, want)
end

---@param it agentchat.Asked
---@return agentchat.Ask
local function new_ask(it)
  return ask.new({
    chat = it.chat,
    prompt = it.prompt,
    delay = function() return config.get(buffer(it.chat)).ui.prompt_delay_ms end,
    way_in = function()
      return buffer(it.chat) == vim.api.nvim_get_current_buf() and 'ga' or ':AgentApprove'
    end,
    place = function(screen, want) return place(it, screen, want) end,
    answer = function(choice, more) reply(it, choice, more) end,
    hidden = function() it.hidden = true end,
  })
end

---@param it agentchat.Asked
---@return boolean whether it is shown; a window cannot always be opened
local function show(it)
  review.cover(it.chat)
  local shown = stands.show(it.ask.stand)
  it.hidden = false
  return shown
end

---Shows a question where the chat is in sight; elsewhere the user is told of it, once.
---@param it agentchat.Asked
local function present(it)
  local shown = sight.of(it.chat) and show(it)
  if not shown and not it.told then
    it.told = true
    notice.info(it.prompt.title .. ': see :AgentApprove.')
  end
end

---Shows what waits where its chat has come into sight.
local function follow()
  for _, it in pairs(asked) do
    if not it.hidden and sight.of(it.chat) and not stands.placed(it.ask.stand) then present(it) end
    stands.refresh(it.ask.stand)
  end
end

---@param chat? string
---@return agentchat.Asked? it, string? why there is none
local function find(chat)
  local it = asked[chat or chats.current()]
  if it then return it end
  local all = vim.tbl_values(asked)
  if #all == 1 then return all[1] end
  return nil, #all == 0 and NOTHING or WHICH
end

--- Puts a question to the user. One that this chat still asked is no longer asked.
---@param chat string
---@param prompt table
function M.show(chat, prompt)
  M.close_all(chat)
  local it = { chat = chat, prompt = question.known(prompt), hidden = false, told = false }
  it.ask = new_ask(it)
  asked[chat] = it
  sight.follow('approval', follow)
  present(it)
end

--- Takes back a question; of one that is answered already there is nothing to take.
---@param chat string
---@param id string
function M.close(chat, id)
  local it = asked[chat]
  if it and it.prompt.id == id then finish(it) end
end

--- Takes back whatever a chat asks.
---@param chat string
function M.close_all(chat)
  if asked[chat] then finish(asked[chat]) end
end

--- Puts the text that the user wrote in place of the proposed one.
---@param chat string
---@param id string of the question
---@param path string
---@param text string
---@return boolean whether that question is asked
function M.replace(chat, id, path, text)
  local it = asked[chat]
  if not (it and it.prompt.id == id) then return false end
  reply(it, 'edit', { replaced = { { path = path, text = text } } })
  return true
end

--- Whether a chat waits for an answer.
---@param chat string
---@return boolean
function M.has(chat) return asked[chat] ~= nil end

--- Shows a question if need be and takes the user into it.
---@param chat? string default: the current chat, else the only one that asks
function M.focus(chat)
  local it, why = find(chat)
  if not it then return notice.warn(why) end
  if stands.placed(it.ask.stand) or show(it) then stands.enter(it.ask.stand) end
end

--- Answers a question; one that is hidden is shown first, and not answered.
---@param chat? string default: the current chat, else the only one that asks
---@param choice 'always'|'accept'|'reject'|'cancel'
---@param reason? string
function M.answer(chat, choice, reason)
  if not vim.list_contains(CHOICES, choice) then
    return notice.warn(('Unknown answer "%s": use %s.'):format(choice, table.concat(CHOICES, ', ')))
  end
  local it, why = find(chat)
  if not it then return notice.warn(why) end
  if not stands.visible(it.ask.stand) then
    show(it)
    return notice.info(SHOWN_NOW)
  end
  if choice == 'always' and not it.prompt.always then return notice.warn(ask.NO_ALWAYS) end
  reply(it, choice, reason ~= nil and reason ~= '' and { reason = reason } or nil)
end

return M
