--- MCP servers: what `:AgentMcp` does, and the names that it completes.
local context = require('agentchat.prompt.context')
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')
local tool_options = require('agentchat.config.tool_options')

local M = {}

M.ACTIONS = { 'start', 'stop', 'restart', 'login', 'logout', 'log', 'trust' }

-- Python looks for the same files.
local FILES = { '.mcp.json', '.vscode/mcp.json', '.cursor/mcp.json' }

---@type table<string, string[]> names of servers by project
local known = {}

local function root()
  local chat = registry.near()
  return chat and chat.cwd or vim.fn.getcwd()
end

--- Takes the names of a project's servers and of their resources, for completion.
---@param resources agentchat.Name[]
function M.offer(project, names, resources)
  known[project] = names
  context.offer(project, resources)
end

--- The names of the servers of the current project, as far as they are known.
function M.names()
  local names = {}
  for _, name in ipairs(known[vim.uv.fs_realpath(root()) or root()] or {}) do
    names[name] = true
  end
  for name in pairs(settings.get().mcp.servers) do
    names[name] = true
  end
  local sorted = vim.tbl_keys(names)
  table.sort(sorted)
  return sorted
end

local function trust()
  local found = false
  for _, name in ipairs(FILES) do
    local file = vim.fs.joinpath(root(), name)
    if vim.uv.fs_stat(file) then
      found = true
      if not vim.secure.read(file) then
        notify.warn(('%s is not trusted: its servers are not started'):format(file))
      end
    end
  end
  if not found then notify.warn(('no servers in the files of %s'):format(root())) end
  return found
end

--- Carries out one of `ACTIONS`, or lists the servers.
---@param action string empty to list them
---@param server? string all servers without it
function M.run(action, server)
  if action == 'trust' then
    if not trust() then return end
    action = ''
  end
  local chat = registry.near()
  host.send('mcp', {
    action = action,
    server = server,
    cwd = root(),
    settings = tool_options.sendable(chat and chat.buf),
  })
end

return M
