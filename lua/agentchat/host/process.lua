--- The Python process: start, handshake, exit and restart.
local settings = require('agentchat.config.settings')
local events = require('agentchat.events')
local notify = require('agentchat.notify')
local python = require('agentchat.host.python')

local M = {}

M.VERSION = '0.1.0'

local READY_WITHIN = 30000 -- ms; a cold disk and uncompiled packages take several seconds
local LONGEST_PAUSE = 30000 -- ms between two starts of a host that keeps dying
local STEADY_AFTER = 60000 -- ms after which a host counts as healthy again
local STDERR_LINES = 200
local STDERR_BYTES = 10000 -- of a very long line

---@class agentchat.HostInfo
---@field version string
---@field python string
---@field pynvim string
---@field pid integer
---@field secrets string[] globs of paths in lower case, of files that ask before they are read

---@class agentchat.Host
---@field phase 'stopped'|'paused'|'starting'|'ready'
---@field job? integer
---@field interpreter? agentchat.Interpreter
---@field info? agentchat.HostInfo
---@field queue { [1]: string, [2]: table }[] events waiting for the host to be ready
---@field stderr string[]
---@field deaths integer in a row, of hosts that had been ready
---@field since integer ms, when it became ready
local host = { phase = 'stopped', queue = {}, stderr = {}, deaths = 0, since = 0 }

local function post(name, payload)
  local method = python.rplugin .. ':function:AgentchatEvent'
  return pcall(vim.rpcnotify, host.job, method, { name, payload })
end

---@class agentchat.HostListener
---@field ready fun() the host accepts events
---@field lost fun(line: string) what it did has ended; `line` says why

---@type agentchat.HostListener[]
local listeners = {}

function M.listen(listener) table.insert(listeners, listener) end

local function announce(event, line)
  for _, listener in ipairs(listeners) do
    listener[event](line)
  end
end

--- Forgets what was to be sent.
local function give_up(line)
  host.phase, host.job, host.queue = 'stopped', nil, {}
  announce('lost', line)
  notify.error(line)
end

