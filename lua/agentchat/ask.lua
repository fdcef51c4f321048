-- The float of one question. It takes no focus by itself and is answered at most once, by one key
-- that a person pressed after it was drawn and had settled.

local arguments = require('agentchat.arguments')
local diff = require('agentchat.diff')
local float = require('agentchat.float')
local keypress = require('agentchat.keypress')
local notice = require('agentchat.notice')
local paper = require('agentchat.paper')
local question = require('agentchat.question')
local reason = require('agentchat.reason')
local screen = require('agentchat.screen')
local settle = require('agentchat.settle')
local sheet = require('agentchat.sheet')
local sides = require('agentchat.sides')

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
---@field form 'float'|'split'|'tab'
---@field view? agentchat.Float|agentchat.Sheet none while hidden
---@field moving boolean it is about to be shown elsewhere
---@field page? agentchat.Doc what is drawn
---@field field? agentchat.Float where the reason or the arguments are typed
---@field over boolean answered or no longer asked
---@field detailed boolean
---@field settle? agentchat.Settle since it was drawn
---@field reason string what was typed so far
---@field arguments string as the user left them

M.NO_ALWAYS = 'Always is not offered for this call: accept or reject it.'

M.NO_RULE = 'No rule is offered for this call.'
M.WHOLE = 'A rule says nothing of single hunks: answer this question first, or keep them all.'

local Z = 60

--- A question that is not shown yet.
---@param spec agentchat.AskSpec
---@return agentchat.Ask
function M.new(spec)
  return {
    spec = spec,
    form = 'float',
    moving = false,
    over = false,
    detailed = false,
    reason = '',
    arguments = spec.prompt.arguments,
  }
end

---@param ask agentchat.Ask
local function room(ask) return ask.form == 'float' and float or sheet end

local draw

---@param ask agentchat.Ask
---@return agentchat.DiffSpec?
local function diff_spec(ask)
  local prompt = ask.spec.prompt
  if not (ask.view and ask.page) then return nil end
  return {
    chat = ask.spec.chat,
    id = prompt.id,
    subject = prompt.subject or prompt.id,
    title = prompt.title,
    buf = ask.view.buf,
    doc = ask.page,
    changed = function() room(ask).refit(ask.view) end,
    turn = function()
      sides.turn(room(ask), ask.view)
      draw(ask)
    end,
    typing = function(field) ask.field = field end,
  }
end

---@param ask agentchat.Ask
function draw(ask)
  local page = question.page(ask.spec.prompt, ask.detailed)
  sides.draw(room(ask), ask.view, page, ask.page, function(drawn)
    ask.page = drawn
    diff.mark(diff_spec(ask))
    room(ask).refit(ask.view)
  end)
end

---@param ask agentchat.Ask
---@return string
local function way_in(ask)
  local inside = room(ask).focused(ask.view) or float.focused(ask.field)
  return inside and '' or ask.spec.way_in()
end

---@param ask agentchat.Ask
---@return agentchat.Tally?
local function tally(ask)
  local prompt = ask.spec.prompt
  return diff.tally(ask.spec.chat, prompt.subject or prompt.id, prompt.doc)
end

---@param ask agentchat.Ask
local function resized(ask)
  if ask.page and sides.stale(room(ask), ask.view, ask.page) then draw(ask) end
end

---@param ask agentchat.Ask
local function closed(ask)
  keypress.deafen()
  if not (ask.over or ask.moving) then ask.spec.hidden() end
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
      return question.footer(ask.spec.prompt, width, part, line, way_in(ask), tally(ask))
    end,
    resized = function() resized(ask) end,
    closed = function() closed(ask) end,
  }
end

