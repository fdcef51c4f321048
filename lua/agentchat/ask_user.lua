-- Questions of the agent to the user, put with `vim.ui.select` and `vim.ui.input`, one after the
-- other. Python does not wait for Lua: the answers go back as an event.

local host = require('agentchat.host.process')
local key_guard = require('agentchat.ui.key_guard')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')

local M = {}

local api = vim.api

---@class (exact) agentchat.Inquiry
---@field question string
---@field header string
---@field options { label: string, description: string }[]
---@field multi boolean

---@class (exact) agentchat.Questions
---@field chat string
---@field id string
---@field list agentchat.Inquiry[]
---@field answers string[][] one list for each question that is answered
---@field chosen string[] of the question that is put now
---@field put integer how often a dialog was opened; what an older one answers does not count
---@field shown boolean
---@field inside boolean a dialog runs that does not return before it is answered
---@field told boolean the user was told of it, as they were not in the chat
---@field windows table<integer, true> that the dialog opened

---@type table<string, agentchat.Questions> by chat
local open = {}

local OTHER, NONE = 'Something else', 'None of these'
local RESTING = { n = true, i = true, R = true } -- modes in which a dialog disturbs nothing
local ASKING = { ['@'] = true, ['-'] = true } -- what `getcmdtype()` says in Neovim's own dialogs

local put

---@return string one line, without control characters
local function line(text) return vim.trim((text:gsub('%c+', ' '))) end

local function finish(it)
  if open[it.chat] ~= it then return end
  open[it.chat] = nil
  key_guard.stop_waiting('questions.' .. it.chat)
  host.send('answers', { chat = it.chat, id = it.id, answers = it.answers })
end

local function record(it, answer)
  table.insert(it.answers, answer)
  it.chosen = {}
  if #it.answers == #it.list then return finish(it) end
  put(it)
end

