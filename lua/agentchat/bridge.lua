--- Lua → Python: the one place where events leave. The other way, Python calls the modules by name.
local M = {}

--- Sends an event to the Python half, starting it if need be. Returns at once.
---@param name string
---@param payload table
function M.send(name, payload) require('agentchat.host').send(name, payload) end

return M
