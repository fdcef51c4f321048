-- Whether the user sees a chat, and what is to be done when one comes into sight.

local chats = require('agentchat.chat.actions')

local M = {}

--- Whether a window of this tab shows the chat.
---@param chat string uuid
---@return boolean
function M.of(chat)
  local found = chats.get(chat)
  return found ~= nil and vim.fn.bufwinid(found.buf) ~= -1
end

--- Calls `follow` soon after other windows have come into sight.
---@param name string who follows; following again replaces what was followed before
---@param follow fun()
function M.follow(name, follow)
  local group = vim.api.nvim_create_augroup('agentchat.sight.' .. name, {})
  vim.api.nvim_create_autocmd({ 'TabEnter', 'BufWinEnter', 'WinEnter', 'CmdwinLeave' }, {
    group = group,
    callback = vim.schedule_wrap(follow),
  })
end

--- Stops it.
---@param name string
function M.unfollow(name) pcall(vim.api.nvim_del_augroup_by_name, 'agentchat.sight.' .. name) end

return M
