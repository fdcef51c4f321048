--- `:checkhealth agentchat`.
local context = require('agentchat.prompt.context')
local settings = require('agentchat.config.settings')
local tool_options = require('agentchat.config.tool_options')
local host = require('agentchat.host.process')
local programs = require('agentchat.host.programs')
local python = require('agentchat.host.python')

local M = {}

local health = vim.health

local PACKAGES = {
  'pynvim',
  'msgpack',
  'httpx2',
  'pydantic',
  'pygments',
  'pathspec',
  'pyyaml',
  'pillow',
  'beautifulsoup4',
  'markdownify',
  'genai-prices',
}

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

-- Programs that :AgentInstall brings along, and what needs them.
local INSTALLED =
  { ['ast-grep'] = 'ast_edit', rg = 'grep and find', shfmt = 'rules about commands' }

---@param env? table<string, string> its environment, if not the one of every program
---@return string? output nil if the command failed
local function output_of(command, timeout, env)
  local running = programs.run(command, { text = true, timeout = timeout, env = env })
  local done = running and running:wait()
  return done and done.code == 0 and done.stdout or nil
end

local function check_neovim()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.11') == 1 then return health.ok('Neovim ' .. version) end
  health.error(('Neovim %s is too old'):format(version), 'Install Neovim 0.11 or newer.')
end

local function check_packages(found)
  local command = vim.list_extend({ found.path, '-c', PROBE }, PACKAGES)
  local output = output_of(command, 10000)
  if not output then return health.error('Python does not run', 'Run :AgentInstall.') end
  for line in vim.gsplit(vim.trim(output), '\n') do
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
  local found, problem = python.find(settings.get().python)
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
  if words ~= '' then health.warn('its last output:\n' .. words) end
end

-- What the settings mean is known to Python: a process of its own reports it, with or without a host.
local CHECKUP = [[
import sys
sys.path.insert(0, sys.argv[1])
from agentchat.nvim.health import main
main(sys.argv[2])
]]

---@return table<string, [string, string][]>? parts nil where Python or its packages are missing
local function ask_python(found)
  if not found then return nil end
  local asked = vim.json.encode({
    settings = tool_options.sendable(),
    config = vim.fn.stdpath('config'),
    trust = vim.fn.stdpath('state') .. '/trust',
    root = vim.uv.fs_realpath(vim.fn.getcwd()),
    servers = host.state().phase == 'ready' and context.offered(vim.fn.getcwd()).servers or nil,
    state = vim.fn.stdpath('state') .. '/agentchat',
  })
  local command = { found.path, '-c', CHECKUP, python.root .. '/python3', asked }
  local ok, parts = pcall(vim.json.decode, output_of(command, 30000, vim.fn.environ()) or '')
  return ok and parts or nil
end

local PARTS = {
  model = 'Model',
  rules = 'Rules',
  mcp = 'MCP servers',
  sandbox = 'Sandbox',
  commands = 'Commands',
  stage = 'Stage mode',
}

local function report_part(parts, name)
  health.start(PARTS[name])
  if not parts then return health.info('not checked: no working Python') end
  for _, line in ipairs(parts[name]) do
    health[line[1]](line[2])
  end
end

---@param beside? string a folder that need not be on $PATH
---@return boolean whether the program is there
local function check_program(name, beside)
  local path = programs.find(name) or (beside and programs.find(beside .. '/' .. name))
  if path then health.ok(('%s: %s'):format(name, vim.fn.fnamemodify(path, ':~'))) end
  return path ~= nil
end

local function check_programs(found)
  health.start('Programs')
  local beside = found and vim.fs.dirname(found.path)
  for name, use in vim.spairs(INSTALLED) do
    if not check_program(name, beside) then
      health.warn(('%s is missing (for %s)'):format(name, use), 'Run :AgentInstall.')
    end
  end
  local ssh = settings.get().ssh.command[1] or 'ssh'
  for name, use in vim.spairs({ git = '`#diff`', [ssh] = 'other machines' }) do
    if not check_program(name) then health.info(('%s was not found (for %s)'):format(name, use)) end
  end
end

local function check_settings()
  health.start('Settings')
  local problems = settings.problems(vim.api.nvim_get_current_buf())
  for _, problem in ipairs(problems) do
    health.error(problem)
  end
  if #problems == 0 then health.ok('no errors in g:agentchat') end
  local state = vim.fn.stdpath('state') .. '/agentchat'
  local made = pcall(vim.fn.mkdir, state, 'p')
  if made and vim.fn.filewritable(state) == 2 then
    return health.ok('journals are in ' .. vim.fn.fnamemodify(state, ':~'))
  end
  health.error(state .. ' is not writable', 'Make it writable: chats are saved there.')
end

function M.check()
  check_neovim()
  check_python()
  check_host()
  local found = python.find(settings.get().python)
  local parts = ask_python(found)
  report_part(parts, 'model')
  check_programs(found)
  check_settings()
  report_part(parts, 'rules')
  report_part(parts, 'mcp')
  report_part(parts, 'sandbox')
  report_part(parts, 'stage')
  report_part(parts, 'commands')
end

return M
