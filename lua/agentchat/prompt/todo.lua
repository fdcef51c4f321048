--- The todo list of a chat: shown above its prompt, and edited as text.
local host = require('agentchat.host.process')
local input = require('agentchat.ui.input')

local M = {}

local SHOWN = 8 -- items that are shown; the model and `:AgentTodo` have them all

---@class agentchat.TodoItem
---@field text string
---@field status 'pending'|'running'|'done'

-- The sign of an item, its highlight, that of its text, and what stands for it in text.
local LOOKS = {
  pending = { '○', 'AgentChatFact', 'AgentChatFact', '[ ]' },
  running = { '●', 'AgentChatRunning', 'Normal', '[~]' },
  done = { '✓', 'AgentChatDone', 'AgentChatFact', '[x]' },
}

local function count(items, status)
  return #vim.tbl_filter(function(item) return item.status == status end, items)
end

--- The part of a long list that matters now: from the last one that is done before the first that is not.
---@return agentchat.TodoItem[] shown, integer above, integer below
local function cut(items)
  if #items <= SHOWN then return items, 0, 0 end
  local first = 1
  while first < #items and items[first + 1].status == 'done' do
    first = first + 1
  end
  first = math.max(1, math.min(first, #items - SHOWN + 1))
  local shown = vim.list_slice(items, first, first + SHOWN - 1)
  return shown, first - 1, #items - first - #shown + 1
end

local function item_line(item)
  local sign, group, text = unpack(LOOKS[item.status])
  return { { '  ' .. sign .. ' ', group }, { item.text, text } }
end

--- The lines of a list; of one that is done, only how many items it had.
---@param items agentchat.TodoItem[]
---@return [string, string][][] chunks of virtual lines
function M.lines(items)
  if #items == 0 then return {} end
  local done = count(items, 'done')
  local head = { { ('Todo %d/%d'):format(done, #items), 'AgentChatTitle' } }
  if done == #items then return { head } end
  local shown, above, below = cut(items)
  if above > 0 then table.insert(head, { (' · %d above'):format(above), 'AgentChatFact' }) end
  if below > 0 then table.insert(head, { (' · %d more'):format(below), 'AgentChatFact' }) end
  return vim.list_extend({ head }, vim.tbl_map(item_line, shown))
end

--- Opens the list as text: `:w` sends it.
function M.edit(chat)
  local text = vim.tbl_map(
    function(item) return LOOKS[item.status][4] .. ' ' .. item.text end,
    chat.todo or {}
  )
  return input.edit({
    chat = chat.id,
    name = 'todo',
    title = 'Todo: [ ] pending, [~] running, [x] done',
    text = #text > 0 and table.concat(text, '\n') or '[ ] ',
    use = 'save the list',
    share = 0.5,
    send = function(edited) host.send('todo', { chat = chat.id, text = edited }) end,
  })
end

return M
