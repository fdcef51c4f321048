-- The float of one question. It takes no focus by itself and is answered at most once, by one key
-- that a person pressed after it was drawn and had settled.

local arguments = require('agentchat.arguments')
local float = require('agentchat.float')
local hunks = require('agentchat.hunks')
local keypress = require('agentchat.keypress')
local notice = require('agentchat.notice')
local question = require('agentchat.question')
local reason = require('agentchat.reason')
local screen = require('agentchat.screen')

local M = {}

---@alias agentchat.Choice 'always'|'accept'|'reject'|'cancel'|'edit'

---@class (exact) agentchat.AskSpec
---@field chat string uuid
---@field prompt agentchat.Prompt
---@field delay fun(): integer ms within which keys are ignored
---@field way_in fun(): string how to get into the float
---@field place fun(screen: agentchat.Screen, want: agentchat.Want): agentchat.Rect
---@field answer fun(choice: agentchat.Choice, more?: { reason?: string, arguments?: string })
---@field hidden fun() the float went away without an answer

---@class (exact) agentchat.Ask
---@field spec agentchat.AskSpec
---@field float? agentchat.Float none while hidden
---@field field? agentchat.Float where the reason or the arguments are typed
---@field over boolean answered or no longer asked
---@field detailed boolean
---@field drawn number when it was drawn, in ms
---@field reason string what was typed so far
---@field arguments string as the user left them

M.NO_ALWAYS = 'Always is not offered for this call: accept or reject it.'

local Z = 60

---@return number
local function now() return vim.uv.hrtime() / 1e6 end

--- A question that is not shown yet.
---@param spec agentchat.AskSpec
---@return agentchat.Ask
function M.new(spec)
  return {
    spec = spec,
    over = false,
    detailed = false,
    drawn = 0,
    reason = '',
    arguments = spec.prompt.arguments,
  }
end

---@param ask agentchat.Ask
local function draw(ask) float.draw(ask.float, question.page(ask.spec.prompt, ask.detailed)) end

---@param ask agentchat.Ask
---@return string
local function way_in(ask)
  local inside = float.focused(ask.float) or float.focused(ask.field)
  return inside and '' or ask.spec.way_in()
end

---@param ask agentchat.Ask
---@return agentchat.FloatSpec
local function float_spec(ask)
  local _, line = screen.border()
  return {
    filetype = 'agentchat-question',
    chat = ask.spec.chat,
    zindex = Z,
    share = 0.8,
    least = 74,
    place = ask.spec.place,
    title = function(width) return question.title(ask.spec.prompt, width, line) end,
    footer = function(width, part)
      return question.footer(ask.spec.prompt, width, part, line, way_in(ask))
    end,
    closed = function()
      keypress.deafen()
      if not ask.over then ask.spec.hidden() end
    end,
  }
end

---@param ask agentchat.Ask
local function ask_reason(ask)
  ask.field = reason.open({
    chat = ask.spec.chat,
    title = 'Why not? ' .. ask.spec.prompt.title,
    text = ask.reason,
    send = function(text) ask.spec.answer('reject', text ~= '' and { reason = text } or nil) end,
    back = function(text) ask.reason = text end,
  })
end

---@param ask agentchat.Ask
local function edit_arguments(ask)
  ask.field = arguments.open({
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
  ['?'] = function(ask)
    ask.detailed = not ask.detailed
    draw(ask)
  end,
  q = function(ask) float.close(ask.float) end,
}
-- What would answer elsewhere, and what would change the text, does nothing here.
local DEAD = '<CR> <Space> y 1 2 3 4 5 6 7 8 9 i I o O s S x X d D C p P R J u U . ~ < > ='

---@param ask agentchat.Ask
---@param key string
local function press(ask, key)
  local settled = now() - ask.drawn >= ask.spec.delay()
  if not ask.over and settled and keypress.deliberate() then KEYS[key](ask) end
end

---@param ask agentchat.Ask
local function map_keys(ask)
  for key in pairs(KEYS) do
    float.map(ask.float, { key }, function() press(ask, key) end)
  end
  float.map(ask.float, vim.split(DEAD, ' '), '<Nop>')
  float.map(ask.float, { '<Esc>' }, function() float.leave(ask.float) end)
end

--- Whether the user sees the question: it is shown in this tab.
---@param ask agentchat.Ask
---@return boolean
function M.visible(ask) return float.visible(ask.float) end

--- The row of the screen where it begins, from 0.
---@param ask agentchat.Ask
---@return integer
function M.row(ask) return vim.api.nvim_win_get_config(ask.float.win).row end

--- Draws the question in this tab, anew: keys are ignored until it has settled.
---@param ask agentchat.Ask
---@return boolean whether a window could be opened
function M.show(ask)
  float.close(ask.float)
  ask.float = float.open(float_spec(ask))
  if not ask.float then return false end
  map_keys(ask)
  vim.bo[ask.float.buf].formatlistpat = question.lead(ask.spec.prompt)
  if ask.spec.prompt.kind == 'diff' then hunks.map(ask.float.buf) end
  keypress.listen()
  draw(ask)
  vim.cmd.redraw()
  ask.drawn = now()
  return true
end

--- Tells again how to get in, after the user went elsewhere.
---@param ask agentchat.Ask
function M.refresh(ask)
  if float.open_now(ask.float) then float.redraw_footer(ask.float) end
end

--- Takes the user into the question, or into what they were typing for it.
---@param ask agentchat.Ask
function M.enter(ask) float.enter(float.visible(ask.field) and ask.field or ask.float) end

--- Ends the question: no window of it is left, and no key can answer it any more.
---@param ask agentchat.Ask
function M.close(ask)
  ask.over = true
  float.close(ask.field)
  float.close(ask.float)
end

return M
