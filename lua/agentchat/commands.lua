--- What the commands do, and how they complete.
local lazy = require('agentchat.lazy')
local actions = require('agentchat.chat.actions')
local agents = lazy('agentchat.sessions.agents')
local attention = require('agentchat.attention')
local changes = lazy('agentchat.review.changes')
local context = require('agentchat.prompt.context')
local grants = lazy('agentchat.approval.grants')
local history = lazy('agentchat.sessions.select')
local host = require('agentchat.host.process')
local install = lazy('agentchat.host.install')
local mcp = require('agentchat.mcp')
local keymaps = require('agentchat.chat.keymaps')
local mentions = require('agentchat.prompt.mentions')
local models = lazy('agentchat.chat.models')
local notify = require('agentchat.notify')
local placement = require('agentchat.chat.placement')
local paste = require('agentchat.prompt.paste')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')
local requests = lazy('agentchat.approval.requests')
local review = lazy('agentchat.review.list')
local rules = lazy('agentchat.approval.rules')
local script = lazy('agentchat.chat.script')
local settings = require('agentchat.config.settings')
local slash = require('agentchat.prompt.slash')
local trust = lazy('agentchat.files.trust')
local todo = lazy('agentchat.prompt.todo')

local M = {}

local MODES = { 'ask', 'edit', 'plan', 'stage', 'yolo' }
local CHOICES = { 'always', 'accept', 'reject', 'cancel' }
local ACTIONS = { 'apply', 'discard' }
local APPROVALS = { 'clear', 'explain', 'rule', 'trust' }
local RECORDS = { 'decisions', 'usage', 'export' }
local TOOLS = { 'add', 'remove', 'reload', 'trust' }

--- The chat a command is about; without one the user is warned.
---@return agentchat.Chat?
function M.chat()
  local chat = registry.near()
  if chat then return chat end
  local many = #registry.all() > 0
  notify.warn(
    many and 'go to the window of a chat first' or 'no chat yet: open one with :AgentChat'
  )
end

local function first_word(text)
  local word, rest = vim.trim(text):match('^(%S*)%s*(.*)$')
  return word, rest ~= '' and rest or nil
end

local function is_known(what, word, known)
  if vim.list_contains(known, word) then return true end
  notify.warn(('unknown %s "%s": use %s'):format(what, word, table.concat(known, ', ')))
  return false
end

---@class agentchat.CommandArgs
---@field args string
---@field bang? boolean
---@field range? integer how many lines were given for the range
---@field line1? integer
---@field line2? integer
---@field smods? vim.api.keyset.cmd.mods
---@field chat? string id, of a command that belongs to a buffer

---@type table<string, fun(args: agentchat.CommandArgs)>
local RUN = {}

local function with_chat(run)
  return function(args)
    local chat = registry.get(args.chat) or M.chat()
    if chat then run(chat, args) end
  end
end

--- Whether the command stands alone in the window of a chat, which it then hides.
local function hides(args)
  local plain = args.args == '' and not args.bang and (args.range or 0) == 0
  local chat = registry.current()
  local inside = chat ~= nil and chat.buf == vim.api.nvim_get_current_buf()
  return plain and inside and not placement.is_explicit(args.smods)
end

function RUN.AgentChat(args)
  if hides(args) then return placement.hide() end
  local chat, text = registry.named(args.args)
  local partner, rest = text:match('^%s*agent://(%S*)%s*(.*)$')
  if partner and partner ~= '' and not agents.is_known(partner) then return end
  local url, prompt = remote.split(rest or text)
  if url and not remote.parse(url) then
    return notify.warn(('%s is not a workspace: use %s'):format(url, remote.FORM))
  end
  local opts = {
    chat = chat,
    new = args.bang,
    prompt = prompt,
    workspace = url,
    partner = partner,
    selection = (args.range or 0) > 0 and context.range(args.line1, args.line2) or nil,
    mods = args.smods,
  }
  if partner == '' then return agents.select(opts) end
  local function open() return actions.open(opts) end
  if prompt ~= '' and script.is_script(vim.v.argv) then return script.run(open) end
  open()
end

RUN.AgentSend = with_chat(actions.send_prompt)
RUN.AgentStop = with_chat(actions.stop)

