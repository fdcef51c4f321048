--- What a user does with the code of an answer.
local code_block = require('agentchat.transcript.code_block')
local code_target = require('agentchat.transcript.code_target')
local goto_file = require('agentchat.chat.goto_file')
local host = require('agentchat.host.process')
local marks = require('agentchat.transcript.marks')
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

--- Proposes to put the block under the cursor into the file of the last code window, as a preview to
--- review. In the prompt the key puts text, as elsewhere.
function M.insert(chat)
  if vim.fn.line('.') > marks.header(chat) then
    return vim.cmd.normal({ ('"%s%dgp'):format(vim.v.register, vim.v.count1), bang = true })
  end
  local block, win = under_cursor(chat), goto_file.other_window()
  if not block then return end
  if chat.remote then return notify.warn('only a chat on this machine can put code into a file') end
  local path = win and vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)) or ''
  if path == '' then return notify.warn('no window with a file to put the code into') end
  local target = code_target.find(assert(win), block.lines)
  host.send('insert_code', {
    chat = chat.id,
    path = path,
    line = target.first,
    last = target.last,
    code = target.lines,
  })
end

return M
