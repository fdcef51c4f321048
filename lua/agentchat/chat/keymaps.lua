-- The default keys of a chat buffer.
local float = require('agentchat.ui.float')
local slash = require('agentchat.prompt.slash')

local M = {}

---@class agentchat.Key
---@field modes string[]
---@field lhs string
---@field plug string
---@field about string

---@type agentchat.Key[]
local KEYS = {
  { modes = { 'n' }, lhs = '<CR>', plug = 'Send', about = 'send the prompt' },
  { modes = { 'n', 'i' }, lhs = '<C-s>', plug = 'Send', about = 'send the prompt' },
  {
    modes = { 'n', 'i' },
    lhs = '<C-c>',
    plug = 'Stop',
    about = 'stop the request, its tools and the queue',
  },
  { modes = { 'n' }, lhs = 'ga', plug = 'Approval', about = 'go to the pending approval request' },
  { modes = { 'i' }, lhs = '<C-g>a', plug = 'agentchat-accept', about = 'accept it' },
  { modes = { 'i' }, lhs = '<C-g>r', plug = 'agentchat-reject', about = 'reject it' },
  { modes = { 'i' }, lhs = '<C-g>A', plug = 'agentchat-always', about = 'accept it always' },
  { modes = { 'i' }, lhs = '<C-g>c', plug = 'agentchat-cancel', about = 'cancel all that wait' },
  { modes = { 'i' }, lhs = '<C-g>t', plug = 'agentchat-try', about = 'try it on an overlay' },
  { modes = { 'n' }, lhs = 'g<CR>', plug = 'Resend', about = 'send your last message again' },
  {
    modes = { 'n' },
    lhs = 'gr',
    plug = 'Review',
    about = 'go to the review of the pending preview',
  },
  {
    modes = { 'n' },
    lhs = 'gF',
    plug = 'Fork',
    about = 'continue from this message in a copy of the chat',
  },
  { modes = { 'n' }, lhs = 'gf', plug = 'File', about = 'open the file under the cursor' },
  {
    modes = { 'n' },
    lhs = 'gy',
    plug = 'YankCode',
    about = 'yank the block of code under the cursor',
  },
  {
    modes = { 'n' },
    lhs = 'gp',
    plug = 'InsertCode',
    about = 'put the block of code into the last code window',
  },
  { modes = { 'n', 'x', 'o' }, lhs = ']]', plug = 'Next', about = 'next message' },
  { modes = { 'n', 'x', 'o' }, lhs = '[[', plug = 'Previous', about = 'previous message' },
  { modes = { 'n' }, lhs = ']b', plug = 'NextChat', about = 'next chat' },
  { modes = { 'n' }, lhs = '[b', plug = 'PreviousChat', about = 'previous chat' },
  { modes = { 'n' }, lhs = 'gl', plug = 'Chats', about = 'list the open chats' },
  { modes = { 'n' }, lhs = 'g?', plug = 'Help', about = 'list these keys' },
  {
    modes = { 'n', 'i' },
    lhs = '<Up>',
    plug = 'OlderPrompt',
    about = 'recall an older prompt if it is empty',
  },
  { modes = { 'n', 'i' }, lhs = '<Down>', plug = 'NewerPrompt', about = 'recall a newer prompt' },
  { modes = { 'o' }, lhs = 'gg', plug = 'PromptTop', about = 'from the prompt: to its first line' },
  { modes = { 'n' }, lhs = 'u', plug = 'PromptUndo', about = 'undo what you typed' },
  { modes = { 'n' }, lhs = '<C-r>', plug = 'PromptRedo', about = 'redo what you undid' },
}

---@param chat? agentchat.Chat whose slash commands are listed, too
function M.help(chat)
  local keys = vim.tbl_map(
    function(key) return { key.lhs, ('%-7s%s'):format(table.concat(key.modes, ' '), key.about) } end,
    KEYS
  )
  local commands = vim.tbl_map(function(item)
    local typed = vim.trim(('/%s %s'):format(item.name, item.hint))
    return { typed, item.about }
  end, chat and slash.list(chat) or {})
  table.insert(keys, { 'za', 'n      open or close the output of a tool' })
  float.page(
    'Keys of the chat',
    vim.list_extend(float.key_lines(keys), {
      '',
      '@name in the prompt adds a tool or a group to the chat; #buffer and',
      '#file:PATH attach context; /name at its start is a command.',
      '<C-x><C-o> completes them.',
      'To change a key, see :help agentchat-plug.',
      '',
      unpack(float.key_lines(commands)),
    })
  )
end

local function plug_of(key)
  local name = vim.startswith(key.plug, 'agentchat-') and key.plug or 'AgentChat' .. key.plug
  return ('<Plug>(%s)'):format(name)
end

--- Whether the user has set this key, or another one for the same.
local function is_set(key, mode)
  local map = vim.fn.maparg(key.lhs, mode, false, true)
  return map.buffer == 1 or vim.fn.hasmapto(plug_of(key), mode) == 1
end

local function set_keys(buf, keys)
  if not vim.api.nvim_buf_is_loaded(buf) then return end
  for _, pair in ipairs(keys) do
    local mode, key = unpack(pair)
    local opts = { buffer = buf, nowait = true, remap = true, desc = 'Agent: ' .. key.about }
    vim.keymap.set(mode, key.lhs, plug_of(key), opts)
  end
end

--- Sets the default keys of a chat buffer, but for those the user has set. Maps that the user makes for
--- language servers do not take them: the plugin's own client attaches, too.
function M.attach(buf)
  local free = {}
  vim.api.nvim_buf_call(buf, function()
    for _, key in ipairs(KEYS) do
      for _, mode in ipairs(key.modes) do
        if not is_set(key, mode) then table.insert(free, { mode, key }) end
      end
    end
  end)
  set_keys(buf, free)
  vim.api.nvim_create_autocmd('LspAttach', {
    buffer = buf,
    -- After what the user's autocommands do, and what they schedule.
    callback = vim.schedule_wrap(function()
      vim.schedule(function() set_keys(buf, free) end)
    end),
  })
end

return M
