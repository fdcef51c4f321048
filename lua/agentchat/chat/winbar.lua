--- The winbar of a chat: its number, title, state, mode, model, counts and workspace.
local layout = require('agentchat.ui.layout')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')

local M = {}

local api = vim.api

local STATES =
  { idle = 'AgentChatFact', running = 'AgentChatRunning', waiting = 'AgentChatWaiting' }

-- The part of the window from which on the meter warns: results are shortened about there.
local NEARLY_FULL = 0.7

local TITLE = 32 -- columns
local SHORT_TITLE = 20 -- before anything else is left out
local SHORTEST_TITLE = 10 -- after that
local WORTH_TELLING = 2000 -- ms that something may take before its duration is shown

--- A number of tokens in few characters: `950`, `12.3k`, `128k`, `1.2M`.
function M.tokens(count)
  if count < 1000 then return tostring(count) end
  local short = count < 1e6 and ('%.1fk'):format(count / 1000) or ('%.1fM'):format(count / 1e6)
  return (short:gsub('%.0(%a)$', '%1'))
end

--- How full the window of the model is; without a window, how much the conversation takes.
local function meter(context)
  local used, window = M.tokens(context.used), context.window
  if not window then return used .. ' tokens', 'AgentChatFact', 2 end
  local text = ('%s/%s'):format(used, M.tokens(window))
  local is_nearly_full = context.used >= NEARLY_FULL * window
  return text, is_nearly_full and 'AgentChatWaiting' or 'AgentChatFact', is_nearly_full and 6.5 or 2
end

--- US dollars, with more digits where it is little; nil is an unknown price.
function M.cost(dollars)
  if not dollars then return 'price unknown' end
  return ('$%.' .. (dollars < 0.1 and 3 or 2) .. 'f'):format(dollars)
end

local function counts(status)
  local out = {}
  local function add(text, group, weight)
    table.insert(out, { text = text, group = group, weight = weight })
  end
  if status.pending > 0 then
    local what = status.pending == 1 and ' preview' or ' previews'
    add(status.pending .. what, 'AgentChatWaiting', 7)
  end
  if status.context.used > 0 then add(meter(status.context)) end
  if status.cost ~= 0 and (status.cost or status.tokens > 0) then
    add(M.cost(status.cost), 'AgentChatFact', status.cost and 6 or 1)
  end
  return out
end

--- A duration in few characters: `9s`, `2m05s`, `1h02m`.
---@param ms integer
function M.duration(ms)
  local seconds = math.floor(ms / 1000)
  if seconds < 60 then return seconds .. 's' end
  local minutes = math.floor(seconds / 60)
  if minutes < 60 then return ('%dm%02ds'):format(minutes, seconds % 60) end
  return ('%dh%02dm'):format(math.floor(minutes / 60), minutes % 60)
end

--- What the chat does now, and for how long: waiting for the user is worth more than its state.
local function doing(chat)
  local status = chat.status
  if status.prompts > 0 then return status.prompts .. ' to approve' end
  local passed = chat.since and vim.uv.now() - chat.since or 0
  if status.state ~= 'running' or passed < WORTH_TELLING then return status.state end
  return status.state .. ' ' .. M.duration(passed)
end

local function parts_of(chat)
  local status = chat.status
  local state = status.prompts > 0 and 'waiting' or status.state
  local out = {
    { text = ('Chat %d'):format(chat.number), group = 'AgentChatTitle', weight = 4 },
    { text = doing(chat), group = STATES[state] or 'AgentChatFact', weight = 10 },
    { text = status.mode, group = 'AgentChatFact', weight = 9 },
  }
  if chat.title then
    local title = layout.cut(layout.printable(chat.title), TITLE)
    table.insert(out, 2, { text = title, group = 'AgentChatFact', weight = 6.2, shrinks = true })
  end
  if status.model ~= '' then
    table.insert(
      out,
      { text = layout.printable(status.model), group = 'AgentChatFact', weight = 6.3 }
    )
  end
  return vim.list_extend(out, counts(status))
end

--- Cells of the parts with ` · ` between them, a blank before, and two before the directory.
local function width_of(parts)
  local width = 3 * (#parts - 1) + 3
  for _, part in ipairs(parts) do
    width = width + api.nvim_strwidth(part.text)
  end
  return width
end

--- Cuts a part once, as short as the others need it; returns whether so much of it is left.
local function shrink(part, missing, least)
  local width = api.nvim_strwidth(part.text) - missing
  if not part.shrinks or width < least then return false end
  part.text, part.shrinks = layout.cut(part.text, width), false
  return true
end

local function lightest_of(parts)
  local lightest = 1
  for i, part in ipairs(parts) do
    if part.weight < parts[lightest].weight then lightest = i end
  end
  return lightest
end

--- Shortens the title or leaves out the parts with the least weight until the others fit. Each step
--- takes something for good, so this ends whatever the widths are.
local function squeeze(parts, room)
  while #parts > 1 and width_of(parts) > room do
    local lightest, missing = lightest_of(parts), width_of(parts) - room
    local least = parts[lightest].shrinks and SHORTEST_TITLE or SHORT_TITLE
    local fits = vim.iter(parts):any(function(part) return shrink(part, missing, least) end)
    if not fits then table.remove(parts, lightest) end
  end
  return parts
end

local function literal(text) return (text:gsub('%%', '%%%%')) end

local function render_part(part) return ('%%#%s#%s'):format(part.group, literal(part.text)) end

--- The winbar of the window that is being drawn.
function M.render()
  local win = api.nvim_get_current_win()
  local chat = registry.of(api.nvim_win_get_buf(win))
  if not chat then return '' end
  local room = api.nvim_win_get_width(win)
  local where = vim.fn.fnamemodify(chat.cwd, ':~')
  local short = vim.fs.basename(chat.cwd)
  if chat.remote then
    where, short = remote.display_names(chat.remote)
  end
  local parts = parts_of(chat)
  where, short = layout.printable(where), layout.printable(short)
  if width_of(parts) + api.nvim_strwidth(where) > room then where = short end
  squeeze(parts, room - api.nvim_strwidth(where))
  local left = vim.iter(parts):map(render_part):join('%#AgentChatFact# · ')
  return (' %s%%=%%#AgentChatFact#  %%<%s'):format(left, literal(where))
end

--- The same for a statusline, without colours.
function M.plain(chat)
  local status = chat.status
  local out = { doing(chat), status.mode }
  for _, part in ipairs(counts(status)) do
    table.insert(out, part.text)
  end
  return 'agent: ' .. table.concat(out, ' · ')
end

return M
