-- The float of one question. It takes no focus by itself and is answered at most once, by one key
-- that a person pressed after it was drawn and had settled.

local arguments = require('agentchat.approval.arguments')
local diff = require('agentchat.diff.keys')
local keypress = require('agentchat.ui.keypress')
local notice = require('agentchat.notify')
local paper = require('agentchat.ui.render')
local question = require('agentchat.approval.document')
local reason = require('agentchat.ui.reason')
local stands = require('agentchat.ui.panel')

local M = {}

---@alias agentchat.Choice 'always'|'accept'|'reject'|'cancel'|'edit'

---@class (exact) agentchat.AnswerMore
---@field reason? string
---@field arguments? string JSON
---@field replaced? { path: string, text: string }[] what files shall get instead

---@class (exact) agentchat.AskSpec
---@field chat string uuid
---@field prompt agentchat.Prompt
---@field delay fun(): integer ms within which keys are ignored
---@field way_in fun(): string how to get into the float
---@field place fun(screen: agentchat.Screen, want: agentchat.Want): agentchat.Rect
---@field answer fun(choice: agentchat.Choice, more?: agentchat.AnswerMore)
---@field hidden fun() the float went away without an answer

---@class (exact) agentchat.Ask
---@field spec agentchat.AskSpec
---@field stand agentchat.Stand
---@field detailed boolean
---@field reason string what was typed so far
---@field arguments string as the user left them

M.NO_ALWAYS = 'Always is not offered for this call: accept or reject it.'

M.NO_RULE = 'No rule is offered for this call.'
M.WHOLE = 'A rule says nothing of single hunks: answer this question first, or keep them all.'

local Z = 60

---@param ask agentchat.Ask
---@return agentchat.Tally?
local function tally(ask)
  local prompt = ask.spec.prompt
  return diff.tally(ask.spec.chat, prompt.subject or prompt.id, prompt.doc)
end

---@param ask agentchat.Ask
local function ask_reason(ask)
  ask.stand.field = reason.open({
    chat = ask.spec.chat,
    title = 'Why not? ' .. ask.spec.prompt.title,
    text = ask.reason,
    send = function(text) ask.spec.answer('reject', text ~= '' and { reason = text } or nil) end,
    back = function(text) ask.reason = text end,
  })
end

---@param ask agentchat.Ask
local function edit_arguments(ask)
  ask.stand.field = arguments.open({
    chat = ask.spec.chat,
    title = 'Arguments of ' .. ask.spec.prompt.tool,
    text = ask.arguments,
    send = function(text) ask.spec.answer('edit', { arguments = text }) end,
    back = function(text) ask.arguments = text end,
  })
end

---@param ask agentchat.Ask
---@param choice agentchat.Choice
local function answer(ask, choice)
  if choice == 'always' and not ask.spec.prompt.always then return notice.warn(M.NO_ALWAYS) end
  ask.spec.answer(choice)
  -- What was typed ahead was meant for this float, not for the window the user is back in.
  keypress.drain()
end

---@type table<string, fun(ask: agentchat.Ask)>
local KEYS = {
  A = function(ask) answer(ask, 'always') end,
  a = function(ask) answer(ask, 'accept') end,
  c = function(ask) answer(ask, 'cancel') end,
  r = ask_reason,
  e = edit_arguments,
  R = function(ask)
    if not ask.spec.prompt.rule then return notice.warn(M.NO_RULE) end
    local kept = tally(ask)
    if kept and not kept.whole then return notice.warn(M.WHOLE) end
    require('agentchat.approval.rules').propose(ask.spec.chat)
  end,
  ['?'] = function(ask)
    ask.detailed = not ask.detailed
    stands.draw(ask.stand)
  end,
  q = function(ask) stands.hide(ask.stand) end,
}
local DIGITS = '123456789' -- which answer nothing here, whatever they do elsewhere

---@param ask agentchat.Ask
---@param buf integer
local function map_keys(ask, buf)
  local function map(key, action) vim.keymap.set('n', key, action, { buffer = buf, nowait = true }) end
  paper.deaden(buf)
  for digit in DIGITS:gmatch('.') do
    map(digit, keypress.nothing)
  end
  map('ga', keypress.nothing) -- which leads in here
  for key, act in pairs(KEYS) do
    map(key, function()
      stands.gate(ask.stand, function() act(ask) end, key)
    end)
  end
  map('<Esc>', function() stands.leave(ask.stand) end)
  if ask.spec.prompt.kind == 'diff' then stands.map_diff(ask.stand, buf) end
end

---@param ask agentchat.Ask
---@return agentchat.StandSpec
local function stand_spec(ask)
  local spec, prompt = ask.spec, ask.spec.prompt
  return {
    chat = spec.chat,
    filetype = 'agentchat-question',
    zindex = Z,
    place = spec.place,
    title = function(width, line) return question.title(prompt, width, line) end,
    footer = function(at)
      local way_in = at.inside and '' or spec.way_in()
      return question.footer(prompt, at.width, at.part, at.line, way_in, tally(ask))
    end,
    heading = function(width) return question.heading(prompt, width, tally(ask)) end,
    subject = function()
      return { id = prompt.id, subject = prompt.subject or prompt.id, title = prompt.title }
    end,
    doc = function() return question.page(prompt, ask.detailed) end,
    lead = function() return question.lead(prompt) end,
    delay = spec.delay,
    map = function(buf) map_keys(ask, buf) end,
    closed = spec.hidden,
  }
end

--- A question that is not shown yet; its `stand` shows, hides and ends it.
---@param spec agentchat.AskSpec
---@return agentchat.Ask
function M.new(spec)
  local ask = { spec = spec, detailed = false, reason = '', arguments = spec.prompt.arguments }
  ask.stand = stands.new(stand_spec(ask))
  return ask
end

return M
