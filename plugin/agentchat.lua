-- Commands, <Plug> maps and the chats of session files: no module is loaded before one is used.
if vim.g.loaded_agentchat then return end
vim.g.loaded_agentchat = true

local function command(name, about, opts)
  opts.desc = about
  if opts.nargs ~= 0 then
    opts.complete = function(...) return require('agentchat.commands').complete(name, ...) end
  end
  local function run(args)
    -- Python starts while Neovim loads the modules that open the window.
    if name == 'AgentChat' then require('agentchat.host.process').ensure() end
    require('agentchat.commands').run(name, args)
  end
  vim.api.nvim_create_user_command(name, run, opts)
end

command(
  'AgentChat',
  'Show the chat of this tab, or open one',
  { nargs = '*', bang = true, range = true }
)
command('AgentSend', 'Send the prompt of the chat', { nargs = 0 })
command('AgentStop', 'Stop the request, its tools and the queue', { nargs = 0 })
command('AgentApprove', 'Answer the approval request', { nargs = '*' })
command('AgentApprovals', 'List, revoke or explain remembered answers and rules', { nargs = '*' })
command('AgentMode', 'Choose what runs without approval', { nargs = 1 })
command('AgentPaste', 'Attach the image in the clipboard', { nargs = 0 })
command('AgentModel', 'Show or choose the model', { nargs = '?' })
command('AgentCompact', 'Summarise the older part of the chat, or take it back', { nargs = '*' })
command('AgentUndo', 'Undo the file changes of a turn', { nargs = '?' })
command('AgentChanges', 'Review what a turn or the chat changed', { nargs = '?', bang = true })
command('AgentRedo', 'Redo the last undo', { nargs = 0 })
command('AgentTodo', 'Edit the todo list of the chat', { nargs = 0 })
command('AgentTools', 'List, add or remove tools of the chat, or load your own', { nargs = '*' })
command('AgentLog', 'Show or export the journal of the chat', { nargs = '*', bang = true })
command('AgentMcp', 'List or control the MCP servers', { nargs = '*' })
command('AgentHistory', 'Resume or fork a saved chat', { nargs = '*', bang = true })
command(
  'AgentSessions',
  'List the saved chats with a preview: resume, fork, search, delete',
  { nargs = '*' }
)
command('AgentInstall', 'Create or update the Python environment', { nargs = 0 })

---@param action string a command, or a function of `agentchat.keymaps`
local function plug(modes, name, action, about)
  local function run() require('agentchat.keymaps')[action]() end
  local rhs = vim.startswith(action, '<Cmd>') and action or run
  vim.keymap.set(modes, '<Plug>(AgentChat' .. name .. ')', rhs, { desc = about })
end

