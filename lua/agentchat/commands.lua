--- What the commands do, and how they complete.
local bridge = require('agentchat.host.rpc')
local notice = require('agentchat.notify')

local M = {}

local MODES = { 'ask', 'edit', 'plan', 'yolo' }
local CHOICES = { 'always', 'accept', 'reject', 'cancel' }
local ACTIONS = { 'apply', 'discard' }
local APPROVALS = { 'clear', 'explain', 'rule', 'trust' }
local RECORDS = { 'decisions' }
local TOOLS = { 'add', 'remove', 'reload', 'trust' }

local function chats() return require('agentchat.chat.actions') end

--- The chat a command is about; without one the user is told.
---@return agentchat.Chat?
function M.chat()
  local chat = chats().near()
  if chat then return chat end
  local many = #chats().all() > 0
  notice.warn(
    many and 'go to the window of a chat first' or 'no chat yet: open one with :AgentChat'
  )
end

--- Splits off the first word.
---@param text string
---@return string word, string? rest
local function first_word(text)
  local word, rest = vim.trim(text):match('^(%S*)%s*(.*)$')
  return word, rest ~= '' and rest or nil
end

--- Whether `word` is one of `known`; if not, the user is told.
local function is_known(what, word, known)
  if vim.list_contains(known, word) then return true end
  notice.warn(('unknown %s "%s": use %s'):format(what, word, table.concat(known, ', ')))
  return false
end

---@class agentchat.CommandArgs
---@field args string
---@field fargs? string[]
---@field bang? boolean
---@field smods? vim.api.keyset.cmd.mods
---@field chat? string id, of a command that belongs to a buffer

---@type table<string, fun(args: agentchat.CommandArgs)>
local RUN = {}

function RUN.AgentChat(args)
  local place = require('agentchat.remote')
  local url, prompt = place.split(args.args)
  if url and not place.parse(url) then
    return notice.warn(('%s names no workspace: write %s'):format(url, place.FORM))
  end
  chats().open({ new = args.bang, prompt = prompt, workspace = url, mods = args.smods })
end

function RUN.AgentSend()
  local chat = M.chat()
  if chat then chats().send_prompt(chat) end
end

function RUN.AgentStop()
  local chat = M.chat()
  if chat then chats().stop(chat) end
end

function RUN.AgentResolve(args)
  local chat = chats().get(args.chat) or M.chat()
  if not chat then return end
  local action, reason = first_word(args.args)
  if not is_known('action', action, ACTIONS) then return end
  require('agentchat.review.list').resolve(chat.id, action, reason)
end

function RUN.AgentApprove(args)
  local chat = chats().current()
  local choice, reason = first_word(args.args)
  if choice == '' then return require('agentchat.approval.requests').focus(chat) end
  if not is_known('choice', choice, CHOICES) then return end
  require('agentchat.approval.requests').answer(chat, choice, reason)
end

function RUN.AgentApprovals(args)
  local chat = M.chat()
  if not chat then return end
  local word, rest = first_word(args.args)
  if word == '' then return bridge.send('approvals', { chat = chat.id }) end
  if not is_known('argument', word, APPROVALS) then return end
  if word == 'clear' then return require('agentchat.approval.grants').revoke(chat) end
  if word == 'trust' then return require('agentchat.files.rule_files').trust(chat.cwd) end
  if word == 'rule' then return require('agentchat.approval.rules').propose(chat.id, rest) end
  bridge.send('explain', { chat = chat.id, text = rest or '' })
end

function RUN.AgentMode(args)
  local chat = M.chat()
  if not chat or not is_known('mode', args.args, MODES) then return end
  bridge.send('mode', { chat = chat.id, mode = args.args })
end

function RUN.AgentModel(args)
  local chat = M.chat()
  if not chat then return end
  bridge.send('model', { chat = chat.id, name = args.args ~= '' and args.args or nil })
end

--- A turn's number; nil for anything else, and then the user is told.
---@param text string
---@return integer?
local function turn_number(text)
  if text:match('^[1-9]%d*$') then return tonumber(text) end
  notice.warn(('unknown turn "%s": use its number'):format(text))
end

function RUN.AgentUndo(args)
  local chat = M.chat()
  if not chat then return end
  local turn = args.args ~= '' and turn_number(args.args) or nil
  if args.args == '' or turn then bridge.send('undo', { chat = chat.id, turn = turn }) end
end

function RUN.AgentRedo()
  local chat = M.chat()
  if chat then bridge.send('redo', { chat = chat.id }) end
