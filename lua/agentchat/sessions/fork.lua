--- A copy of a chat that ends at a message: to ask something else from there on.
local actions = require('agentchat.chat.actions')
local marks = require('agentchat.transcript.marks')
local messages = require('agentchat.transcript.messages')
local notify = require('agentchat.notify')

local M = {}

--- The text between two rows, as the user reads it.
local function text_of(chat, first, last)
  local lines = vim.api.nvim_buf_get_lines(chat.buf, first, last, false)
  return vim.trim(table.concat(lines, '\n'))
end

--- Continues in a copy. On a message of the user the copy ends before it, and its text is in the
--- prompt to be changed; on an answer the copy ends after it.
function M.at_cursor(chat)
  if chat.status.state ~= 'idle' then
    return notify.warn('a fork needs an idle chat: stop it first with :AgentStop')
  end
  local row, requests, under, below = vim.fn.line('.') - 1, 0, nil, marks.header(chat)
  for _, header in ipairs(messages.headers(chat)) do
    if header.row > row then
      below = header.row
      break
    end
    under = header
    if header.role == 'user' then requests = requests + 1 end
  end
  if not under then return notify.warn('no message under the cursor to fork at') end
  local is_user = under.role == 'user' and row < marks.header(chat)
  actions.resume({
    chat = chat.id,
    cwd = chat.remote or chat.cwd,
    fork = true,
    requests = is_user and requests - 1 or requests,
    prompt = is_user and text_of(chat, under.row + 1, below) or nil,
  })
end

return M
