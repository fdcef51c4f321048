--- `User` autocommands other programs may rely on. Whatever begins is reported to end, even where the
--- Python process that did it is gone.
local notify = require('agentchat.notify')

local M = {}

-- The `status` of a finished call, by the state its block ends in.
local STATUS = { cancelled = 'cancelled', failed = 'error' }

--- Fires `User name`. An error in a listener is reported, and nothing else stops.
function M.fire(name, data)
  local opts = { pattern = name, data = data, modeline = false }
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', opts)
  if not ok then notify.error(('an autocommand for %s failed: %s'):format(name, err)) end
end

function M.fire_chat(chat, name, data)
  if name == 'AgentApprovalRequested' then chat.asked[data.prompt] = data.tool end
  if name == 'AgentApprovalAnswered' then chat.asked[data.prompt] = nil end
  M.fire(name, vim.tbl_extend('force', data, { chat = chat.id, buf = chat.buf }))
end

--- Reports the end of a call that nobody continues.
function M.fire_lost_call(chat, block)
  local data = { tool = block.tool, call_id = block.id, status = STATUS[block.state] }
  M.fire_chat(chat, 'AgentToolFinished', data)
end

--- Reports the end of approval requests and turn.
---@param running boolean whether there was a turn
function M.fire_lost_turn(chat, running)
  for prompt, tool in pairs(vim.deepcopy(chat.asked)) do
    M.fire_chat(chat, 'AgentApprovalAnswered', { prompt = prompt, tool = tool, choice = 'cancel' })
  end
  if running then M.fire_chat(chat, 'AgentTurnFinished', { reason = 'error' }) end
end

return M
