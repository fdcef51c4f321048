--- The chats of this Neovim: opened, found, talked to, drawn.
local attendance = require('agentchat.host.ui_attached')
local bridge = require('agentchat.host.rpc')
local config = require('agentchat.config.settings')
local drawing = require('agentchat.chat.apply')
local host = require('agentchat.host.process')
local life = require('agentchat.life')
local notice = require('agentchat.notify')
local place = require('agentchat.remote')
local prompt = require('agentchat.prompt.region')
local status = require('agentchat.chat.status')
local transcript = require('agentchat.transcript.messages')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api

---@class agentchat.Chat
---@field id string uuid
---@field number integer the one in its name
---@field buf integer
---@field cwd string its workspace, fixed
---@field place? string a workspace on another machine, which counts instead
---@field status agentchat.Status
---@field outbox string[] sent, and not yet taken by Python
---@field names agentchat.Name[] what can be mentioned
---@field header integer extmark of the prompt's header
---@field transcript agentchat.Transcript
---@field undo agentchat.PromptUndo
---@field asked table<string, string> tools of the prompts that are not answered, by prompt
---@field waiting fun()[] writes that wait for a completion or a selection to end
---@field kept? { lines: string[], header?: integer } of an unloaded buffer
---@field saved? { source: string } until Python has been told what to go on with

---@type table<string, agentchat.Chat>
local chats = {}
local opened = 0

---@param id? string
---@return agentchat.Chat?
function M.get(id) return id and chats[id] or nil end

--- The chat a buffer belongs to: its own, or one of its floats.
---@param buf integer
---@return agentchat.Chat?
function M.of(buf) return api.nvim_buf_is_valid(buf) and M.get(vim.b[buf].agentchat_chat) or nil end

--- Id of the chat the user is in.
---@return string?
function M.current()
  local chat = M.of(api.nvim_get_current_buf())
  return chat and chat.id
end

---@return agentchat.Chat[] in the order they were opened
function M.all()
  local all = vim.tbl_values(chats)
  table.sort(all, function(a, b) return a.number < b.number end)
  return all
end

--- The chat a command is about: the one the user is in, else the only one shown in this tab.
---@return agentchat.Chat?
function M.near()
  local here = M.of(api.nvim_get_current_buf())
  if here then return here end
  local shown = vim.iter(M.all()):filter(function(chat) return window.shown(chat.buf) end):totable()
  return #shown == 1 and shown[1] or nil
end

local function announce(chat)
  -- The window is there before the host is started, which takes as long.
  if not host.is_ready() then return vim.schedule(host.ensure) end
  bridge.send('open', {
    chat = chat.id,
    buf = chat.buf,
    cwd = chat.cwd,
    place = chat.place,
    settings = config.get(chat.buf),
    saved = chat.saved,
  })
  chat.saved = nil
end

--- Tells a host that has just started of all chats.
function M.announce()
  attendance.follow()
  vim.iter(M.all()):each(announce)
end

--- A random name for a chat, a version 4 UUID.
local function uuid()
  local hex = vim.uv.random(16):gsub('.', function(c) return ('%02x'):format(c:byte()) end)
  return (hex:gsub('^(........)(....).(...).(...)(............)$', '%1-%2-4%3-a%4-%5'))
end

---@class agentchat.Saved a chat on disk
---@field chat string uuid
---@field cwd string its workspace, on this machine or another
---@field fork? boolean go on in a copy

--- The place of a saved chat that is on another machine.
local function place_of(saved) return place.parse(saved and saved.cwd) and saved.cwd or nil end

--- Makes a chat and its buffer; shows nothing.
---@param saved? agentchat.Saved to go on with
---@param where? string its workspace on another machine
---@return agentchat.Chat
function M.new(saved, where)
  opened = opened + 1
  local buf = require('agentchat.chat.buffer').create(opened)
  local source = saved and saved.fork and saved.chat or nil
  local chat = {
    id = saved and not source and saved.chat or uuid(),
    number = opened,
    buf = buf,
    cwd = saved and not place_of(saved) and saved.cwd or vim.fn.getcwd(-1, 0),
    place = saved and place_of(saved) or where,
    saved = saved and { source = source or '' },
    status = status.new(config.get(buf).mode),
    outbox = {},
    asked = {},
    waiting = {},
    names = require('agentchat.prompt.mentions').BUILTIN,
    transcript = transcript.new(),
  }
  chats[chat.id] = chat
  require('agentchat.chat.buffer').adopt(chat)
  return chat
end

---@class agentchat.OpenOpts
---@field prompt? string sent at once
---@field new? boolean even if this tab has a chat
---@field workspace? string one on another machine, as `ssh://[user@]host[:port]/path`
---@field mods? vim.api.keyset.cmd.mods

