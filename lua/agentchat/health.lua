--- `:checkhealth agentchat`.
local config = require('agentchat.config')
local host = require('agentchat.host')
local python = require('agentchat.python')

local M = {}

local health = vim.health

local PACKAGES = { 'pynvim', 'msgpack', 'openai', 'pydantic', 'pygments' }

-- Tells the version of Python and of each package, a line each, without importing them.
local PROBE = [[
import sys
from importlib.metadata import version, PackageNotFoundError
print("python %d.%d.%d" % sys.version_info[:3])
for name in sys.argv[1:]:
    try:
        print(name, version(name))
    except PackageNotFoundError:
        print(name)
]]

local function check_neovim()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.11') == 1 then return health.ok('Neovim ' .. version) end
  health.error(('Neovim %s is too old'):format(version), 'Install Neovim 0.11 or newer.')
end

---@param found agentchat.Interpreter
local function check_packages(found)
  local command = vim.list_extend({ found.path, '-c', PROBE }, PACKAGES)
  local ok, done = pcall(
    function() return vim.system(command, { text = true, timeout = 10000 }):wait() end
  )
  if not ok or done.code ~= 0 then return health.error('it does not run', 'Run :AgentInstall.') end
  for line in vim.gsplit(vim.trim(done.stdout), '\n') do
    local name, version = line:match('^(%S+)%s*(.*)$')
    if name == 'python' and vim.version.lt(version, python.OLDEST) then
      health.error(('Python %s is too old'):format(version), 'Run :AgentInstall.')
    elseif version == '' then
      health.error(('the Python package %s is missing'):format(name), 'Run :AgentInstall.')
    else
      health.ok(('%s %s'):format(name, version))
    end
  end
end

local function check_python()
  health.start('Python')
  local found, problem = python.find(config.get().python)
  if not found then return health.error(problem, 'Run :AgentInstall.') end
  health.info(('%s (from %s)'):format(vim.fn.fnamemodify(found.path, ':~'), found.from))
  check_packages(found)
end

local function check_host()
  health.start('Host')
  local state = host.state()
  if state.phase == 'ready' then
    return health.ok(
      ('running, version %s, pid %d'):format(state.info.version, vim.fn.jobpid(state.job))
    )
  end
  health.info(('%s; it starts with the first chat'):format(state.phase))
  local words = vim.trim(table.concat(state.stderr, '\n'))
  if words ~= '' then health.warn('its last words:\n' .. words) end
end

local function check_model()
  health.start('Model')
  local model = config.get().model or {}
  local key = vim.env[model.api_key_env or 'OPENAI_API_KEY'] or model.api_key_cmd
  local base = model.base_url or vim.env.OPENAI_BASE_URL
  local name = model.name or vim.env.AGENTCHAT_MODEL
  if model.provider == 'offline' or not (key or base or next(model)) then
    return health.info(
      'the built-in offline model: set $OPENAI_API_KEY, or g:agentchat.model, to connect one'
    )
  end
  health.ok(('%s at %s'):format(name or 'the default model', base or 'the default address'))
  if key then return health.ok('a key is set') end
  health.warn(
    'no key is set; most servers refuse that',
    'Set $OPENAI_API_KEY, or model.api_key_cmd.'
  )
end

local function check_programs()
  health.start('Programs')
  local found = python.find(config.get().python)
  local beside = found and vim.fs.dirname(found.path) or ''
  for name, use in
    vim.spairs({ ['ast-grep'] = 'ast_edit', rg = 'grep and find', shfmt = 'bash rules' })
  do
    local path = vim.fn.exepath(name)
    if path == '' then path = vim.fn.exepath(beside .. '/' .. name) end
    if path ~= '' then
      health.ok(('%s: %s'):format(name, vim.fn.fnamemodify(path, ':~')))
    else
      health.warn(('%s is missing (for %s)'):format(name, use), 'Run :AgentInstall.')
    end
  end
end

local function check_settings()
  health.start('Settings')
  local problems = config.problems(vim.api.nvim_get_current_buf())
  for _, problem in ipairs(problems) do
    health.error(problem)
  end
  if #problems == 0 then health.ok('nothing wrong in g:agentchat') end
  local state = vim.fn.stdpath('state') .. '/agentchat'
  local made = pcall(vim.fn.mkdir, state, 'p')
  if made and vim.fn.filewritable(state) == 2 then
    return health.ok('journals go to ' .. vim.fn.fnamemodify(state, ':~'))
  end
  health.error(state .. ' cannot be written', 'Make it writable; chats are kept there.')
end

function M.check()
  check_neovim()
  check_python()
  check_host()
  check_model()
  check_programs()
  check_settings()
end

return M