RUN.AgentResolve = with_chat(function(chat, args)
  local action, reason = first_word(args.args)
  if not is_known('action', action, ACTIONS) then return end
  review.resolve(chat.id, action, reason)
end)

function RUN.AgentApprove(args)
  local current = registry.current()
  local chat = current and current.id
  local choice, reason = first_word(args.args)
  if choice == '' then return requests.focus(chat) end
  if not is_known('choice', choice, CHOICES) then return end
  requests.answer(chat, choice, reason)
end

RUN.AgentApprovals = with_chat(function(chat, args)
  local word, rest = first_word(args.args)
  if word == '' then return host.send('approvals', { chat = chat.id }) end
  if not is_known('argument', word, APPROVALS) then return end
  if word == 'clear' then return grants.revoke(chat) end
  if word == 'trust' then return trust.rules(chat.cwd) end
  if word == 'rule' then return rules.propose(chat.id, rest) end
  host.send('explain', { chat = chat.id, text = rest or '' })
end)

RUN.AgentMode = with_chat(function(chat, args)
  if not is_known('mode', args.args, MODES) then return end
  host.send('mode', { chat = chat.id, mode = args.args })
end)

RUN.AgentPaste = with_chat(function(chat) paste.image(chat) end)

RUN.AgentModel = with_chat(function(chat, args)
  if args.args == '' then return models.select(chat) end
  models.choose(chat, args.args)
end)

RUN.AgentCompact = with_chat(function(chat, args)
  if vim.trim(args.args) == 'undo' then return host.send('compact_undo', { chat = chat.id }) end
  actions.compact(chat, vim.trim(args.args))
end)

local function turn_number(text)
  if text:match('^[1-9]%d*$') then return tonumber(text) end
  notify.warn(('unknown turn "%s": use its number'):format(text))
end

RUN.AgentUndo = with_chat(function(chat, args)
  local turn = args.args ~= '' and turn_number(args.args) or nil
  if args.args == '' or turn then host.send('undo', { chat = chat.id, turn = turn }) end
end)

RUN.AgentChanges = with_chat(function(chat, args)
  local turn = args.args ~= '' and turn_number(args.args) or nil
  if args.args ~= '' and not turn then return end
  changes.open(chat.id, { turn = turn, newest = args.bang == true and not turn })
end)

RUN.AgentTodo = with_chat(todo.edit)
RUN.AgentRedo = with_chat(function(chat) host.send('redo', { chat = chat.id }) end)

function RUN.AgentTools(args)
  local word, name = first_word(args.args)
  if word == 'reload' then return trust.reload_tools() end
  if word ~= '' and not is_known('argument', word, TOOLS) then return end
  local chat = M.chat()
  if not chat then return end
  if word == 'trust' then return trust.tools(chat.cwd) end
  if word == '' then return host.send('tools', { chat = chat.id }) end
  if not name then return notify.warn((':AgentTools %s needs the name of a tool'):format(word)) end
  host.send(word .. '_tool', { chat = chat.id, name = name })
end

RUN.AgentLog = with_chat(function(chat, args)
  local word, path = first_word(args.args)
  if word ~= '' and not is_known('argument', word, RECORDS) then return end
  if word ~= 'export' then return host.send('log', { chat = chat.id, only = word }) end
  if not path then return notify.warn(':AgentLog export needs the path of a file') end
  local full = vim.fn.fnamemodify(path, ':p')
  host.send('export_log', { chat = chat.id, path = full, overwrite = args.bang })
end)

function RUN.AgentHistory(args) history.list({ words = vim.trim(args.args), fork = args.bang }) end

function RUN.AgentSessions(args) history.list({ words = vim.trim(args.args), browse = true }) end

function RUN.AgentMcp(args)
  local action, server = first_word(args.args)
  if action ~= '' and not is_known('argument', action, mcp.ACTIONS) then return end
  if action == 'config' and not is_known('agent', server or '', mcp.AGENTS) then return end
  mcp.run(action, server)
end

function RUN.AgentInstall() install.run() end

