--- The status of a chat, as other programs read it.
local activity = require('agentchat.chat.activity')
local registry = require('agentchat.chat.registry')

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
---@field agent? { name: string, version: string, session: string, state: string } whom it is with
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

local TICK = 1000 -- ms

---@type uv.uv_timer_t? counts the seconds of the chats that run
local clock

local function is_running(chat) return chat.status.state == 'running' end

local function tick()
  local running = vim.tbl_filter(is_running, registry.all())
  for _, chat in ipairs(running) do
    activity.draw(chat)
    for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
      vim.api.nvim__redraw({ win = win, winbar = true, flush = true })
    end
  end
  if #running > 0 or not clock then return end
  clock:close()
  clock = nil
end

local function start_clock()
  if clock then return end
  clock = vim.uv.new_timer()
  if clock then clock:start(TICK, TICK, vim.schedule_wrap(tick)) end
end

local function replace(chat, new)
  if vim.deep_equal(chat.status, new) then return end
  if chat.status.state ~= new.state then
    chat.since = vim.uv.now()
    activity.reset(chat)
  end
  chat.status = new
  if is_running(chat) then start_clock() end
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
