--- Slash commands in the prompt: the built-in ones, which are Ex commands, and those Python reports,
--- which it expands when the prompt is sent.
local notify = require('agentchat.notify')

local M = {}

---@class agentchat.SlashCommand
---@field name string
---@field kind 'builtin'|'prompt'|'skill'|'mcp'
---@field about string
---@field hint string what arguments it takes
---@field origin? string the file or server it is from
---@field command? string of `agentchat.commands`, for a built-in one

-- Name, command, arguments, what it does.
local BUILTIN = {
  { 'compact', 'AgentCompact', '[focus]', 'Summarise the older part of the chat' },
  { 'export', 'export', 'FILE', 'Export the journal of the chat' },
  { 'fork', 'fork', '', 'Continue in a copy of this chat' },
  { 'help', 'help', '', 'List the keys and the commands of the prompt' },
  { 'history', 'AgentHistory', '[words]', 'Resume a saved chat of this project' },
  { 'log', 'AgentLog', '[decisions|usage]', 'Show the journal of the chat' },
  { 'mcp', 'AgentMcp', '[action] [server]', 'List or control MCP servers' },
  { 'mode', 'AgentMode', 'ask|edit|plan|stage|yolo', 'Choose what runs without approval' },
  { 'model', 'AgentModel', '[provider/name]', 'Show or choose the model' },
  { 'paste', 'AgentPaste', '', 'Attach the image in the clipboard' },
  { 'redo', 'AgentRedo', '', 'Redo the last undo' },
  { 'stop', 'AgentStop', '', 'Stop the request, its tools and the queue' },
  { 'tools', 'AgentTools', '[add|remove name]', 'List, add or remove tools of the chat' },
  { 'changes', 'AgentChanges', '[turn]', 'Review what a turn or the chat changed' },
  { 'undo', 'AgentUndo', '[turn]', 'Undo the file changes of a turn' },
}

---@type fun(command: string, args: agentchat.CommandArgs)
local run_command
---@type fun(command: string): boolean
local is_command

--- Sets what runs an Ex command, and what knows which there are.
function M.on_command(run, exists)
  run_command, is_command = run, exists
end

---@return agentchat.SlashCommand[] the built-in commands there are
local function builtins()
  local out = {}
  for _, row in ipairs(BUILTIN) do
    local name, command, hint, about = unpack(row)
    if is_command(command) then
      table.insert(
        out,
        { name = name, kind = 'builtin', command = command, hint = hint, about = about }
      )
    end
  end
  return out
end

local function find(items, name)
  return vim.iter(items):find(function(item) return item.name == name end)
end

--- All commands of a chat; a built-in one hides another of its name.
---@return agentchat.SlashCommand[]
function M.list(chat)
  local all = builtins()
  for _, item in ipairs(chat.commands or {}) do
    if not find(all, item.name) then table.insert(all, item) end
  end
  table.sort(all, function(a, b) return a.name < b.name end)
  return all
end

--- Takes the commands that Python offers.
---@param items agentchat.SlashCommand[]
function M.set_commands(chat, items)
  chat.commands = items
  for _, item in ipairs(items) do
    if find(builtins(), item.name) then
      notify.warn(('%s: not used, /%s is built in'):format(item.origin, item.name))
    end
  end
end

--- The name that a text begins with, and the byte it ends on.
local function name_of(text) return text:match('^/([%w_.:-]+)%s') or text:match('^/([%w_.:-]+)$') end

--- Runs the built-in command that a text begins with.
---@return boolean whether it is one
function M.run(chat, text)
  local name, rest = text:match('^/([%w_.:-]+)%s*(.*)$')
  local item = name and name_of(text) == name and find(builtins(), name)
  if not item then return false end
  run_command(item.command, { args = vim.trim(rest), chat = chat.id })
  return true
end

--- The command at the start of the prompt, if there is one of that name.
---@param line string the first line of the prompt that is not empty
---@return agentchat.Mention? found with the `hint` of the command
function M.at_start(chat, line)
  local name = name_of(line)
  local item = name and find(M.list(chat), name)
  return item and { name = name, first = 0, last = #name + 1, hint = item.hint }
end

--- The command that is being typed before a column.
---@param column integer bytes before the cursor
---@return agentchat.Started?
function M.started(line, column)
  local base = line:sub(1, column):match('^/([%w_.:-]*)$')
  return base and { first = 0, base = base, braced = false } or nil
end

--- What a completion shows of a command.
local function documentation(item)
  local typed = vim.trim(('/%s %s'):format(item.name, item.hint))
  return table.concat({ typed, item.about, item.origin }, '\n\n')
end

--- The commands that fit what is typed.
---@return { word: string, item: agentchat.Name }[]
function M.candidates(chat, started)
  local out = {}
  for _, item in ipairs(M.list(chat)) do
    if vim.startswith(item.name, started.base) then
      local shown =
        { name = item.name, kind = item.kind, about = documentation(item), menu = item.about }
      table.insert(out, { word = '/' .. item.name, item = shown })
    end
  end
  return out
end

return M