end

function RUN.AgentTools(args)
  local toolfiles = require('agentchat.files.tool_files')
  local word, name = first_word(args.args)
  if word == 'reload' then return toolfiles.reload() end
  if word ~= '' and not is_known('argument', word, TOOLS) then return end
  local chat = M.chat()
  if not chat then return end
  if word == 'trust' then return toolfiles.trust(chat.cwd) end
  if word == '' then return bridge.send('tools', { chat = chat.id }) end
  if not name then return notice.warn((':AgentTools %s needs the name of a tool'):format(word)) end
  bridge.send(word .. '_tool', { chat = chat.id, name = name })
end

function RUN.AgentLog(args)
  local chat = M.chat()
  if not chat then return end
  if args.args ~= '' and not is_known('argument', args.args, RECORDS) then return end
  bridge.send('log', { chat = chat.id, only = args.args })
end

function RUN.AgentHistory(args)
  require('agentchat.chat.history').list({ words = vim.trim(args.args), fork = args.bang })
end

function RUN.AgentInstall() require('agentchat.host.install').run() end

--- Runs a command. A mistake in the plugin is one line, not a traceback.
---@param name string
---@param args agentchat.CommandArgs
function M.run(name, args) RUN[name](args) end

local function mentions()
  local chat = chats().near()
  local names = chat and chat.names or require('agentchat.prompt.mentions').BUILTIN
  return vim.iter(names):map(function(item) return '@' .. item.name end):totable()
end

local function models()
  local chat = chats().near()
  local model = require('agentchat.config.settings').get().model or {}
  local seen = { offline = true }
  if chat and chat.status.model ~= '' then seen[chat.status.model] = true end
  for _, name in pairs({ model.name or '', vim.env.AGENTCHAT_MODEL or '' }) do
    if name ~= '' then seen[name] = true end
  end
  local names = vim.tbl_keys(seen)
  table.sort(names)
  return names
end

--- The numbers of the turns there were, the newest first.
local function turns()
  local chat, found = chats().near(), {}
  for number = chat and chat.status.turn or 0, 1, -1 do
    table.insert(found, tostring(number))
  end
  return found
end

--- Names of the tools a call can be explained of.
local function tools()
  local chat = chats().near()
  local names = chat and chat.names or require('agentchat.prompt.mentions').BUILTIN
  local found = vim.iter(names):filter(function(item) return item.kind == 'tool' end)
  return found:map(function(item) return item.name end):totable()
end

--- Names of tools and groups that the chat has, or has not.
---@param given boolean
local function belongings(given)
  local chat = chats().near()
  local found = vim
    .iter(chat and chat.names or {})
    :filter(function(item) return (item.given == true) == given end)
  return found:map(function(item) return item.name end):totable()
end

---@type table<string, fun(): string[]> words the first argument can be
local WORDS = {
  AgentResolve = function() return ACTIONS end,
  AgentApprove = function() return CHOICES end,
  AgentApprovals = function() return APPROVALS end,
  AgentLog = function() return RECORDS end,
  AgentMode = function() return MODES end,
  AgentModel = models,
  AgentTools = function() return TOOLS end,
  AgentUndo = turns,
}

--- Completes the arguments of a command.
---@param name string
---@param lead string what is typed of the argument
---@param line string the whole command line
---@return string[]
function M.complete(name, lead, line)
  local words = {}
  if name == 'AgentChat' then
    words = vim.startswith(lead, '@') and mentions()
      or line:match('^%S+%s+%S*$') and require('agentchat.remote').known()
      or {}
  elseif WORDS[name] and not line:match('%u%a+!?%s+%S+%s') then
    words = WORDS[name]()
  elseif name == 'AgentApprovals' and line:match('%s[er]%l+%s+%S*$') then
    words = tools()
  elseif name == 'AgentTools' and line:match('%s%l+%s+%S*$') then
    words = belongings(line:match('%sremove%s') ~= nil)
  end
  return vim.iter(words):filter(function(word) return vim.startswith(word, lead) end):totable()
end

--- Gives a buffer `:AgentResolve` for a chat.
---@param buf integer
---@param chat string
function M.attach_resolve(buf, chat)
  vim.api.nvim_buf_create_user_command(buf, 'AgentResolve', function(args)
    args.chat = chat
    M.run('AgentResolve', args)
  end, {
    nargs = '+',
    desc = 'Resolve the newest pending preview',
    complete = function(lead, line) return M.complete('AgentResolve', lead, line) end,
  })
end

return M
