--- What a user does with chats: open, send, stop, resume, close.
local apply = require('agentchat.chat.apply')
local attachments = require('agentchat.prompt.attachments')
local buffer = require('agentchat.chat.buffer')
local context = require('agentchat.prompt.context')
local draft = require('agentchat.prompt.draft')
local events = require('agentchat.events')
local host = require('agentchat.host.process')
local mentions = require('agentchat.prompt.mentions')
local messages = require('agentchat.transcript.messages')
local notify = require('agentchat.notify')
local placement = require('agentchat.chat.placement')
local prompt = require('agentchat.prompt.region')
local recall = require('agentchat.prompt.recall')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')
local settings = require('agentchat.config.settings')
local slash = require('agentchat.prompt.slash')
local status = require('agentchat.chat.status')
local tool_options = require('agentchat.config.tool_options')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api
local opened = 0
local SELECTION = '#selection'

local function announce(chat)
  -- The window is there before the host is started, which takes as long.
  if not host.is_ready() then return vim.schedule(host.ensure) end
  host.send('open', {
    chat = chat.id,
    buf = chat.buf,
    cwd = chat.cwd,
    place = chat.remote,
    settings = tool_options.sendable(chat.buf),
    saved = chat.saved,
    agent = chat.agent,
    partner = chat.partner,
    attended = host.has_ui(),
  })
  chat.saved, chat.agent = nil, nil
end

--- A random name for a chat, a version 4 UUID.
local function uuid()
  local hex = vim.uv.random(16):gsub('.', function(c) return ('%02x'):format(c:byte()) end)
  return (hex:gsub('^(........)(....).(...).(...)(............)$', '%1-%2-4%3-a%4-%5'))
end

---@class agentchat.Saved a chat on disk
---@field chat string uuid
---@field cwd string its workspace, on this machine or another
---@field fork? boolean continue in a copy
---@field requests? integer how many messages of the user the copy has, with what follows; else all
---@field prompt? string what the prompt of the copy contains
---@field title? string its first prompt

--- The workspace of a saved chat that is on another machine.
local function remote_of(saved) return remote.parse(saved and saved.cwd) and saved.cwd or nil end

--- Makes a chat and its buffer; shows nothing.
---@param saved? agentchat.Saved to resume
---@param url? string its workspace on another machine
---@param number? integer that a session file has kept for it
---@param partner? string the agent that it is with, instead of a model
function M.new(saved, url, number, partner)
  number = number or opened + 1
  opened = math.max(opened, number)
  local buf = buffer.create(number)
  local source = saved and saved.fork and saved.chat or nil
  local chat = {
    id = saved and not source and saved.chat or uuid(),
    number = number,
    title = saved and saved.title,
    buf = buf,
    cwd = saved and not remote_of(saved) and saved.cwd or vim.fn.getcwd(-1, 0),
    remote = saved and remote_of(saved) or url,
    partner = partner,
    saved = saved and { source = source or '', requests = saved.requests },
    resumed = saved ~= nil,
    status = status.new(settings.get(buf).mode),
    outbox = {},
    asked = {},
    waiting = {},
    attached = attachments.new(),
    names = mentions.BUILTIN,
    transcript = messages.new(),
    recall = recall.new(),
  }
  registry.add(chat)
  buffer.adopt(chat)
  local unsent = not source and draft.take(draft.id_of(chat))
  if unsent or (source and saved.prompt) then prompt.set(chat, unsent or saved.prompt) end
  return chat
end

---@class agentchat.OpenOpts
---@field prompt? string sent at once
---@field chat? agentchat.Chat in place of that of the tab
---@field new? boolean even if this tab has a chat
---@field partner? string the agent that the chat is with, instead of a model
---@field workspace? string one on another machine, as `ssh://[user@]host[:port]/path`
---@field selection? agentchat.Selection attached to the prompt
---@field mods? vim.api.keyset.cmd.mods

