--- Whether somebody sees this editor, as Python must know whenever it would ask.
local M = {}

--- Whether there is a screen; without one nobody could answer.
---@return boolean
function M.now() return #vim.api.nvim_list_uis() > 0 end

local function tell()
  local host = require('agentchat.host.process')
  if host.is_ready() then host.send('attended', { attended = M.now() }) end
end

--- Tells Python of every screen that comes or goes.
function M.follow()
  vim.api.nvim_create_autocmd({ 'UIEnter', 'UILeave' }, {
    group = vim.api.nvim_create_augroup('agentchat.attendance', {}),
    desc = 'Say whether somebody can be asked',
    -- Later: a screen that leaves is still listed now.
    callback = vim.schedule_wrap(tell),
  })
end

return M