local function on_stderr(_, data)
  local kept = host.stderr
  kept[#kept] = ((kept[#kept] or '') .. data[1]):sub(-STDERR_BYTES)
  for i = 2, #data do
    table.insert(kept, data[i])
  end
  while #kept > STDERR_LINES do
    table.remove(kept, 1)
  end
end

local function report_exit(code)
  local steady = vim.uv.now() - host.since > STEADY_AFTER
  host.deaths = steady and 1 or host.deaths + 1
  host.info = nil
  local how = code > 128 and ('signal %d'):format(code - 128) or ('exit %d'):format(code)
  events.fire('AgentHostExited', { code = code })
  give_up(('the Python host ended (%s); the next use starts it again'):format(how))
end

local function on_exit(job, code)
  if job ~= host.job then return end -- stopped on purpose
  if host.phase == 'ready' then return report_exit(code) end
  give_up(python.explain(host.interpreter, code, host.stderr))
end

local function start_payload()
  return {
    version = M.VERSION,
    state = vim.fn.stdpath('state') .. '/agentchat',
    config = vim.fn.stdpath('config'),
    runtime = vim.api.nvim_list_runtime_paths(),
    pid = vim.uv.os_getpid(),
  }
end

--- The directories of this Neovim: those of its tabs.
---@return string[]
function M.places()
  local places = {}
  for number in ipairs(vim.api.nvim_list_tabpages()) do
    table.insert(places, vim.fn.getcwd(-1, number))
  end
  return places
end

local function watch(job)
  vim.defer_fn(function()
    if host.job ~= job or host.phase ~= 'starting' then return end
    M.stop()
    give_up('the Python host does not answer: see :checkhealth agentchat')
  end, READY_WITHIN)
end

local function spawn()
  local found, problem = python.find(settings.get().python)
  if not found then return give_up(problem) end
  host.interpreter, host.stderr, host.phase = found, { '' }, 'starting'
  local ok, job = pcall(vim.fn.jobstart, python.command(found.path), {
    rpc = true,
    cwd = python.root,
    env = { PYTHONDONTWRITEBYTECODE = '' },
    on_stderr = on_stderr,
    on_exit = on_exit,
  })
  if not ok or job <= 0 then
    return give_up(('%s cannot be run: %s'):format(found.path, ok and 'not executable' or job))
  end
  host.job = job
  post('start', start_payload())
  watch(job)
end

---@return integer ms to wait before the next start
local function restart_delay()
  if host.deaths < 2 then return 0 end
  local wait = math.min(LONGEST_PAUSE, 1000 * 2 ^ (host.deaths - 2))
  return math.max(0, wait - (vim.uv.now() - host.since))
end

local function stop_with_nvim()
  local group = vim.api.nvim_create_augroup('agentchat.host', {})
  vim.api.nvim_create_autocmd('VimLeavePre', { group = group, callback = function() M.stop() end })
end

--- Starts the host unless it runs or is about to. Returns at once.
function M.ensure()
  if host.phase ~= 'stopped' then return end
  stop_with_nvim()
  host.phase = 'paused'
  local wait = restart_delay()
  if wait == 0 then return spawn() end
  vim.defer_fn(function()
    if host.phase == 'paused' then spawn() end
  end, wait)
end

--- Sends an event, now or as soon as the host is ready.
function M.send(name, payload)
  vim.validate('name', name, 'string')
  if host.phase == 'ready' and post(name, payload) then return end
  table.insert(host.queue, { name, payload })
  -- A dead channel raises a moment before `on_exit` is called, which then clears the queue.
  M.ensure()
end

--- Whether there is a screen; without one nobody could answer.
function M.has_ui() return #vim.api.nvim_list_uis() > 0 end

local function watch_uis()
  local function report()
    if M.is_ready() then M.send('attended', { attended = M.has_ui() }) end
  end
  vim.api.nvim_create_autocmd({ 'UIEnter', 'UILeave' }, {
    group = vim.api.nvim_create_augroup('agentchat.ui_attached', {}),
    desc = 'Report whether a user interface is attached',
    -- Later: a screen that leaves is still listed now.
    callback = vim.schedule_wrap(report),
  })
end

--- Accepts the host as ready, after the event `start`.
---@param info agentchat.HostInfo
function M.ready(info)
  if host.phase ~= 'starting' then return end
  if info.version ~= M.VERSION then
    M.stop()
    local line =
      'Neovim loaded version %s, Python version %s: restart Neovim, then run :AgentInstall'
    return give_up(line:format(M.VERSION, info.version))
  end
  host.phase, host.info, host.since = 'ready', info, vim.uv.now()
  watch_uis()
  if settings.get().mcp.serve then M.send('serve', { cwd = vim.fn.getcwd(-1, -1) }) end
  announce('ready')
  local queue = host.queue
  host.queue = {}
  for _, event in ipairs(queue) do
    M.send(event[1], event[2])
  end
  events.fire('AgentHostStarted', { python = info.python, pid = vim.fn.jobpid(host.job) })
end

--- Drops the events of a chat that still wait for the host.
function M.forget(chat)
  host.queue = vim
    .iter(host.queue)
    :filter(function(event) return event[2].chat ~= chat end)
    :totable()
end

--- Stops the host without a message.
function M.stop()
  local job = host.job
  host.phase, host.job, host.info = 'stopped', nil, nil
  if job then pcall(vim.fn.jobstop, job) end
end

--- Ends the host and starts a new one, if one ran. What still waits for it is sent to the new one.
function M.restart()
  if host.phase == 'stopped' then return end
  local was_ready = host.phase == 'ready'
  M.stop()
  if was_ready then announce('lost', 'the Python host was restarted') end
  host.deaths = 0
  M.ensure()
end

function M.is_ready() return host.phase == 'ready' end

function M.state() return host end

return M
