--- Options of single tools, `tools.opts`: their functions, which only Lua can call.
local notify = require('agentchat.notify')
local settings = require('agentchat.config.settings')

local M = {}

local FUNCTION = 'function' -- what Python gets for a function that decides about calls

-- What an option is worth where its function fails.
local IN_DOUBT = { enabled = false }

local reported = {}

local function report_once(line)
  if reported[line] then return end
  reported[line] = true
  notify.warn(line)
end

--- The value of an option that belongs to the tool, not to a call.
local function value_of(tool, option, value)
  if type(value) ~= 'function' then return value end
  local ok, result = pcall(value)
  if option == 'enabled' and ok then return result and true or false end
  if ok and (result == nil or type(result) == 'string') then return result end
  local problem = ok and ('returned a %s, no string'):format(type(result))
    or ('failed: %s'):format(result)
  report_once(('tools.opts.%s.%s %s'):format(tool, option, problem))
  return IN_DOUBT[option]
end

local PER_CALL = { require_approval_before = true, allowed_in_yolo_mode = true }

--- The settings of a buffer as Python can be sent them: a function is replaced by its value, or is
--- called later.
---@param buf? integer
function M.sendable(buf)
  local all = settings.get(buf)
  local opts = vim.empty_dict()
  for tool, options in pairs(all.tools.opts) do
    local plain = vim.empty_dict()
    for option, value in pairs(options) do
      local later = PER_CALL[option] and type(value) == 'function'
      plain[option] = later and FUNCTION or value_of(tool, option, value)
    end
    opts[tool] = plain
  end
  local tools = vim.tbl_extend('force', all.tools, { opts = opts })
  return vim.tbl_extend('force', all, { tools = tools })
end

--- What a function says about one call. An error is raised in Python, where the call then asks.
---@param chat? agentchat.Chat
---@param tool string its name in `tools.opts`
---@param args table<string, any> of the call
---@return boolean
function M.decide(chat, tool, option, args)
  local buf = chat and chat.buf
  local options = settings.get(buf).tools.opts[tool] or {}
  local value = options[option]
  if type(value) ~= 'function' then
    error(('tools.opts.%s.%s is no function any more'):format(tool, option), 0)
  end
  local about = { tool = tool, chat = chat and chat.id, buf = buf, cwd = chat and chat.cwd }
  return value(args, about) and true or false
end

return M
