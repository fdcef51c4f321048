--- What other programs hear of a chat. Each thing that begins is heard to end, even where the Python
--- process that did it is gone.
local events = require('agentchat.events')

local M = {}

-- How the end of a call is called, by the state its block ends in.
local STATUS = { cancelled = 'cancelled', failed = 'error' }

--- Fires a `User` event of a chat.
---@param chat agentchat.Chat
---@param name string
---@param data table
function M.tell(chat, name, data)
  if name == 'AgentApprovalRequested' then chat.asked[data.prompt] = data.tool end
  if name == 'AgentApprovalAnswered' then chat.asked[data.prompt] = nil end
  events.fire(name, vim.tbl_extend('force', data, { chat = chat.id, buf = chat.buf }))
end

--- Tells the end of a call that nobody goes on with.
---@param chat agentchat.Chat
---@param block agentchat.Block
function M.lost_call(chat, block)
  local data = { tool = block.tool, call_id = block.id, status = STATUS[block.state] }
  M.tell(chat, 'AgentToolFinished', data)
end

--- Tells the end of prompts and turn.
---@param chat agentchat.Chat
---@param running boolean whether there was a turn
function M.lost(chat, running)
  for prompt, tool in pairs(vim.deepcopy(chat.asked)) do
    M.tell(chat, 'AgentApprovalAnswered', { prompt = prompt, tool = tool, choice = 'cancel' })
  end
  if running then M.tell(chat, 'AgentTurnFinished', { reason = 'error' }) end
end

return M
