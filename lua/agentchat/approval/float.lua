-- The float of one approval request. It takes no focus by itself and is answered at most once, by one
-- key that a person pressed after it had been visible for a while.

local document = require('agentchat.approval.document')
local hunks = require('agentchat.diff.hunks')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local render = require('agentchat.ui.render')
local rules = require('agentchat.approval.rules')

local M = {}

---@alias agentchat.Choice 'always'|'accept'|'reject'|'cancel'|'edit'

---@class (exact) agentchat.ResponseDetails
---@field reason? string
---@field arguments? string JSON
---@field replaced? { path: string, text: string }[] what files shall get instead

---@class (exact) agentchat.ApprovalFloatSpec
---@field chat string uuid
---@field request agentchat.ApprovalRequest
---@field delay fun(): integer ms within which keys are ignored
---@field way_in fun(): string how to get into the float
---@field place fun(screen: agentchat.Screen, want: agentchat.Want): agentchat.Rect
---@field respond fun(choice: agentchat.Choice, more?: agentchat.ResponseDetails)
---@field hidden fun() the float went away without a response

---@class (exact) agentchat.ApprovalFloat
---@field spec agentchat.ApprovalFloatSpec
---@field panel agentchat.Panel
---@field detailed boolean
---@field reason string what was typed so far
---@field arguments string as the user left them

M.NO_ALWAYS = 'Always is not offered for this call: accept or reject it.'

local NO_RULE = 'No rule is offered for this call.'
local WHOLE = 'A rule says nothing of single hunks: answer this question first, or keep them all.'

local Z = 60

local function tally(request, chat)
  return hunks.tally(chat, request.subject or request.id, request.doc)
end

local function ask_reason(float)
  float.panel.field = input.ask({
    chat = float.spec.chat,
    title = 'Why not? ' .. float.spec.request.title,
    text = float.reason,
    send = function(text) float.spec.respond('reject', text ~= '' and { reason = text } or nil) end,
    back = function(text) float.reason = text end,
  })
end

--- Why a text cannot be the arguments of a call.
local function arguments_problem(text)
  local ok, found = pcall(vim.json.decode, text)
  if not ok then return 'Not valid JSON: ' .. tostring(found):gsub('^%S-:%d+: ', '') .. '.' end
  local object = type(found) == 'table' and (next(found) == nil or not vim.islist(found))
  return not object and 'Arguments are one JSON object: { … }.' or nil
end

local function edit_arguments(float)
  float.panel.field = input.edit({
    chat = float.spec.chat,
    title = 'Arguments of ' .. float.spec.request.tool,
    text = float.arguments,
    filetype = 'json',
    share = 0.75,
    name = 'arguments',
    use = 'use these',
    problem = arguments_problem,
    send = function(text) float.spec.respond('edit', { arguments = text }) end,
    back = function(text) float.arguments = text end,
  })
end

local function respond(float, choice)
  if choice == 'always' and not float.spec.request.always then return notify.warn(M.NO_ALWAYS) end
  float.spec.respond(choice)
  key_guard.drain()
end

local function propose_rule(float)
  local request, chat = float.spec.request, float.spec.chat
  if not request.rule then return notify.warn(NO_RULE) end
  local kept = tally(request, chat)
  if kept and not kept.whole then return notify.warn(WHOLE) end
  rules.propose(chat)
end

---@type table<string, fun(float: agentchat.ApprovalFloat)>
local KEYS = {
  A = function(float) respond(float, 'always') end,
  a = function(float) respond(float, 'accept') end,
  c = function(float) respond(float, 'cancel') end,
  r = ask_reason,
  e = edit_arguments,
  R = propose_rule,
  ['?'] = function(float)
    float.detailed = not float.detailed
    panels.draw(float.panel)
  end,
  q = function(float) panels.hide(float.panel) end,
}
local DIGITS = '1 2 3 4 5 6 7 8 9' -- which answer nothing here, whatever they do elsewhere

local function map_keys(float, buf)
  render.disable_keys(buf)
  render.disable_keys(buf, DIGITS)
  render.disable_keys(buf, 'ga') -- which leads in here
  for key, act in pairs(KEYS) do
    render.map(buf, { key }, function()
      panels.gate(float.panel, function() act(float) end, key)
    end)
  end
  render.map(buf, { '<Esc>' }, function() panels.leave(float.panel) end)
  if float.spec.request.kind == 'diff' then hunks.map(float.panel, buf) end
end

local function panel_spec(float)
  local spec, request = float.spec, float.spec.request
  return {
    chat = spec.chat,
    name = 'approval',
    filetype = 'agentchat-question',
    zindex = Z,
    place = spec.place,
    title = function(width) return document.title(request, width) end,
    footer = function(at)
      local way_in = at.inside and '' or spec.way_in()
      return document.footer(request, at, way_in, tally(request, spec.chat))
    end,
    heading = function(width) return document.heading(request, width, tally(request, spec.chat)) end,
    subject = function()
      return { id = request.id, subject = request.subject or request.id, title = request.title }
    end,
    doc = function() return document.page(request, float.detailed) end,
    draw = hunks.draw,
    resized = hunks.resized,
    lead = function() return document.lead(request) end,
    delay = spec.delay,
    map = function(buf) map_keys(float, buf) end,
    closed = spec.hidden,
  }
end

--- A float that is not shown yet; its `panel` shows, hides and ends it.
---@return agentchat.ApprovalFloat
function M.new(spec)
  local float = { spec = spec, detailed = false, reason = '', arguments = spec.request.arguments }
  float.panel = panels.new(panel_spec(float))
  return float
end

return M
