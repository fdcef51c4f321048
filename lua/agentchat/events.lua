--- `User` autocommands other programs may rely on. Whatever begins is reported to end, even where the
--- Python process that did it is gone.
local notify = require('agentchat.notify')

local M = {}

--- Fires `User name`. An error in a listener is reported, and nothing else stops.
function M.fire(name, data)
  local opts = { pattern = name, data = data, modeline = false }
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', opts)
  if not ok then notify.error(('an autocommand for %s failed: %s'):format(name, err)) end
end

function M.fire_chat(chat, name, data)
  if name == 'AgentApprovalRequested' then chat.asked[data.prompt] = data.tool end
  if name == 'AgentApprovalAnswered' then chat.asked[data.prompt] = nil end
  if name == 'AgentTurnStarted' then chat.in_turn = true end
  if name == 'AgentTurnFinished' then chat.in_turn = false end
  M.fire(name, vim.tbl_extend('force', data, { chat = chat.id, buf = chat.buf }))
end

--- Reports the end of a call that nobody continues.
---@param status "error"|"cancelled"
function M.fire_lost_call(chat, block, status)
  M.fire_chat(chat, 'AgentToolFinished', { tool = block.tool, call_id = block.id, status = status })
end

--- Reports the end of approval requests and turn.
---@param reason? string why the turn ended, if there was one
function M.fire_lost_turn(chat, reason)
  for prompt, tool in pairs(vim.deepcopy(chat.asked)) do
    M.fire_chat(chat, 'AgentApprovalAnswered', { prompt = prompt, tool = tool, choice = 'cancel' })
  end
  if reason then M.fire_chat(chat, 'AgentTurnFinished', { reason = reason }) end
end

return M