--- The chat this tab has: shown now, or shown here last.
local function of_tab()
  local near = M.near()
  if near then return near end
  local shown = vim.iter(M.all()):filter(function(chat) return window.shown(chat.buf) end):totable()
  return shown[#shown] or M.get(vim.t.agentchat_chat)
end

--- Goes to a chat's window in this tab, opened if there is none.
local function show(chat, mods)
  local win = window.shown(chat.buf)
  vim.t.agentchat_chat = chat.id
  if win then return api.nvim_set_current_win(win) end
  window.split(chat.buf, mods)
  -- Inside an autocommand of the user's no other event says that the window shows the chat.
  if vim.wo.winbar == '' then require('agentchat.chat.buffer').shown(chat) end
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(chat.buf), 0 })
end

--- Shows a chat and goes to its prompt.
---@param old? agentchat.Chat one that is open
---@param saved? agentchat.Saved what a new one goes on with
---@param mods? vim.api.keyset.cmd.mods
---@param where? string the workspace of a new one, if on another machine
---@return agentchat.Chat
local function enter(old, saved, mods, where)
  local chat = old or M.new(saved, where)
  show(chat, mods)
  if not old then
    life.tell(chat, 'AgentChatOpened', {})
    announce(chat)
  end
  return chat
end

--- Shows a chat, goes to its prompt, and sends if there is something to send.
---@param opts? agentchat.OpenOpts
---@return agentchat.Chat
function M.open(opts)
  opts = opts or {}
  local old = not opts.new and of_tab() or nil
  if old and opts.workspace and old.place ~= opts.workspace then old = nil end
  local where = opts.workspace or config.get().workspace
  local chat = enter(old, nil, opts.mods, where)
  if (opts.prompt or '') ~= '' then M.send(chat, opts.prompt) end
  return chat
end

--- Goes on with a chat on disk. One that is open here is shown, unless a copy is wanted.
---@param saved agentchat.Saved
---@return agentchat.Chat
function M.resume(saved) return enter(not saved.fork and M.get(saved.chat) or nil, saved) end

--- Takes a chat away that could not be opened again; Python calls it.
---@param id string
function M.discard(id)
  local chat = M.get(id)
  if chat then api.nvim_buf_delete(chat.buf, { force = true }) end
end

--- Sends a text as if it had been typed. It is shown at once and runs when Python has taken it.
---@param chat agentchat.Chat
---@param text string
function M.send(chat, text)
  if not text:find('%S') then
    return notice.warn('the prompt is empty: type below the last header')
  end
  table.insert(chat.outbox, text)
  status.sent(chat)
  drawing.refresh(chat)
  bridge.send('send', {
    chat = chat.id,
    text = text,
    settings = config.get(chat.buf),
    captured = require('agentchat.prompt.context').capture(chat, text),
    attended = attendance.now(),
  })
end

--- Sends what stands in the prompt.
---@param chat agentchat.Chat
function M.send_prompt(chat) M.send(chat, prompt.take(chat)) end

local function give_back(chat)
  local texts = chat.outbox
  chat.outbox = {}
  if not api.nvim_buf_is_loaded(chat.buf) then return end
  drawing.soon(chat, function() prompt.give_back(chat, texts) end)
end

--- Gives back what Python could not take; Python calls it.
---@param id string
function M.refuse(id)
  local chat = M.get(id)
  if not chat then return end
  give_back(chat)
  status.refused(chat)
  drawing.refresh(chat)
end

--- Stops request, tools and queue. What was not delivered yet goes back to the prompt.
---@param chat agentchat.Chat
function M.stop(chat)
  give_back(chat)
  if host.is_ready() then return bridge.send('stop', { chat = chat.id }) end
  host.forget(chat.id)
  status.refused(chat)
  drawing.refresh(chat)
end

--- Draws a batch of operations of Python's.
---@param id string
---@param ops any[]
function M.apply(id, ops)
  local chat = M.get(id)
  if chat and api.nvim_buf_is_loaded(chat.buf) then drawing.apply(chat, ops) end
end

--- Lists what a chat remembers; Python calls it.
---@param id string
---@param items agentchat.Grant[]
function M.list_approvals(id, items)
  local chat = M.get(id)
  if chat then require('agentchat.approval.grants').list(chat, items) end
end

--- Ends all that only Python could go on with.
---@param line string why, for the transcript
function M.host_lost(line)
  for _, chat in ipairs(M.all()) do
    require('agentchat.approval.requests').close_all(chat.id)
    require('agentchat.review.list').close_all(chat.id)
    require('agentchat.ask_user').close_all(chat.id)
    require('agentchat.approval.rules').close_all(chat.id)
    give_back(chat)
    local running = chat.status.state ~= 'idle'
    status.lost(chat)
    drawing.abandon(chat, running and line or nil)
    life.lost(chat, running)
  end
end

--- Forgets a chat whose buffer is gone.
---@param chat agentchat.Chat
function M.close(chat)
  if not chats[chat.id] then return end
  chats[chat.id] = nil
  require('agentchat.ask_user').close_all(chat.id)
  require('agentchat.approval.requests').close_all(chat.id)
  require('agentchat.review.list').close_all(chat.id)
  require('agentchat.approval.rules').close_all(chat.id)
  host.forget(chat.id)
  if host.is_ready() then bridge.send('closed', { chat = chat.id }) end
end

return M
