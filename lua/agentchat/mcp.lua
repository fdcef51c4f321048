--- MCP servers: what `:AgentMcp` does, and the names that it completes.
local context = require('agentchat.prompt.context')
local float = require('agentchat.ui.float')
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local programs = require('agentchat.host.programs')
local python = require('agentchat.host.python')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')
local tool_options = require('agentchat.config.tool_options')

local M = {}

M.ACTIONS = { 'start', 'stop', 'restart', 'login', 'logout', 'log', 'trust', 'config' }
M.AGENTS = { 'claude', 'codex', 'cursor', 'gemini', 'opencode' }

-- Python looks for the same files.
local FILES = { '.mcp.json', '.vscode/mcp.json', '.cursor/mcp.json' }

local function root()
  local chat = registry.near()
  return chat and chat.cwd or vim.fn.getcwd()
end

--- The names of the servers of the current project, as far as they are known.
function M.names()
  local known = vim.tbl_extend('keep', context.offered(root()).servers, settings.get().mcp.servers)
  local names = vim.tbl_keys(known)
  table.sort(names)
  return names
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

--- Shows what to put into the configuration of an agent, so that it uses the tools of this plugin.
local function show_config(agent)
  local command = { python.root .. '/bin/agentchat', 'mcp', '--config', agent }
  local state = vim.fn.stdpath('state')
  if state ~= vim.fs.normalize('~/.local/state/nvim') then
    vim.list_extend(command, { '--state', state .. '/agentchat' })
  end
  local show = vim.schedule_wrap(function(result)
    if result.code ~= 0 then return notify.error(vim.trim(result.stderr)) end
    float.page('MCP configuration of ' .. agent, vim.split(vim.trim(result.stdout), '\n'))
  end)
  programs.run(command, { text = true }, show)
end

--- Carries out one of `ACTIONS`, or lists the servers.
---@param action string empty to list them
---@param server? string all servers without it; the agent of `config`
function M.run(action, server)
  if action == 'config' then return show_config(server) end
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
    win = vim.api.nvim_get_current_win(),
  })
end

return M
