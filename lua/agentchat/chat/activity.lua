--- One line that says what a running chat waits for, and for how long. It is drawn over the blank line
--- above the prompt: nothing moves when it comes and goes.
local marks = require('agentchat.transcript.marks')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.activity')

local QUIET_MS = 1000 -- without anything new, before the line is shown

local function clear(chat)
  if api.nvim_buf_is_loaded(chat.buf) then api.nvim_buf_clear_namespace(chat.buf, ns, 0, -1) end
end

--- Something was written to the chat, or it has ended.
function M.reset(chat)
  chat.quiet_since = vim.uv.now()
  clear(chat)
end

local function doing(chat)
  for _, block in ipairs(chat.transcript.blocks) do
    if block.state == 'running' then return 'running ' .. (block.tool or 'a tool') end
  end
  return 'thinking'
end

local function elapsed(ms)
  local seconds = math.floor(ms / 1000)
  if seconds < 60 then return ('%d s'):format(seconds) end
  return ('%d min %d s'):format(math.floor(seconds / 60), seconds % 60)
end

--- Draws the line of a running chat; a line about a retry says the same already.
function M.draw(chat)
  if not api.nvim_buf_is_loaded(chat.buf) then return end
  clear(chat)
  local quiet = vim.uv.now() - (chat.quiet_since or chat.since or vim.uv.now())
  if quiet < QUIET_MS or chat.transcript.pen.retry then return end
  local row = marks.header(chat) - 1
  if row < 0 or api.nvim_buf_get_lines(chat.buf, row, row + 1, false)[1] ~= '' then return end
  api.nvim_buf_set_extmark(chat.buf, ns, row, 0, {
    virt_text = {
      { '● ', 'AgentChatRunning' },
      { ('%s %s'):format(doing(chat), elapsed(quiet)), 'AgentChatFact' },
      { ' · <C-c> stops', 'AgentChatPlaceholder' },
    },
    virt_text_pos = 'overlay',
  })
end

return M