-- Slash commands without an Ex command.
RUN.fork = with_chat(
  function(chat) actions.resume({ chat = chat.id, cwd = chat.remote or chat.cwd, fork = true }) end
)
RUN.help = with_chat(keymaps.help)
function RUN.export(args)
  args.args = vim.trim('export ' .. args.args)
  RUN.AgentLog(args)
end

function M.run(name, args) RUN[name](args) end

local function names()
  local chat = registry.near()
  return chat and chat.names or mentions.BUILTIN
end

local function names_of(items, fits)
  return vim.tbl_map(function(item) return item.name end, vim.tbl_filter(fits, items))
end

local function workspaces()
  local urls = vim.tbl_map(function(chat) return chat.remote end, registry.all())
  table.insert(urls, remote.place(settings.get().workspace))
  local typed = function(url) return vim.startswith(url, 'ssh://') end
  return vim.fn.uniq(vim.fn.sort(vim.tbl_filter(typed, vim.tbl_values(urls))))
end

--- The chats to go to: found by name, or by a word of their title.
local function chats(lead)
  local function fits(name)
    return vim.startswith(name, lead) or name:lower():find(lead:lower(), 1, true) ~= nil
  end
  return vim.iter(registry.all()):map(registry.describe):filter(fits):totable()
end

local function agents_named(lead) return lead ~= '' and agents.urls(lead) or {} end

local function turns()
  local chat, found = registry.near(), {}
  for number = chat and chat.status.turn or 0, 1, -1 do
    table.insert(found, tostring(number))
  end
  return found
end

local function tool_names(given)
  local chat = registry.near()
  return names_of(
    chat and chat.names or {},
    function(item) return (item.given == true) == given end
  )
end

---@type table<string, fun(): string[]> possible first arguments
local WORDS = {
  AgentResolve = function() return ACTIONS end,
  AgentApprove = function() return CHOICES end,
  AgentApprovals = function() return APPROVALS end,
  AgentChanges = turns,
  AgentCompact = function() return { 'undo' } end,
  AgentLog = function() return RECORDS end,
  AgentMcp = function() return mcp.ACTIONS end,
  AgentMode = function() return MODES end,
  AgentModel = function() return models.names(registry.near()) end,
  AgentTools = function() return TOOLS end,
  AgentUndo = turns,
}

---@param lead string what is typed of the argument
function M.complete(name, lead, line)
  local words = {}
  if name == 'AgentChat' then
    if vim.startswith(lead, '@') then
      words = vim.tbl_map(function(item) return '@' .. item.name end, names())
    elseif line:match('^%S+%s+%S*$') then
      local urls = vim.tbl_filter(function(url) return vim.startswith(url, lead) end, workspaces())
      return vim.list_extend(vim.list_extend(chats(lead), urls), agents_named(lead))
    end
  elseif WORDS[name] and not line:match('%u%a+!?%s+%S+%s') then
    words = WORDS[name]()
  elseif name == 'AgentApprovals' and line:match('%s[er]%l+%s+%S*$') then
    words = names_of(names(), function(item) return item.kind == 'tool' end)
  elseif name == 'AgentMcp' and line:match('%s%l+%s+%S*$') then
    words = line:match('%sconfig%s') and mcp.AGENTS or mcp.names()
  elseif name == 'AgentLog' and line:match('%sexport%s+%S*$') then
    words = vim.fn.getcompletion(lead, 'file')
  elseif name == 'AgentTools' and line:match('%s%l+%s+%S*$') then
    words = tool_names(line:match('%sremove%s') ~= nil)
  end
  -- The name of a model is typed without its provider.
  local fits = name == 'AgentModel' and function(word) return word:find(lead, 1, true) ~= nil end
    or function(word) return vim.startswith(word, lead) end
  return vim.iter(words):filter(fits):totable()
end

local function attach_resolve(chat, buf)
  vim.api.nvim_buf_create_user_command(buf, 'AgentResolve', function(args)
    args.chat = chat.id
    M.run('AgentResolve', args)
  end, {
    nargs = '+',
    desc = 'Resolve the newest pending preview',
    complete = function(lead, line) return M.complete('AgentResolve', lead, line) end,
  })
end

registry.listen({ buffer = attach_resolve })
attention.setup()
slash.on_command(M.run, function(name) return RUN[name] ~= nil end)

return M
