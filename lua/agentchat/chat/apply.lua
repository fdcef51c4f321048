--- Applies the drawing operations of Python, a batch at a time.
local activity = require('agentchat.chat.activity')
local events = require('agentchat.events')
local messages = require('agentchat.transcript.messages')
local notify = require('agentchat.notify')
local prompt = require('agentchat.prompt.region')
local recall = require('agentchat.prompt.recall')
local registry = require('agentchat.chat.registry')
local status = require('agentchat.chat.status')
local undo = require('agentchat.prompt.undo')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api

--- Python has accepted a text. One that was given back to the prompt meanwhile is in no queue.
local function acknowledge(chat, text)
  for i, waiting in ipairs(chat.outbox) do
    if waiting == text then return table.remove(chat.outbox, i) end
  end
end

local MOST_WORDS = 4000 -- bytes of what the model said last

---@class agentchat.Words
---@field text string the newest text of the model
---@field calls table<string, true> ids of the blocks below it

local function hear(chat, text)
  local words = chat.words
  if not words or next(words.calls) then words = { text = '', calls = {} } end
  words.text = (words.text .. text):sub(-MOST_WORDS)
  chat.words = words
end

---@type table<string, fun(chat: agentchat.Chat, ...)>
local WRITES = {
  message = function(chat, role, text)
    if role == 'user' then chat.words = nil end
    if role == 'user' then
      acknowledge(chat, text)
      recall.add(chat, text)
      registry.set_title(chat, text or '')
    end
    messages.message(chat, role, text or '')
  end,
  text = function(chat, text)
    hear(chat, text)
    messages.text(chat, text)
  end,
  reasoning = messages.reasoning,
  thought = messages.thought,
  finish = messages.finish,
  activity = function(chat, text, seconds) chat.activity = { text = text, delay = seconds * 1000 } end,
  block = function(chat, id, fields)
    if chat.words then chat.words.calls[id] = true end
    messages.block(chat, id, fields)
  end,
  recall = function(chat, texts, title)
    recall.restore(chat, texts)
    registry.set_title(chat, title)
  end,
  todo = function(chat, items)
    chat.todo = items
    prompt.refresh(chat)
  end,
}

---@type table<string, fun(chat: agentchat.Chat, ...)>
local REPORTS = {
  status = status.update,
  event = function(chat, name, data) events.fire_chat(chat, name, data or {}) end,
  notify = function(_, level, text) (notify[level] or notify.info)(text) end,
  tools = function(chat, names)
    chat.names = names
    prompt.refresh(chat)
  end,
}

local function draw(chat, functions, op)
  local act = functions[op[1]]
  if not act then return end
  local ok, err = pcall(act, chat, unpack(op, 2))
  if not ok then notify.error(('drawing %s failed: %s'):format(op[1], err)) end
end

--- Writes to the buffer: nothing of it can be undone, and only windows at the end scroll.
local function write(chat, act)
  local followers, queued = window.at_end(chat.buf), #chat.outbox
  activity.reset(chat)
  undo.write_as_agent(chat, act)
  window.follow(chat.buf, followers)
  if chat.activity then activity.draw(chat) end
  if #chat.outbox ~= queued then prompt.refresh(chat) end
  registry.announce('moved', chat)
end

---@class agentchat.Write
---@field act fun()
---@field moves_all boolean? whether it moves every line, and not only those of the prompt

--- Runs what writes to the chat, as soon as no line that it moves is held.
---@param moves_all? boolean it moves every line
function M.soon(chat, act, moves_all)
  local next = { act = act, moves_all = moves_all }
  if #chat.waiting > 0 or undo.is_held(chat, moves_all) then
    return table.insert(chat.waiting, next)
  end
  act()
end

function M.catch_up(chat)
  local function can_write()
    local next = chat.waiting[1]
    return next and api.nvim_buf_is_loaded(chat.buf) and not undo.is_held(chat, next.moves_all)
  end
  while can_write() do
    table.remove(chat.waiting, 1).act()
  end
end

--- Writes older messages above the others, once nothing of the chat is selected.
---@param part agentchat.Part
---@param on_done fun()
function M.prepend(chat, ops, part, on_done)
  local function draw_all()
    vim.iter(ops):each(function(op) draw(chat, messages, op) end)
  end
  M.soon(chat, function()
    window.write_above(chat.buf, function()
      undo.write_as_agent(chat, function() messages.prepend(chat, part, draw_all) end)
    end)
    on_done()
  end, true)
end

--- Runs operations: first what is drawn, in one write, then the reports of it, each kind in order.
local function apply(chat, ops)
  local writes, reports = {}, {}
  for _, op in ipairs(ops) do
    table.insert(REPORTS[op[1]] and reports or writes, op)
  end
  if #writes > 0 then
    write(chat, function()
      for _, op in ipairs(writes) do
        chat.activity = nil -- which was before this
        draw(chat, WRITES, op)
      end
    end)
  end
  for _, op in ipairs(reports) do
    draw(chat, REPORTS, op)
  end
end

function M.apply(chat, ops)
  M.soon(chat, function() apply(chat, ops) end)
end

function M.refresh(chat)
  if api.nvim_buf_is_loaded(chat.buf) then prompt.refresh(chat) end
end

--- Ends what is being drawn; a turn that was cut off shows that.
function M.abandon(chat, line)
  if not api.nvim_buf_is_loaded(chat.buf) then return end
  local function close()
    for _, block in ipairs(messages.abandon(chat)) do
      events.fire_lost_call(chat, block, block.state == 'failed' and 'error' or 'cancelled')
    end
    if line then messages.message(chat, 'error', line) end
  end
  M.soon(chat, function() write(chat, close) end)
end

return M
