--- One line that says what a running chat waits for, and for how long. It is drawn over the blank line
--- above the prompt: nothing moves when it comes and goes.
local layout = require('agentchat.ui.layout')
local marks = require('agentchat.transcript.marks')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.activity')

local QUIET_MS = 1000 -- without anything new, before the line is shown
local STOP, STOP_SHORT = ' · <C-c> stops', ' · <C-c>'
local SHORTEST = 8 -- cells for what the chat does; the seconds and the key count more

---@class agentchat.Activity
---@field text string what Python waits for
---@field delay integer ms until it tries again

local function clear(chat)
  if api.nvim_buf_is_loaded(chat.buf) then api.nvim_buf_clear_namespace(chat.buf, ns, 0, -1) end
end

--- Something was written to the chat, or it has ended.
function M.reset(chat)
  chat.quiet_since, chat.activity = vim.uv.now(), nil
  clear(chat)
end

local function elapsed(ms)
  local seconds = math.floor(ms / 1000)
  if seconds < 60 then return ('%d s'):format(seconds) end
  return ('%d min %d s'):format(math.floor(seconds / 60), seconds % 60)
end

local function running_tool(chat)
  for _, block in ipairs(chat.transcript.blocks) do
    if block.state == 'running' then return 'running ' .. (block.tool or 'a tool') end
  end
end

---@param quiet integer ms since something was written
---@return string what, string how_long
local function doing(chat, quiet)
  local activity = chat.activity
  if not activity then return running_tool(chat) or 'thinking', ' ' .. elapsed(quiet) end
  if activity.delay == 0 then return activity.text, ' ' .. elapsed(quiet) end
  if quiet >= activity.delay then
    return activity.text, ', trying again ' .. elapsed(quiet - activity.delay)
  end
  local waited = (', waiting %d of %s'):format(quiet / 1000, elapsed(activity.delay))
  return activity.text, waited
end

--- What fits into a line: the seconds and the key always do.
---@param room integer cells
---@return string text, string stop
local function fit(what, how_long, room)
  for _, stop in ipairs({ STOP, STOP_SHORT }) do
    local left = room - api.nvim_strwidth('● ' .. how_long .. stop)
    if left >= api.nvim_strwidth(what) then return what .. how_long, stop end
  end
  local left = room - api.nvim_strwidth('● ' .. how_long .. STOP_SHORT)
  if left < SHORTEST then return (how_long:gsub('^[, ]+', '')), STOP_SHORT end
  return layout.cut_words(what, left) .. how_long, STOP_SHORT
end

--- Draws the line of a running chat, unless something was written just now.
function M.draw(chat)
  if not api.nvim_buf_is_loaded(chat.buf) then return end
  clear(chat)
  local quiet = vim.uv.now() - (chat.quiet_since or chat.since or vim.uv.now())
  if quiet < QUIET_MS and not chat.activity then return end
  local row = marks.header(chat) - 1
  if row < 0 or api.nvim_buf_get_lines(chat.buf, row, row + 1, false)[1] ~= '' then return end
  local what, how_long = doing(chat, quiet)
  local text, stop = fit(what, how_long, layout.room(chat.buf))
  api.nvim_buf_set_extmark(chat.buf, ns, row, 0, {
    virt_text = {
      { '● ', 'AgentChatRunning' },
      { text, 'AgentChatFact' },
      { stop, 'AgentChatPlaceholder' },
    },
    virt_text_pos = 'overlay',
  })
end

return M