--- The chat this tab has: shown now, or shown here last.
local function chat_of_tab()
  local shown = registry.visible()
  return registry.near() or shown[#shown] or registry.get(vim.t.agentchat_chat)
end

--- Shows a chat in this tab, or in another one if the modifiers say so, and goes there.
---@param mods? vim.api.keyset.cmd.mods
function M.show(chat, mods)
  local is_new = not window.find(chat.buf)
  placement.show(chat.buf, mods)
  vim.t.agentchat_chat = chat.id
  -- Inside an autocommand of the user's, or for a buffer that is shown elsewhere, no event is fired
  -- when the window shows the chat.
  if not vim.wo.winbar:find('agentchat', 1, true) then buffer.set_up_window(chat) end
  if is_new then api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(chat.buf), 0 }) end
end

--- Shows the next chat in the place of one.
---@param step integer how many chats further; backwards if it is negative
function M.cycle(chat, step)
  local all = registry.all()
  if #all < 2 then return notify.info('no other chat: open one with :AgentChat!') end
  for i, other in ipairs(all) do
    if other == chat then return M.show(all[(i + step - 1) % #all + 1]) end
  end
end

--- Lets the user choose one of the open chats.
function M.select()
  local all = registry.all()
  if #all == 0 then return notify.info('no chat yet: open one with :AgentChat') end
  local opts = { prompt = 'Chats:', kind = 'agentchat.chats', format_item = registry.describe }
  vim.ui.select(all, opts, function(chat)
    if chat and registry.get(chat.id) then M.show(chat) end
  end)
end

--- Makes the chat of a buffer that is shown already.
---@param saved? agentchat.Saved to resume
function M.adopt(saved, url, number)
  local chat = M.new(saved, url, number)
  events.fire_chat(chat, 'AgentChatOpened', {})
  announce(chat)
  return chat
end

local function enter(old, saved, mods, url, partner)
  local chat = old or M.new(saved, url, nil, partner)
  M.show(chat, mods)
  if not old then
    events.fire_chat(chat, 'AgentChatOpened', {})
    announce(chat)
  end
  return chat
end

--- Attaches a selection to a text that is about to be sent, or else to the prompt.
---@return string text what to send
local function attach(chat, selection, text)
  chat.selection = selection
  if text:find(SELECTION, 1, true) then return text end
  if text ~= '' then return text .. ' ' .. SELECTION end
  local typed = prompt.text(chat)
  if not typed:find(SELECTION, 1, true) then
    prompt.set(chat, (typed ~= '' and typed .. ' ' or '') .. SELECTION .. ' ')
  end
  return ''
end

--- Shows a chat, goes to its prompt, and sends if there is something to send.
---@param opts? agentchat.OpenOpts
function M.open(opts)
  opts = opts or {}
  local old = opts.chat or (not opts.new and chat_of_tab() or nil)
  if old and opts.workspace and old.remote ~= opts.workspace then old = nil end
  if old and opts.partner and old.partner ~= opts.partner then old = nil end
  local url = opts.workspace or remote.place(settings.get().workspace)
  local partner = opts.partner or (not url and settings.get().agent) or nil
  local chat = enter(old, nil, opts.mods, url, partner)
  local text = opts.prompt or ''
  if opts.selection then text = attach(chat, opts.selection, text) end
  if text ~= '' then M.send(chat, text) end
  return chat
end

--- Opens a chat for the calls of another program's agent, beside what the user does.
---@param agent { agent: integer, name: string, cwd: string }
function M.open_for_agent(agent)
  local chat = M.new()
  chat.cwd, chat.agent = agent.cwd, agent.agent
  if not placement.show_beside(chat.buf) then
    notify.info(
      ('%s works in chat %d: see it with :buffer %d'):format(agent.name, chat.number, chat.buf)
    )
  end
  events.fire_chat(chat, 'AgentChatOpened', {})
  announce(chat)
end

--- Continues a chat on disk. One that is open here is shown, unless a copy is wanted.
function M.resume(saved) return enter(not saved.fork and registry.get(saved.chat) or nil, saved) end

--- Removes a chat that could not be opened again.
function M.discard(id)
  local chat = registry.get(id)
  if chat then api.nvim_buf_delete(chat.buf, { force = true }) end
end

--- Sends a text as if it had been typed. It is shown at once and runs when Python accepted it.
function M.send(chat, text)
  if not text:find('%S') then
    return notify.warn('the prompt is empty: type below the last header')
  end
  if slash.run(chat, text) then return recall.add(chat, text) end
  registry.set_title(chat, text)
  table.insert(chat.outbox, text)
  -- A chat that waits for an answer goes on waiting.
  if chat.status.state == 'idle' then status.set(chat, { state = 'running' }) end
  apply.refresh(chat)
  host.send('send', {
    chat = chat.id,
    text = text,
    settings = tool_options.sendable(chat.buf),
    captured = context.capture(chat, text),
    attended = host.has_ui(),
  })
  chat.selection = nil
  registry.announce('sent', chat, text)
end

--- Sends the last message of the user again.
function M.resend(chat)
  if chat.status.state ~= 'idle' then return notify.warn('the agent works: <C-c> stops it') end
  local last = chat.recall.texts[#chat.recall.texts]
  if not last then return notify.info('no message yet that could be sent again') end
  M.send(chat, last)
end

--- Takes back a text that was sent and that no request has carried yet.
function M.withdraw(chat, text)
  for i, waiting in ipairs(chat.outbox) do
    if waiting == text then
      table.remove(chat.outbox, i)
      host.send('withdraw', { chat = chat.id, text = text })
      return apply.refresh(chat)
    end
  end
end

function M.send_prompt(chat) M.send(chat, prompt.take(chat)) end

--- Proposes a summary of the older part of a chat.
---@param focus string what it must keep in particular; may be empty
function M.compact(chat, focus)
  host.send('compact', {
    chat = chat.id,
    focus = focus,
    settings = tool_options.sendable(chat.buf),
    attended = host.has_ui(),
  })
end

local function give_back(chat)
  local texts = chat.outbox
  chat.outbox = {}
  if not api.nvim_buf_is_loaded(chat.buf) then return end
  apply.soon(chat, function() prompt.give_back(chat, texts) end)
end

--- Gives back to the prompt what Python could not accept.
function M.refuse(id)
  local chat = registry.get(id)
  if not chat then return end
  give_back(chat)
  status.set(chat, { state = 'idle' })
  apply.refresh(chat)
end

--- Stops request, tools and queue. What was not delivered yet goes back to the prompt.
function M.stop(chat)
  give_back(chat)
  if host.is_ready() then return host.send('stop', { chat = chat.id }) end
  host.forget(chat.id)
  status.set(chat, { state = 'idle' })
  apply.refresh(chat)
end

function M.apply(id, ops)
  local chat = registry.get(id)
  if chat and api.nvim_buf_is_loaded(chat.buf) then apply.apply(chat, ops) end
end

--- Draws older messages above the others; Python draws the next ones then.
function M.prepend(id, ops, part)
  local chat = registry.get(id)
  if not chat or not api.nvim_buf_is_loaded(chat.buf) then return end
  apply.prepend(chat, ops, part, function() host.send('prepended', { chat = id }) end)
end

local function close(chat)
  if not registry.remove(chat) then return end
  registry.announce('ended', chat)
  host.forget(chat.id)
  if host.is_ready() then host.send('closed', { chat = chat.id }) end
  vim.schedule(function() -- a buffer that is being wiped out is no place for listeners
    for _, block in ipairs(messages.unfinished(chat)) do
      events.fire_lost_call(chat, block, 'cancelled')
    end
    events.fire_lost_turn(chat, chat.in_turn and 'cancelled' or nil)
  end)
end

--- Ends all that only Python could continue.
---@param line string why, for the transcript
local function on_host_lost(line)
  for _, chat in ipairs(registry.all()) do
    registry.announce('ended', chat)
    give_back(chat)
    local running = chat.status.state ~= 'idle'
    status.set(chat, { state = 'idle', prompts = 0, pending = 0 })
    apply.abandon(chat, running and line or nil)
    events.fire_lost_turn(chat, running and 'error' or nil)
  end
end

buffer.on_gone(close)
host.listen({
  ready = function() vim.iter(registry.all()):each(announce) end,
  lost = on_host_lost,
})

return M
