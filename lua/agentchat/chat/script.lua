--- A turn in a Neovim that nobody sees: `nvim --headless +'AgentChat PROMPT'` runs it, prints it and
--- exits. The exit code says how it ended.
local actions = require('agentchat.chat.actions')
local messages = require('agentchat.transcript.messages')
local notify = require('agentchat.notify')
local prompt = require('agentchat.prompt.region')
local settings = require('agentchat.config.settings')

local M = {}

local LONGEST = 24 * 3600 * 1000
local STOPPING = 5000 -- ms that a turn has to end after <C-c>
local CODES = { stop = 0, error = 1, no_model = 2, all_denied = 3, cancelled = 130 }
local OFFLINE = 'offline'
-- Tools that change nothing.
local HARMLESS = {
  read = true,
  grep = true,
  find = true,
  ls = true,
  diagnostics = true,
  todo = true,
  ask = true,
  fetch = true,
  skill = true,
  tool_search = true,
}

local function is_command(arg, before)
  local command = arg:match('^%+(.*)') or (before == '-c' and arg) or ''
  return command:find('^%s*AgentChat!?%s') ~= nil
end

--- Whether Neovim was started to run this command: other programs may drive a Neovim without a screen.
---@param argv string[]
function M.is_script(argv)
  local is_driven = vim
    .iter({ '--embed', '--listen' })
    :any(function(flag) return vim.list_contains(argv, flag) end)
  if is_driven or not vim.list_contains(argv, '--headless') then return false end
  for index, arg in ipairs(argv) do
    if is_command(arg, argv[index - 1]) then return #vim.api.nvim_list_uis() == 0 end
  end
  return false
end

--- What the chat says since the newest message of the user, as text.
local function answer(chat)
  local rows = messages.header_rows(chat)
  local first, last = rows[#rows - 1], rows[#rows]
  if not first then return '' end
  local lines = vim.api.nvim_buf_get_lines(chat.buf, first + 1, last, false)
  return vim.trim(table.concat(lines, '\n')) .. '\n'
end

local function exit(code, argv)
  -- After a turn that went well the commands behind this one run, if there are any.
  if code ~= 0 or is_command(argv[#argv], argv[#argv - 1]) then vim.cmd.cquit({ count = code }) end
end

local function is_offline_unasked(chat)
  local set = settings.get(chat.buf).model
  return chat.status.model == OFFLINE and set.provider ~= OFFLINE and set.name ~= OFFLINE
end

--- Whether calls were denied, and no call ran that may have changed something.
local function all_denied(chat)
  local denied = false
  for _, block in ipairs(chat.transcript.blocks) do
    local ran = block.state == 'done' or block.state == 'failed'
    if ran and block.tool and not HARMLESS[block.tool] then return false end
    denied = denied or block.state == 'denied'
  end
  return denied
end

local function code_of(chat, reason)
  if reason ~= 'stop' then return CODES[reason] or CODES.error end
  if is_offline_unasked(chat) then return CODES.no_model end
  return all_denied(chat) and CODES.all_denied or CODES.stop
end

--- Sends a prompt with `send`, waits for the end of the turn, prints it, and exits.
---@param send fun(): agentchat.Chat
function M.run(send)
  local chat, reason = nil, nil
  local group = vim.api.nvim_create_augroup('agentchat.script', {})
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'AgentTurnFinished',
    callback = function(args)
      if chat and args.data.chat == chat.id then reason = args.data.reason end
    end,
  })
  chat = send()
  -- A message that is not accepted comes back to the prompt, and no turn begins.
  local ended = function() return reason ~= nil or prompt.text(chat) ~= '' end
  local _, why = vim.wait(LONGEST, ended, 20)
  if why == -2 then
    actions.stop(chat)
    vim.wait(STOPPING, function() return reason ~= nil end, 20)
    reason = 'cancelled'
  end
  vim.api.nvim_del_augroup_by_id(group)
  vim.wait(50, function() return false end) -- notifications are shown a moment later
  io.stdout:write(notify.printable(answer(chat)))
  exit(code_of(chat, reason), vim.v.argv)
end

return M
