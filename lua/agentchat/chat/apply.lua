--- Applies the drawing operations of Python, a batch at a time.
local activity = require('agentchat.chat.activity')
local events = require('agentchat.events')
local marks = require('agentchat.transcript.marks')
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

---@type table<string, fun(chat: agentchat.Chat, ...)>
local WRITES = {
  message = function(chat, role, text)
    if role == 'user' then
      acknowledge(chat, text)
      recall.add(chat, text)
      registry.set_title(chat, text or '')
    end
    messages.message(chat, role, text or '')
  end,
  text = messages.text,
  reasoning = messages.reasoning,
  thought = messages.thought,
  finish = messages.finish,
  activity = function(chat, text, seconds) chat.activity = { text = text, delay = seconds * 1000 } end,
  block = messages.block,
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

local function run(chat, op)
  local act = WRITES[op[1]] or REPORTS[op[1]]
  if not act then return end
  local ok, err = pcall(act, chat, unpack(op, 2))
  if not ok then notify.error(('drawing %s failed: %s'):format(op[1], err)) end
end

--- Writes to the buffer: nothing of it can be undone, and only windows at the end scroll.
local function write(chat, act)
  local views, header, queued = window.at_end(chat.buf), marks.header(chat), #chat.outbox
  activity.reset(chat)
  undo.write_as_agent(chat, act)
  window.follow(chat.buf, views, header)
  if chat.activity then activity.draw(chat) end
  if #chat.outbox ~= queued then prompt.refresh(chat) end
end

--- Runs what writes to the chat, as soon as no line of it is held.
function M.soon(chat, act)
  if #chat.waiting > 0 or undo.is_held(chat) then return table.insert(chat.waiting, act) end
  act()
end

function M.catch_up(chat)
  while #chat.waiting > 0 and api.nvim_buf_is_loaded(chat.buf) and not undo.is_held(chat) do
    table.remove(chat.waiting, 1)()
  end
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
        run(chat, op)
      end
    end)
  end
  for _, op in ipairs(reports) do
    run(chat, op)
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
    vim.iter(messages.abandon(chat)):each(function(block) events.fire_lost_call(chat, block) end)
    if line then messages.message(chat, 'error', line) end
  end
  M.soon(chat, function() write(chat, close) end)
end

return M