plug('n', 'Open', 'open', 'Show the chat of this tab, or open one')
plug('n', 'New', 'new', 'Open a new chat')
plug({ 'n', 'i' }, 'Send', 'send', 'Send the prompt')
plug({ 'n', 'i' }, 'Stop', 'stop', 'Stop the agent')
plug('n', 'Approval', 'approval', 'Go to the pending approval request')
plug('n', 'Review', 'review', 'Go to the review of the pending preview')
plug('n', 'Fork', 'fork', 'Continue from the message under the cursor in a copy')
plug('n', 'Sessions', '<Cmd>AgentSessions<CR>', 'List the saved chats with a preview')
plug('n', 'File', 'file', 'Open the file under the cursor in another window')
plug('n', 'YankCode', 'yank_code', 'Yank the block of code under the cursor')
plug('n', 'InsertCode', 'insert_code', 'Propose to insert the block of code under the cursor')
plug({ 'n', 'x', 'o' }, 'Next', 'next', 'Next message')
plug({ 'n', 'x', 'o' }, 'Previous', 'previous', 'Previous message')
plug('n', 'Toggle', '<Cmd>AgentChat<CR>', 'Show the chat of this tab, or hide it')
plug('n', 'Chats', 'chats', 'Choose one of the open chats')
plug('n', 'NextChat', 'next_chat', 'Show the next chat here')
plug('n', 'PreviousChat', 'previous_chat', 'Show the previous chat here')
plug('n', 'Approvals', '<Cmd>AgentApprovals<CR>', 'List the remembered answers')
plug('n', 'Rule', '<Cmd>AgentApprovals rule<CR>', 'Write a rule for the pending approval request')
plug('n', 'Apply', 'apply', 'Apply the pending preview')
plug('n', 'Discard', 'discard', 'Discard the pending preview')
plug('n', 'Changes', '<Cmd>AgentChanges<CR>', 'Review what the chat changed')
plug('n', 'Undo', '<Cmd>AgentUndo<CR>', 'Undo the file changes of the newest turn')
plug('n', 'Compact', '<Cmd>AgentCompact<CR>', 'Summarise the older part of the chat')
plug('n', 'Paste', '<Cmd>AgentPaste<CR>', 'Attach the image in the clipboard')
plug('n', 'Redo', '<Cmd>AgentRedo<CR>', 'Redo the last undo')
plug('n', 'Todo', '<Cmd>AgentTodo<CR>', 'Edit the todo list of the chat')
plug('n', 'Tools', '<Cmd>AgentTools<CR>', 'List the tools of the chat')
plug('n', 'Mcp', '<Cmd>AgentMcp<CR>', 'List the MCP servers')
plug('n', 'Log', '<Cmd>AgentLog<CR>', 'Show the journal of the chat')
plug('n', 'History', '<Cmd>AgentHistory<CR>', 'Resume a saved chat of this project')
plug('n', 'Help', 'help', 'List the keys of the chat')
plug({ 'n', 'i' }, 'OlderPrompt', 'older_prompt', 'Recall an older prompt')
plug({ 'n', 'i' }, 'NewerPrompt', 'newer_prompt', 'Recall a newer prompt')
plug('n', 'PromptUndo', 'undo', 'Undo in the prompt')
plug('n', 'PromptRedo', 'redo', 'Redo in the prompt')

-- In any window and mode in which a user may be when the agent asks.
local ANSWERING = { 'n', 'i', 'x', 't' }

---@param choice string of `:AgentApprove`, or `try`
local function answer(choice, about)
  local function run() require('agentchat.keymaps').answer(choice) end
  vim.keymap.set(ANSWERING, '<Plug>(agentchat-' .. choice .. ')', run, { desc = about })
end

answer('accept', 'Accept the pending approval request')
answer('reject', 'Reject the pending approval request')
answer('always', 'Accept the pending approval request, and do not ask again')
answer('cancel', 'Cancel the pending approval request and all that wait')
answer('try', 'Try the command of the pending approval request on an overlay')
plug('n', 'Resend', 'resend', 'Send the last message again')
plug('o', 'PromptTop', 'prompt_top', 'To the first line; from the prompt, to its own')

-- `gp` puts code onto a selection that was left, if nothing was changed since it began.
vim.api.nvim_create_autocmd('ModeChanged', {
  group = vim.api.nvim_create_augroup('agentchat.selection', {}),
  pattern = '*:[vV\22]*',
  callback = function()
    local buf = vim.api.nvim_get_current_buf()
    vim.w.agentchat_selection = { buf = buf, tick = vim.api.nvim_buf_get_changedtick(buf) }
  end,
})

local function on_session(event, name, is_needed)
  vim.api.nvim_create_autocmd(event, {
    group = vim.api.nvim_create_augroup('agentchat.' .. event, {}),
    callback = function()
      if is_needed() then require('agentchat.sessions.session_file')[name]() end
    end,
  })
end

local function has_chats()
  return vim.iter(vim.api.nvim_list_bufs()):any(
    function(buf) return vim.startswith(vim.api.nvim_buf_get_name(buf), 'agentchat://') end
  )
end

on_session('SessionWritePost', 'save', has_chats)
on_session('SessionLoadPost', 'load', has_chats)
