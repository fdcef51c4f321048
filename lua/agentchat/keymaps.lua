--- What the <Plug> maps do.
local lazy = require('agentchat.lazy')
local actions = require('agentchat.chat.actions')
local ask_user = lazy('agentchat.ask_user')
local chat_keymaps = require('agentchat.chat.keymaps')
local code = lazy('agentchat.chat.code')
local commands = require('agentchat.commands')
local fork = lazy('agentchat.sessions.fork')
local goto_file = lazy('agentchat.chat.goto_file')
local marks = require('agentchat.transcript.marks')
local messages = require('agentchat.transcript.messages')
local recall = require('agentchat.prompt.recall')
local registry = require('agentchat.chat.registry')
local requests = lazy('agentchat.approval.requests')
local review = lazy('agentchat.review.list')
local undo = require('agentchat.prompt.undo')

local M = {}

local api = vim.api

local function with_current(action)
  return function()
    local chat = registry.current()
    if chat then action(chat) end
  end
end

--- Runs `action` for the chat a command would be about; without one the user is warned.
local function with_near(action)
  return function()
    local chat = commands.chat()
    if chat then action(chat) end
  end
end

--- Does it as often as the count says, or until it changes nothing any more.
local function repeated(action)
  return with_current(function(chat)
    for _ = 1, vim.v.count1 do
      local tick = api.nvim_buf_get_changedtick(chat.buf)
      action(chat)
      if api.nvim_buf_get_changedtick(chat.buf) == tick then return end
    end
  end)
end

local function jump(step)
  return with_current(function(chat)
    local row, rows = vim.fn.line('.') - 1, messages.header_rows(chat)
    local ahead = vim.iter(rows):filter(function(at) return (at - row) * step > 0 end):totable()
    local count = math.min(vim.v.count1, #ahead)
    row = ahead[step > 0 and count or #ahead - count + 1] or row
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { row + 1, 0 })
  end)
end

local function resolve(action)
  return with_near(function(chat) review.resolve(chat.id, action) end)
end

function M.open() actions.open() end

function M.new() actions.open({ new = true }) end

M.chats = actions.select
M.next_chat = with_current(function(chat) actions.cycle(chat, vim.v.count1) end)
M.previous_chat = with_current(function(chat) actions.cycle(chat, -vim.v.count1) end)

function M.approval()
  local chat = registry.current()
  if ask_user.focus(chat and chat.id) then return end
  requests.focus(chat and chat.id)
end

--- Answers the pending approval request, once it has been visible for a while.
---@param choice 'always'|'accept'|'reject'|'cancel'|'try'
function M.answer(choice) requests.press(choice) end

M.send = with_near(actions.send_prompt)
M.resend = with_near(actions.resend)

--- What an operator in the prompt takes with `gg`: the prompt, and never the transcript.
M.prompt_top = with_current(function(chat)
  local first = marks.header(chat) + 2
  local is_within = vim.fn.line('.') >= first and vim.v.count == 0 and vim.v.operator ~= 'y'
  vim.cmd(('normal! V%dgg'):format(is_within and first or vim.v.count1))
end)

--- In insert mode the key also does what it always does there, when there is nothing to stop.
M.stop = with_near(function(chat)
  local typing = api.nvim_get_mode().mode:find('^i')
  if chat.status.state == 'idle' and typing then return vim.cmd.stopinsert() end
  actions.stop(chat)
end)

--- Recalls an earlier prompt, or else does what the key always does.
local function recalled(step, key)
  return function()
    local chat = registry.current()
    if chat and recall.go(chat, step) then return end
    local count = vim.v.count > 0 and tostring(vim.v.count) or ''
    api.nvim_feedkeys(count .. vim.keycode(key), 'ni', false)
  end
end

M.older_prompt = recalled(-1, '<Up>')
M.newer_prompt = recalled(1, '<Down>')
M.review = with_near(function(chat) review.focus(chat.id) end)
M.fork = with_current(fork.at_cursor)
M.file = with_current(goto_file.open)
M.yank_code = with_current(code.yank)
M.insert_code = with_current(code.insert)
M.next = jump(1)
M.previous = jump(-1)
M.undo = repeated(undo.undo)
M.redo = repeated(undo.redo)
M.help = function() chat_keymaps.help(registry.current()) end
M.apply = resolve('apply')
M.discard = resolve('discard')

return M
