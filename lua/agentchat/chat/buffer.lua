--- The buffer of a chat: options, `:edit` and unloading, and the user's changes.
local apply = require('agentchat.chat.apply')
local completion = require('agentchat.prompt.completion')
local draft = require('agentchat.prompt.draft')
local folds = require('agentchat.ui.folds')
local highlighter = require('agentchat.transcript.highlighter')
local highlights = require('agentchat.highlights')
local host = require('agentchat.host.process')
local keymaps = require('agentchat.chat.keymaps')
local marks = require('agentchat.transcript.marks')
local messages = require('agentchat.transcript.messages')
local notify = require('agentchat.notify')
local paste = require('agentchat.prompt.paste')
local prompt = require('agentchat.prompt.region')
local registry = require('agentchat.chat.registry')
local undo = require('agentchat.prompt.undo')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api
local group = api.nvim_create_augroup('agentchat.buffer', {})
local redraws = api.nvim_create_namespace('agentchat.redraws')

---@type fun(chat: agentchat.Chat)
local on_gone

function M.on_gone(callback) on_gone = callback end

--- A new buffer of this name, or the one that a session file has left under it: its windows then
--- show the chat.
local function named(name)
  local buf = vim.fn.bufnr('^' .. name .. '$')
  local is_new = buf == -1
  if is_new then buf = api.nvim_create_buf(false, false) end
  vim.bo[buf].swapfile = false -- before it has a name, or it gets a swap file for a moment
  if is_new then api.nvim_buf_set_name(buf, name) end
  vim.fn.bufload(buf)
  return buf
end

function M.create(number)
  local buf = named(('agentchat://%d'):format(number))
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].buflisted = false
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].modeline = false
  vim.bo[buf].undolevels = vim.go.undolevels
  vim.bo[buf].textwidth = 0
  vim.bo[buf].formatlistpat = [[^\s*\%(\d\+[.)]\|[-*+>]\)\s\+]]
  vim.bo[buf].omnifunc = "v:lua.require'agentchat.prompt.completion'.omni"
  return buf
end

--- The current window shows the chat: one that did not before has neither options nor folds.
function M.set_up_window(chat)
  local win = api.nvim_get_current_win()
  window.set_options(win)
  vim.w[win].agentchat_buf = chat.buf
  folds.restore(win, messages.folds(chat))
end

--- The user changed the text: folds that went with lines of the transcript come back with them.
local function on_change(chat)
  local by_user = chat.undo.tick ~= api.nvim_buf_get_changedtick(chat.buf)
  prompt.on_change(chat)
  local row, before = marks.header(chat), chat.header_row or 0
  chat.header_row = row
  if by_user and row < before then chat.has_lost_lines = true end
  if by_user and row > before and chat.has_lost_lines then
    chat.has_lost_lines = nil
    for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
      folds.restore(win, messages.folds(chat))
    end
  end
  registry.announce('moved', chat)
end

--- Keeps what was not sent for the next time the chat is resumed.
local function keep_draft(chat)
  if not draft.save(draft.id_of(chat), prompt.text(chat)) then
    notify.warn('the unsent prompt could not be kept')
  end
end

--- A buffer that is unloaded keeps its text and marks for the moment: `:edit` reads it again at once.
local function on_unload(chat)
  keep_draft(chat)
  local lines = api.nvim_buf_get_lines(chat.buf, 0, -1, false)
  chat.kept = { lines = lines, marks = marks.save(chat.buf) }
  vim.schedule(function()
    if not api.nvim_buf_is_loaded(chat.buf) then on_gone(chat) end
  end)
end

local function read_again(chat)
  local kept = chat.kept
  undo.write_untracked(chat.buf, function()
    marks.fill(chat, kept and kept.lines)
    if kept then marks.restore(chat.buf, kept.marks) end
  end)
  if not kept then chat.transcript = messages.new() end
  chat.kept = nil
  draft.take(draft.id_of(chat)) -- the buffer has it
  prompt.refresh(chat)
end

--- Highlights what comes into view: by scrolling, in another window, under a fold that opens.
local function listen_to_redraws()
  api.nvim_set_decoration_provider(redraws, {
    on_win = function(_, _, buf)
      local chat = registry.of(buf)
      if chat and chat.buf == buf then highlighter.refresh(chat) end
      return false
    end,
  })
end

local function listen_to_conceallevel()
  api.nvim_create_autocmd('OptionSet', {
    group = api.nvim_create_augroup('agentchat.conceallevel', {}),
    pattern = 'conceallevel',
    callback = function()
      local buf = api.nvim_get_current_buf()
      local chat = registry.of(buf)
      if chat and chat.buf == buf then highlighter.follow_conceallevel(chat) end
    end,
  })
end

local function listen(chat)
  local function on(event, callback)
    api.nvim_create_autocmd(event, { group = group, buffer = chat.buf, callback = callback })
  end
  on('BufWinEnter', function() M.set_up_window(chat) end)
  on({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, function() on_change(chat) end)
  on('InsertEnter', function()
    chat.undo.session = chat.undo.session + 1
    if host.is_ready() then host.send('commands', { chat = chat.id }) end
  end)
  -- What is attached may have changed meanwhile.
  on({ 'BufEnter', 'InsertLeave' }, function() prompt.refresh(chat) end)
  on({ 'CompleteDone', 'ModeChanged' }, function()
    vim.schedule(function() apply.catch_up(chat) end)
  end)
  on('BufReadCmd', function() read_again(chat) end)
  on('BufUnload', function() on_unload(chat) end)
  on('BufWipeout', function() on_gone(chat) end)
end

function M.adopt(chat)
  local buf = chat.buf
  vim.b[buf].agentchat_chat = chat.id
  highlights.setup()
  undo.write_untracked(buf, function() marks.fill(chat) end)
  chat.undo = undo.new(marks.prompt_text(chat))
  completion.register(chat)
  -- Before the user types: nvim-cmp looks for language servers when insert mode begins.
  vim.schedule(function() completion.attach(chat) end)
  paste.setup(registry.current)
  listen(chat)
  listen_to_redraws()
  listen_to_conceallevel()
  vim.bo[buf].filetype = 'agentchat'
  keymaps.attach(buf)
  registry.announce('buffer', chat, buf)
  prompt.refresh(chat)
end

return M
