--- Which Python runs the host, and why a host did not start.
local programs = require('agentchat.host.programs')

local M = {}

M.OLDEST = '3.11'

local function source_root()
  local file = debug.getinfo(1, 'S').source:sub(2)
  return vim.fs.dirname(
    vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.uv.fs_realpath(file) or file)))
  )
end

--- The folder of the plugin itself.
M.root = source_root()
M.rplugin = M.root .. '/rplugin/python3/agentchat_rplugin.py'

--- The environment made by `:AgentInstall`.
function M.venv() return vim.fn.stdpath('data') .. '/agentchat/venv' end

---@class agentchat.Interpreter
---@field path string
---@field from string where it was found

---@return { path: string?, from: string }[]
local function candidates()
  return {
    { path = M.venv() .. '/bin/python', from = 'the environment of :AgentInstall' },
    { path = M.root .. '/.venv/bin/python', from = "the checkout's .venv" },
    { path = vim.g.python3_host_prog, from = 'g:python3_host_prog' },
    { path = 'python3', from = '$PATH' },
  }
end

local function executable(path)
  if type(path) ~= 'string' or path == '' then return nil end
  return programs.find(vim.fn.expand(path))
end

--- The interpreter that applies: the one set by the user, else the first that exists.
---@param wanted? string `python` of the settings
---@return agentchat.Interpreter? found
---@return string? problem
function M.find(wanted)
  if wanted then
    local path = executable(wanted)
    if path then return { path = path, from = 'g:agentchat.python' } end
    return nil, ('g:agentchat.python is not a program: %s'):format(wanted)
  end
  for _, place in ipairs(candidates()) do
    local path = executable(place.path)
    if path then return { path = path, from = place.from } end
  end
  return nil,
    ('no Python found: install Python %s or newer, then run :AgentInstall'):format(M.OLDEST)
end

-- The plugin is imported before the host starts, so that a missing package ends the process with
-- its name on stderr instead of leaving a host behind that answers nothing.
local BOOT = table.concat({
  'import sys',
  "if sys.version_info < (3, 11): sys.exit('agentchat: python %d.%d' % sys.version_info[:2])",
  -- What is imported stays: looking for garbage in it costs a tenth of the start.
  'import gc',
  'gc.disable()',
  'import os, pynvim',
  -- Neovim speaks through a copy of standard input: a program that a tool starts reads nothing.
  "sys.stdin = os.fdopen(os.dup(0), 'rb', 0)",
  'os.dup2(os.open(os.devnull, os.O_RDONLY), 0)',
  -- Nor is a module imported from the directory a tool works in.
  'sys.path = [path for path in sys.path if path]',
  'sys.path.append(os.path.dirname(sys.argv[1]))',
  "__import__('agentchat_rplugin')",
  'gc.freeze()',
  -- Nor is it looked for often while the HTTP library is imported, later.
  'gc.set_threshold(10000)',
  'gc.enable()',
  'pynvim.start_host()',
}, '\n')

function M.command(path) return { path, '-c', BOOT, M.rplugin } end

local function last_line(lines)
  for i = #lines, 1, -1 do
    local line = vim.trim(lines[i])
    if line ~= '' then return line end
  end
end

local function remedy(interpreter)
  if interpreter.from == 'g:agentchat.python' then
    return 'fix or unset g:agentchat.python, or run :AgentInstall'
  end
  return 'run :AgentInstall'
end

--- Why a host ended before it was ready, in one line with the remedy.
---@param code integer exit code
---@param lines string[] its stderr
function M.explain(interpreter, code, lines)
  local text = table.concat(lines, '\n')
  local where = vim.fn.fnamemodify(interpreter.path, ':~')
  local old = text:match('agentchat: python (%d+%.%d+)')
  if old then
    return ('Python %s (%s) is too old, %s is needed: %s'):format(
      old,
      where,
      M.OLDEST,
      remedy(interpreter)
    )
  end
  local missing = text:match("ModuleNotFoundError: No module named '([^']+)'")
  if missing and not vim.startswith(missing, 'agentchat') then
    return ('the Python package %s is missing (%s): %s'):format(missing, where, remedy(interpreter))
  end
  local words = last_line(lines) or 'no message'
  return ('the host did not start (exit %d: %s): see :checkhealth agentchat'):format(code, words)
end

return M