local function prompt_of(it)
  local now, number = it.list[#it.answers + 1], #it.answers + 1
  local header = now.header ~= '' and line(now.header) .. ': ' or ''
  local place = #it.list > 1 and (' (%d of %d)'):format(number, #it.list) or ''
  return header .. line(now.question) .. place
end

--- Opens a dialog; the one answer it gives goes to `answered`, if it is still the newest.
---@param dialog fun(callback: fun(...))
local function ask(it, dialog, answered)
  if open[it.chat] ~= it then return end
  it.put = it.put + 1
  local token, before = it.put, {}
  for _, win in ipairs(api.nvim_list_wins()) do
    before[win] = true
  end
  it.shown, it.windows = true, {}
  local function callback(...)
    if open[it.chat] ~= it or it.put ~= token then return end
    it.put = it.put + 1
    answered(...)
  end
  it.inside = true
  local ok, problem = pcall(dialog, callback)
  it.inside = false
  if not ok then
    notify.error(('the question cannot be shown: %s'):format(problem))
    return callback(nil)
  end
  for _, win in ipairs(api.nvim_list_wins()) do
    if not before[win] then it.windows[win] = true end
  end
end

---@param answered fun(text?: string)
local function write(it, answered)
  local opts = { prompt = prompt_of(it) .. ' ' }
  ask(it, function(callback) vim.ui.input(opts, callback) end, answered)
end

---@return string[] labels that can be chosen, and what else there is to choose
local function items_of(it)
  local now, items, ticked = it.list[#it.answers + 1], {}, {}
  if #it.chosen > 0 then table.insert(items, 'Done: ' .. table.concat(it.chosen, ', ')) end
  for _, label in ipairs(it.chosen) do
    ticked[label] = true
  end
  for _, option in ipairs(now.options) do
    if not ticked[option.label] then table.insert(items, option.label) end
  end
  table.insert(items, OTHER)
  if now.multi and #it.chosen == 0 then table.insert(items, NONE) end
  return items
end

local function write_instead(it)
  vim.schedule(function()
    write(it, function(text)
      if text == nil or not text:find('%S') then return put(it) end
      if not it.list[#it.answers + 1].multi then return record(it, { text }) end
      table.insert(it.chosen, text)
      put(it)
    end)
  end)
end

--- Takes a choice: the position in the list counts, two items may look the same.
local function choose(it, items, at)
  local now, options = it.list[#it.answers + 1], #items - 1
  local none = now.multi and #it.chosen == 0
  if none and at == #items then return record(it, {}) end
  if at == (none and options or #items) then return write_instead(it) end
  if not now.multi then return record(it, { items[at] }) end
  if #it.chosen > 0 and at == 1 then return record(it, it.chosen) end
  table.insert(it.chosen, items[at])
  put(it)
end

local function select(it)
  local items, described = items_of(it), {}
  for _, option in ipairs(it.list[#it.answers + 1].options) do
    if option.description ~= '' then described[option.label] = ': ' .. line(option.description) end
  end
  local opts = {
    prompt = prompt_of(it),
    kind = 'agentchat',
    format_item = function(item) return line(item) .. (described[item] or '') end,
  }
  ask(it, function(callback) vim.ui.select(items, opts, callback) end, function(item, at)
    if item == nil then return finish(it) end
    if not items[at] then at = vim.fn.index(items, item) + 1 end
    choose(it, items, math.max(at, 1))
  end)
end

local function show(it)
  if #it.list[#it.answers + 1].options > 0 then return select(it) end
  write(it, function(text)
    if text == nil then return finish(it) end
    record(it, text:find('%S') and { text } or {})
  end)
end

---@return boolean whether the user is in the chat and nothing is half typed
local function at_hand(it)
  local chat = registry.get(it.chat)
  local mode = api.nvim_get_mode()
  local resting = RESTING[mode.mode:sub(1, 1)] and not vim.startswith(mode.mode, 'no')
  return chat ~= nil
    and api.nvim_get_current_buf() == chat.buf
    and resting == true
    and not mode.blocking
    and vim.fn.state('amoS') == ''
end

local function tell(it)
  local chat = registry.get(it.chat)
  if it.told or not chat or api.nvim_get_current_buf() == chat.buf then return end
  it.told = true
  notify.info(('the agent asks: %s Go to its chat to answer.'):format(prompt_of(it)))
end

--- Puts the next question as soon as it takes no key that was meant for something else.
---@param it agentchat.Questions
function put(it)
  it.shown = false
  local delay = settings.get(registry.buffer(it.chat)).ui.prompt_delay_ms
  local pause = #it.answers == 0 and delay or 0
  tell(it)
  key_guard.when_keys_rest(
    'questions.' .. it.chat,
    pause,
    function() return at_hand(it) end,
    function() show(it) end
  )
end

--- Closes what is shown of a question.
local function dismiss(it)
  open[it.chat] = nil
  key_guard.stop_waiting('questions.' .. it.chat)
  if not it.shown then return end
  for win in pairs(it.windows) do
    if api.nvim_win_is_valid(win) then pcall(api.nvim_win_close, win, true) end
  end
  -- Neovim's own dialogs are prompts of the command line.
  if it.inside and ASKING[vim.fn.getcmdtype()] then api.nvim_feedkeys('\27', 'nt', false) end
end

--- Puts questions to the user; Python calls it and is answered by the event `answers`.
---@param chat string
---@param id string
---@param list agentchat.Inquiry[]
function M.ask(chat, id, list)
  M.close_all(chat)
  local it = {
    chat = chat,
    id = id,
    list = list,
    answers = {},
    chosen = {},
    put = 0,
    shown = false,
    inside = false,
    told = false,
    windows = {},
  }
  open[chat] = it
  put(it)
end

--- Takes questions back; of those that are answered there is nothing to take.
---@param chat string
---@param id string
function M.close(chat, id)
  if open[chat] and open[chat].id == id then dismiss(open[chat]) end
end

--- Takes back whatever the agent asks in a chat.
---@param chat string
function M.close_all(chat)
  if open[chat] then dismiss(open[chat]) end
end

--- Shows the open question of a chat again, one that a dialog lost.
---@param chat? string
---@return boolean whether there is one
function M.focus(chat)
  local it = chat and open[chat]
  if not it then return false end
  key_guard.stop_waiting('questions.' .. it.chat)
  show(it)
  return true
end

registry.listen({ ended = function(chat) M.close_all(chat.id) end })

return M
