--- What a user does with the code of an answer.
local code_block = require('agentchat.transcript.code_block')
local notify = require('agentchat.notify')

local M = {}

---@return agentchat.CodeBlock?
local function under_cursor(chat)
  local block = code_block.find(chat, vim.fn.line('.') - 1)
  if not block then notify.warn('no block of code under the cursor') end
  return block
end

--- Yanks the block under the cursor, without its fences, into the register that was named.
function M.yank(chat)
  local block = under_cursor(chat)
  if not block then return end
  vim.fn.setreg(vim.v.register, block.lines, 'l')
  notify.info(#block.lines == 1 and 'yanked 1 line' or ('yanked %d lines'):format(#block.lines))
end

return M
