--- Agents of other programs that a chat can be with: `agent://NAME`.
local actions = require('agentchat.chat.actions')
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local settings = require('agentchat.config.settings')

local M = {}

--- Those that need no settings; a test compares them with Python's.
M.KNOWN = { 'claude', 'codex', 'copilot', 'gemini', 'opencode', 'qwen', 'vibe' }

---@type agentchat.OpenOpts? how the chat opens whose agent the user is choosing
local wanted

--- The agents there are, sorted.
function M.names()
  local names = vim.list_extend(vim.tbl_keys(settings.get().agents), M.KNOWN)
  table.sort(names)
  return vim.fn.uniq(names)
end

--- Whether there is an agent of this name; warns if not.
function M.is_known(name)
  if vim.list_contains(M.names(), name) then return true end
  notify.warn(('Unknown agent %s. Known: %s.'):format(name, table.concat(M.names(), ', ')))
  return false
end

--- The arguments of `:AgentChat` that name an agent and begin with `lead`.
function M.urls(lead)
  local urls = vim.tbl_map(function(name) return 'agent://' .. name end, M.names())
  return vim.tbl_filter(function(url) return vim.startswith(url, lead) end, urls)
end

--- Lets the user choose an agent, then opens a chat with it.
---@param opts agentchat.OpenOpts
function M.select(opts)
  wanted = opts
  host.send('agents', { settings = settings.get(), cwd = vim.fn.getcwd(-1, 0) })
end

--- Offers the agents that Python has looked for.
---@param agents string[][] each a name and its state
function M.offer(agents)
  local opts = wanted
  wanted = nil
  if not opts then return end
  local select = {
    prompt = 'Agent:',
    kind = 'agentchat.agent',
    format_item = function(agent) return ('%s (%s)'):format(agent[1], agent[2]) end,
  }
  vim.ui.select(agents, select, function(agent)
    if agent then actions.open(vim.tbl_extend('force', opts, { partner = agent[1] })) end
  end)
end

return M
