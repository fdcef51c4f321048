--- What the <Plug> maps do, and the default keys of a chat buffer.
local M = {}

local api = vim.api

---@class agentchat.Key
---@field modes string[]
---@field lhs string
---@field plug string
---@field about string

---@type agentchat.Key[]
local KEYS = {
  { modes = { 'n' }, lhs = '<CR>', plug = 'Send', about = 'send the prompt' },
  { modes = { 'n', 'i' }, lhs = '<C-s>', plug = 'Send', about = 'send the prompt' },
  { modes = { 'n', 'i' }, lhs = '<C-c>', plug = 'Stop', about = 'stop request, tools and queue' },
  { modes = { 'n' }, lhs = 'ga', plug = 'Approval', about = 'go to the pending approval' },
  { modes = { 'n' }, lhs = 'gr', plug = 'Review', about = 'go to the review of the preview' },
  { modes = { 'n' }, lhs = 'gf', plug = 'File', about = 'open the file under the cursor' },
  { modes = { 'n', 'x', 'o' }, lhs = ']]', plug = 'Next', about = 'next message' },
  { modes = { 'n', 'x', 'o' }, lhs = '[[', plug = 'Previous', about = 'previous message' },
  { modes = { 'n' }, lhs = 'g?', plug = 'Help', about = 'these keys' },
  { modes = { 'n' }, lhs = 'u', plug = 'PromptUndo', about = 'undo what you typed' },
  { modes = { 'n' }, lhs = '<C-r>', plug = 'PromptRedo', about = 'redo it' },
}

---@return agentchat.Chat?
local function here() return require('agentchat.chat.actions').of(api.nvim_get_current_buf()) end

--- The chat a key is about; without one the user is told.
---@return agentchat.Chat?
local function near() return require('agentchat.commands').chat() end

function M.open() require('agentchat.chat.actions').open() end

function M.new() require('agentchat.chat.actions').open({ new = true }) end

function M.send()
  local chat = near()
  if chat then require('agentchat.chat.actions').send_prompt(chat) end
end

--- In insert mode the key also does what it always does there, when there is nothing to stop.
function M.stop()
  local chat = near()
  if not chat then return end
  if chat.status.state == 'idle' and api.nvim_get_mode().mode:find('^i') then
    return vim.cmd.stopinsert()
  end
  require('agentchat.chat.actions').stop(chat)
end

function M.approval()
  local chat = here()
  if require('agentchat.ask_user').focus(chat and chat.id) then return end
  require('agentchat.approval.requests').focus(chat and chat.id)
end

function M.review()
  local chat = near()
  if chat then require('agentchat.review.list').focus(chat.id) end
end

function M.file()
  local chat = here()
  if chat then require('agentchat.chat.goto_file').open(chat) end
end

--- Goes to the header of a message.
---@param step 1|-1
local function jump(step)
  local chat = here()
  if not chat then return end
  local row, rows = vim.fn.line('.') - 1, require('agentchat.transcript.messages').header_rows(chat)
  for _ = 1, vim.v.count1 do
    local ahead = vim.iter(rows):filter(function(at) return (at - row) * step > 0 end):totable()
    row = (step > 0 and ahead[1] or ahead[#ahead]) or row
  end
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { row + 1, 0 })
end

function M.next() jump(1) end

function M.previous() jump(-1) end

function M.undo()
  local chat = here()
  if not chat then return end
  for _ = 1, vim.v.count1 do
    require('agentchat.prompt.undo').undo(chat)
  end
end

function M.redo()
  local chat = here()
  if not chat then return end
  for _ = 1, vim.v.count1 do
    require('agentchat.prompt.undo').redo(chat)
  end
end

local function command(name, args)
  return function() require('agentchat.commands').run(name, { args = args or '', fargs = { args } }) end
end

M.approvals = command('AgentApprovals')
M.rule = command('AgentApprovals', 'rule')
M.tools = command('AgentTools')
M.log = command('AgentLog')
M.history = command('AgentHistory')
M.undo_turn = command('AgentUndo')
M.redo_turn = command('AgentRedo')
M.apply = command('AgentResolve', 'apply')
M.discard = command('AgentResolve', 'discard')

--- Lists the keys of the chat, as they are set.
function M.help()
  local lines = { 'In a chat', '' }
  for _, key in ipairs(KEYS) do
    local modes = table.concat(key.modes, ' ')
    table.insert(lines, ('  %-6s %-8s %s'):format(key.lhs, modes, key.about))
  end
  vim.list_extend(lines, {
    '  za     n        open or close the output of a tool',
    '',
    '  @name in the prompt gives the chat a tool or a group; #buffer, #file:PATH and so on attach',
    '  what they name. <C-x><C-o> completes both.',
    '  Keys are changed by mapping <Plug>(AgentChatSend) and so on: see :help agentchat-keys.',
  })
  require('agentchat.ui.float').page('Keys', lines)
end

--- Whether the user has set this key, or another one for the same.
local function is_set(key, mode)
  local map = vim.fn.maparg(key.lhs, mode, false, true)
  return map.buffer == 1 or vim.fn.hasmapto(('<Plug>(AgentChat%s)'):format(key.plug), mode) == 1
end

--- Sets the default keys of a chat buffer, but for those the user has set.
---@param buf integer
function M.attach(buf)
  local free = {}
  api.nvim_buf_call(buf, function()
    for _, key in ipairs(KEYS) do
      for _, mode in ipairs(key.modes) do
        if not is_set(key, mode) then table.insert(free, { mode, key }) end
      end
    end
  end)
  for _, pair in ipairs(free) do
    local mode, key = unpack(pair)
    local opts = { buffer = buf, nowait = true, remap = true, desc = 'Agent: ' .. key.about }
    vim.keymap.set(mode, key.lhs, ('<Plug>(AgentChat%s)'):format(key.plug), opts)
  end
end

return M
