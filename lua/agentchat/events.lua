--- `User` autocommands other programs may rely on.
local notice = require('agentchat.notify')

local M = {}

--- Fires `User name`. What a listener breaks stays its own: it is told, and nothing else stops.
---@param name string
---@param data table<string, any>
function M.fire(name, data)
  local opts = { pattern = name, data = data, modeline = false }
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', opts)
  if not ok then notice.error(('an autocommand for %s failed: %s'):format(name, err)) end
end

return M