---@param ask agentchat.Ask
---@return agentchat.SheetSpec
local function sheet_spec(ask)
  return {
    form = ask.form,
    filetype = 'agentchat-question',
    chat = ask.spec.chat,
    title = function(width) return question.heading(ask.spec.prompt, width, tally(ask)) end,
    resized = function() resized(ask) end,
    closed = function() closed(ask) end,
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
  R = function(ask)
    if not ask.spec.prompt.rule then return notice.warn(M.NO_RULE) end
    local kept = tally(ask)
    if kept and not kept.whole then return notice.warn(M.WHOLE) end
    require('agentchat.rule').propose(ask.spec.chat)
  end,
  ['?'] = function(ask)
    ask.detailed = not ask.detailed
    draw(ask)
  end,
  q = function(ask) room(ask).close(ask.view) end,
}
local DIGITS = '123456789' -- which answer nothing here, whatever they do elsewhere

---@param ask agentchat.Ask
---@param action fun()
---@param key? string that answers
local function gate(ask, action, key)
  if not ask.over and settle.done(ask.settle) and keypress.deliberate(key) then action() end
end

---@param ask agentchat.Ask
local function cycle(ask)
  local spot = sides.spot(ask.view.win, ask.page)
  if M.show(ask, float.NEXT[ask.form]) then
    M.enter(ask)
    sides.go(ask.view.win, ask.page, spot)
  end
end

---@param ask agentchat.Ask
local function map_keys(ask)
  local buf = ask.view.buf
  local function map(key, action) vim.keymap.set('n', key, action, { buffer = buf, nowait = true }) end
  paper.deaden(buf)
  for digit in DIGITS:gmatch('.') do
    map(digit, keypress.nothing)
  end
  map('ga', keypress.nothing) -- which leads in here
  for key, act in pairs(KEYS) do
    map(key, function()
      gate(ask, function() act(ask) end, key)
    end)
  end
  map('<Esc>', function() room(ask).leave(ask.view) end)
  if ask.spec.prompt.kind ~= 'diff' then return end
  map('s', function()
    gate(ask, function() cycle(ask) end)
  end)
  diff.map(buf, function() return diff_spec(ask) end, function(action) gate(ask, action) end)
end

--- Whether the user sees the question: it is shown in this tab.
---@param ask agentchat.Ask
---@return boolean
function M.visible(ask) return room(ask).visible(ask.view) end

--- Whether it has a place: it is shown in this tab, or the user has put it into one of its own.
---@param ask agentchat.Ask
---@return boolean
function M.placed(ask) return M.visible(ask) or (ask.form ~= 'float' and sheet.open_now(ask.view)) end

--- The row of the screen where its float begins, from 0.
---@param ask agentchat.Ask
---@return integer?
function M.row(ask)
  if ask.form ~= 'float' or not M.visible(ask) then return nil end
  return vim.api.nvim_win_get_config(ask.view.win).row
end

---@param ask agentchat.Ask
local function close(ask)
  ask.moving = true
  settle.stop(ask.settle)
  room(ask).close(ask.view)
  ask.view, ask.page, ask.settle, ask.moving = nil, nil, nil, false
end

--- Draws the question in this tab, anew: keys are ignored until it has settled.
---@param ask agentchat.Ask
---@param form? 'float'|'split'|'tab'
---@return boolean whether a window could be opened
function M.show(ask, form)
  close(ask)
  ask.form = form or 'float'
  if ask.form == 'float' then
    ask.view = float.open(float_spec(ask))
  else
    ask.view = sheet.open(sheet_spec(ask))
  end
  if not ask.view then return false end
  map_keys(ask)
  vim.bo[ask.view.buf].formatlistpat = question.lead(ask.spec.prompt)
  keypress.listen()
  draw(ask)
  vim.cmd.redraw()
  ask.settle = settle.start(ask.spec.delay())
  return true
end

--- Tells again how to get in, after the user went elsewhere.
---@param ask agentchat.Ask
function M.refresh(ask)
  if ask.form == 'float' and float.open_now(ask.view) then float.redraw_footer(ask.view) end
end

--- Takes the user into the question, or into what they were typing for it.
---@param ask agentchat.Ask
function M.enter(ask)
  if float.visible(ask.field) then return float.enter(ask.field) end
  room(ask).enter(ask.view)
end

--- Ends the question: no window of it is left, and no key can answer it any more.
---@param ask agentchat.Ask
function M.close(ask)
  ask.over = true
  float.close(ask.field)
  close(ask)
end

return M
