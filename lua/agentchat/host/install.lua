--- `:AgentInstall`: the plugin's own Python environment, made or brought up to date.
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local programs = require('agentchat.host.programs')
local python = require('agentchat.host.python')

local M = {}

local CANDIDATES = { 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3', 'python' }
local LONGEST = 10 * 60 * 1000 -- ms; a slow line may take minutes for the packages
-- Where packages come from, and how they are reached.
local NETWORK = {
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'PIP_CONFIG_FILE',
  'PIP_INDEX_URL',
  'PIP_EXTRA_INDEX_URL',
  'PIP_FIND_LINKS',
  'PIP_NO_INDEX',
  'PIP_TRUSTED_HOST',
  'PIP_CERT',
  'PIP_PROXY',
  'PIP_CACHE_DIR',
  'UV_DEFAULT_INDEX',
  'UV_INDEX',
  'UV_INDEX_URL',
  'UV_CACHE_DIR',
} -- stylua: ignore
local VERSION = 'import sys; print("%d.%d" % sys.version_info[:2])'

---@type string? what is going on, while an installation runs
local running_step

local function is_headless() return #vim.api.nvim_list_uis() == 0 end

local function report(text)
  if is_headless() then return io.stdout:write('agentchat: ', notify.printable(text), '\n') end
  notify.info(text)
end

--- Runs a program; resumes the installation with its result.
local function run(command)
  local thread = coroutine.running()
  local env = programs.environment(NETWORK)
  env.PIP_DISABLE_PIP_VERSION_CHECK = '1'
  local opts = { text = true, env = env, cwd = python.root, timeout = LONGEST }
  local resume = vim.schedule_wrap(function(done) coroutine.resume(thread, done) end)
  if programs.run(command, opts, resume) then return coroutine.yield() end
  return { code = 127, signal = 0, stdout = '', stderr = command[1] .. ' does not start' }
end

---@return string the most informative line
local function reason(done)
  local lines = vim.split(vim.trim(done.stderr .. '\n' .. done.stdout), '\n')
  for _, line in ipairs(lines) do
    if line:find('^%s*ERROR') or line:find('Error:') then return vim.trim(line) end
  end
  return vim.trim(lines[1] or '') ~= '' and vim.trim(lines[1]) or ('exit %d'):format(done.code)
end

--- Reports that a step is over, with its seconds.
local function report_time(what, began)
  report(('%s: %.1f s'):format(what, (vim.uv.hrtime() - began) / 1e9))
end

--- Runs a step: a line says what is done, and one how long it took.
---@param what string
---@param commands string[][] each is tried if the one before fails
local function step(what, commands)
  running_step = what
  if not is_headless() then report(what .. ' …') end
  local began, done = vim.uv.hrtime(), nil
  for _, command in ipairs(commands) do
    done = run(command)
    if done.code == 0 then return report_time(what, began) end
  end
  error(('%s failed: %s'):format(what, reason(done)), 0)
end

local function new_enough(version)
  return version ~= nil and vim.version.cmp(version, python.OLDEST) >= 0
end

---@return string? version like `3.12`, or nil if it does not run
local function version_of(path)
  local done = run({ path, '-c', VERSION })
  return done.code == 0 and vim.trim(done.stdout):match('^%d+%.%d+$') or nil
end

---@return string path, string version
local function find_python()
  local old
  for _, name in ipairs(CANDIDATES) do
    local path = programs.find(name)
    local version = path and version_of(path) or nil
    if new_enough(version) then return path, version end
    old = old or version
  end
  local found = old and (' (found %s)'):format(old) or ''
  error(
    ('Python %s or newer is needed%s: install one, then run :AgentInstall'):format(
      python.OLDEST,
      found
    ),
    0
  )
end

--- Makes the environment. Some systems split pip's bootstrap off; then the outer pip fills it.
---@return string[] pip the command
local function create(base)
  local venv = python.venv()
  local inner = venv .. '/bin/python'
  if new_enough(version_of(inner)) and run({ inner, '-m', 'pip', '--version' }).code == 0 then
    return { inner, '-m', 'pip' }
  end
  vim.fn.mkdir(vim.fs.dirname(venv), 'p')
  if run({ base, '-m', 'venv', '--clear', venv }).code == 0 then return { inner, '-m', 'pip' } end
  step('creating the environment', { { base, '-m', 'venv', '--clear', '--without-pip', venv } })
  return { base, '-m', 'pip', '--python', inner }
end

--- The command of uv, which is faster than pip and does not know its settings; nil where pip has some.
local function find_uv()
  local of_pip = vim
    .iter(vim.fn.environ())
    :any(function(name) return vim.startswith(name, 'PIP_') end)
  return not of_pip and programs.find('uv') or nil
end

--- The ways to install the packages, the fastest first.
local function installers(base)
  local began = vim.uv.hrtime()
  local pip = create(base)
  report_time('environment', began)
  local inner, uv = python.venv() .. '/bin/python', find_uv()
  local wanted = { '--upgrade', '-r', python.root .. '/requirements.txt' }
  local by_pip = vim.list_extend(vim.list_extend({}, pip), { 'install', '--quiet', '--no-input' })
  local ways = { vim.list_extend(by_pip, wanted) }
  local by_uv = { uv, 'pip', 'install', '--quiet', '--python', inner }
  if uv then table.insert(ways, 1, vim.list_extend(by_uv, wanted)) end
  return ways
end

--- Makes `:help agentchat` work where no plugin manager has.
local function index_help() pcall(vim.cmd.helptags, vim.fs.joinpath(python.root, 'doc')) end

local function install()
  local base, version = find_python()
  report(
    ('installing for Python %s into %s'):format(version, vim.fn.fnamemodify(python.venv(), ':~'))
  )
  step('installing packages', installers(base))
  local inner = python.venv() .. '/bin/python'
  -- Uncompiled, the packages take nearly twice as long to load. What does not compile is not used.
  local compile = { inner, '-m', 'compileall', '-q', '-j', '0' }
  vim.list_extend(compile, { python.venv() .. '/lib', python.root .. '/python3' })
  step('compiling them', { compile, { inner, '-c', '' } })
  step('checking', { { inner, '-c', 'import pynvim, msgpack, pydantic' } })
  index_help()
end

local function finish(problem)
  running_step = nil
  if problem then
    if is_headless() then return report(problem) end
    return notify.error(problem)
  end
  report('installed: the Python environment is ready')
  host.restart()
end

--- Whether Neovim runs only to install: then it must wait, and its exit code shows the result.
local function is_script()
  local args = vim.v.argv
  return is_headless()
    and vim.list_contains(args, '--headless')
    and not vim.list_contains(args, '--embed')
end

--- Creates or updates the environment. Returns at once, except where no one is looking.
function M.run()
  if running_step then return notify.warn(('already %s'):format(running_step)) end
  running_step = 'looking for Python'
  local failed = false
  coroutine.wrap(function()
    local ok, err = pcall(install)
    failed = not ok
    finish(not ok and tostring(err) or nil)
  end)()
  if not is_headless() then return end
  vim.wait(LONGEST, function() return running_step == nil end, 50)
  if failed and is_script() then vim.cmd.cquit() end
end

return M
