--- Lua → Python: the one place where events leave. The other way, Python calls the modules by name.
local M = {}

--- Sends an event to the Python half, starting it if need be. Returns at once.
---@param name string
---@param payload table
function M.send(name, payload) require('agentchat.host.process').send(name, payload) end

--- Runs a function of the plugin for Python; a mistake in it is one line and an entry in the log.
---@param module string
---@param name string
---@param ... any
function M.run(module, name, ...)
  local ok, problem = xpcall(require(module)[name], debug.traceback, ...)
  if ok then return end
  M.send('failed', { text = tostring(problem) })
  local line = vim.split(tostring(problem), '\n')[1]
  require('agentchat.notify').error(('%s.%s failed: %s'):format(module, name, line))
end

return M
