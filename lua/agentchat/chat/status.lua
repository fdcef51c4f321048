--- The status of a chat, as other programs read it.
local M = {}

---@class agentchat.Status
---@field state 'idle'|'running'|'waiting'
---@field prompts integer approvals that wait
---@field pending integer previews that wait
---@field mode string
---@field model string
---@field turn integer
---@field tokens integer
---@field cost? number US dollars, if known
---@field context { used: integer, window?: integer } tokens

function M.new(mode)
  return {
    state = 'idle',
    prompts = 0,
    pending = 0,
    mode = mode,
    model = '',
    turn = 0,
    tokens = 0,
    context = { used = 0 },
  }
end

local function replace(chat, new)
  if vim.deep_equal(chat.status, new) then return end
  chat.status = new
  vim.cmd.redrawstatus({ bang = true })
end

function M.set(chat, fields) replace(chat, vim.tbl_extend('force', chat.status, fields)) end

--- Takes over the status that Python reports. A prompt that Python has not accepted yet keeps the chat
--- running: the report is older than the prompt.
function M.update(chat, report)
  local new = vim.tbl_extend('force', M.new(chat.status.mode), report)
  if #chat.outbox > 0 and new.state == 'idle' then new.state = 'running' end
  replace(chat, new)
end

return M
