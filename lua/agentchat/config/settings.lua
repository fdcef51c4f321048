--- Settings: read from `g:agentchat` and `b:agentchat` whenever they are needed.
local notify = require('agentchat.notify')
local schema = require('agentchat.config.schema')

local M = {}

local function defaults()
  return {
    tools = {
      default = { 'agent' },
      paths = {},
      edits = 'ask',
      deferred_threshold = 15,
      always_load = {},
      max_parallel = 10,
      groups = vim.empty_dict(),
      opts = vim.empty_dict(),
    },
    mcp = { servers = vim.empty_dict(), serve = true },
    agents = vim.empty_dict(),
    rules = {},
    mode = 'ask',
    max_rounds = 100,
    compact = 'ask',
    sandbox = 'off',
    commands = { unasked = 'isolated', limits = { processes = 512, memory_mb = 4096 } },
    stage = { network = 'ask', quota_mb = 2048, visible = {}, ignored = 'drop' },
    ssh = { command = { 'ssh' } },
    ui = {
      prompt_delay_ms = 400,
      side_by_side = 'auto',
      conceal = true,
      terminal_notify = 'off',
    },
  }
end

--- Merges `over` into `under`; lists are replaced as a whole.
local function merge(under, over)
  for key, value in pairs(over) do
    local both = type(value) == 'table' and type(under[key]) == 'table'
    if
      both
      and not (vim.islist(value) and #value > 0)
      and not (vim.islist(under[key]) and #under[key] > 0)
    then
      under[key] = merge(under[key], value)
    else
      under[key] = value
    end
  end
  return under
end

---@return table settings, string[] problems
local function read(buf)
  local settings, problems = defaults(), {}
  local sources = { ['g:agentchat'] = vim.g.agentchat }
  if buf and vim.api.nvim_buf_is_valid(buf) then sources['b:agentchat'] = vim.b[buf].agentchat end
  for _, path in ipairs({ 'g:agentchat', 'b:agentchat' }) do
    if sources[path] ~= nil and sources[path] ~= vim.NIL then
      local kept, found = schema.check(sources[path], path)
      merge(settings, kept)
      vim.list_extend(problems, found)
    end
  end
  return settings, problems
end

--- The settings that apply to a buffer, with what is wrong in them left out and reported once.
function M.get(buf)
  local settings, problems = read(buf)
  notify.warn_of_settings(problems)
  return settings
end

--- What is wrong in the settings now, a line each.
function M.problems(buf)
  local _, problems = read(buf)
  return problems
end

--- Merges `opts` into `g:agentchat`; the same as setting the variable.
function M.setup(opts)
  vim.validate('opts', opts, 'table', true)
  local old = vim.g.agentchat
  if type(old) ~= 'table' then old = {} end
  vim.g.agentchat = merge(old, opts or {})
end

return M
