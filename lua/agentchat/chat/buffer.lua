--- The buffer of a chat: its options, its life, and what happens when the user types in it.
local prompt = require('agentchat.prompt.region')
local regions = require('agentchat.transcript.marks')
local undo = require('agentchat.prompt.undo')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api
local group = api.nvim_create_augroup('agentchat.buffer', {})

--- Makes the buffer of a new chat.
---@param number integer
---@return integer
function M.create(number)
  local buf = api.nvim_create_buf(true, false)
  api.nvim_buf_set_name(buf, ('agentchat://%d'):format(number))
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  vim.bo[buf].modeline = false
  vim.bo[buf].undolevels = vim.go.undolevels
  vim.bo[buf].textwidth = 0
  vim.bo[buf].omnifunc = "v:lua.require'agentchat.prompt.completion'.omni"
  return buf
end

local function chats() return require('agentchat.chat.actions') end

---@param chat agentchat.Chat
---@param event string|string[]
---@param callback fun(event: table)
local function on(chat, event, callback)
  api.nvim_create_autocmd(event, { group = group, buffer = chat.buf, callback = callback })
end

--- The current window shows the chat: one that did not before has neither options nor folds.
---@param chat agentchat.Chat
function M.shown(chat)
  local win = api.nvim_get_current_win()
  window.dress(win)
  require('agentchat.ui.folds').restore(win, require('agentchat.transcript.messages').folds(chat))
end

--- A buffer that is unloaded keeps its text for the moment: `:edit` reads it again at once.
local function unloaded(chat)
  chat.kept = {
    lines = api.nvim_buf_get_lines(chat.buf, 0, -1, false),
    header = regions.find(chat.buf, chat.header),
  }
  vim.schedule(function()
    if not api.nvim_buf_is_loaded(chat.buf) then chats().close(chat) end
  end)
end

local function read_again(chat)
  local kept = chat.kept or {}
  undo.beyond(chat.buf, function() regions.fill(chat, kept.lines, kept.header) end)
  chat.transcript = require('agentchat.transcript.messages').new()
  prompt.refresh(chat)
end

local function listen(chat)
  on(chat, 'BufWinEnter', function() M.shown(chat) end)
  on(chat, { 'TextChanged', 'TextChangedI', 'TextChangedP' }, function() prompt.on_change(chat) end)
  on(chat, 'InsertEnter', function()
    chat.undo.session = chat.undo.session + 1
    if chat.undo.session == 1 then
      vim.schedule(function() require('agentchat.prompt.completion').attach(chat.buf) end)
    end
  end)
  on(chat, { 'CompleteDone', 'ModeChanged' }, function()
    vim.schedule(function() require('agentchat.chat.apply').catch_up(chat) end)
  end)
  on(chat, 'BufReadCmd', function() read_again(chat) end)
  on(chat, 'BufUnload', function() unloaded(chat) end)
  on(chat, 'BufWipeout', function() chats().close(chat) end)
end

--- Gives a chat's buffer its text, keys and listeners.
---@param chat agentchat.Chat
function M.adopt(chat)
  local buf = chat.buf
  vim.b[buf].agentchat_chat = chat.id
  require('agentchat.highlights').setup()
  undo.beyond(buf, function() regions.fill(chat) end)
  chat.undo = undo.new(prompt.raw(chat))
  listen(chat)
  vim.bo[buf].filetype = 'agentchat'
  require('agentchat.keymaps').attach(buf)
  require('agentchat.commands').attach_resolve(buf, chat.id)
  prompt.refresh(chat)
end

return M
