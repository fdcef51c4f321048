-- Questions of the agent to the user, put with `vim.ui.select` and `vim.ui.input`, one after the
-- other. Python does not wait for Lua: the answers go back as an event.

local host = require('agentchat.host.process')
local key_guard = require('agentchat.ui.key_guard')
local attention = require('agentchat.attention')
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
---@field open boolean the user may write another answer
---@field optional boolean the answer may be none of them

---@class (exact) agentchat.Questions
---@field chat string
---@field id string
---@field list agentchat.Inquiry[]
---@field answers string[][] one list for each question that is answered
---@field chosen string[] of the question that is put now
---@field dialogs integer how often a dialog was opened; what an older one answers does not count
---@field shown boolean
---@field inside boolean a dialog runs that does not return before it is answered
---@field notified boolean the user was notified of it, as they were not in the chat
---@field windows table<integer, true> that the dialog opened

---@type table<string, agentchat.Questions> by chat
local open = {}

local OTHER, NONE = 'Something else', 'None of these'
local BACK, BACK_TYPED = 'Back to the question before', '<'
local RESTING = { n = true, i = true, R = true } -- modes in which a dialog disturbs nothing
local ASKING = { ['@'] = true, ['-'] = true } -- what `getcmdtype()` says in Neovim's own dialogs

local ask_next

---@return string one line, without control characters
local function line(text) return vim.trim((text:gsub('%c+', ' '))) end

local function finish(questions)
  if open[questions.chat] ~= questions then return end
  open[questions.chat] = nil
  key_guard.stop_waiting('questions.' .. questions.chat)
  host.send('answers', { chat = questions.chat, id = questions.id, answers = questions.answers })
end

local function record(questions, answer)
  table.insert(questions.answers, answer)
  questions.chosen = {}
  if #questions.answers == #questions.list then return finish(questions) end
  ask_next(questions)
end

--- Takes the last answer back and asks again.
local function go_back(questions)
  table.remove(questions.answers)
  questions.chosen = {}
  ask_next(questions)
end

local function current(questions) return questions.list[#questions.answers + 1] end

local function prompt_of(questions)
  local now, number = current(questions), #questions.answers + 1
  local header = now.header ~= '' and line(now.header) .. ': ' or ''
  local place = #questions.list > 1 and (' (%d of %d)'):format(number, #questions.list) or ''
  return header .. line(now.question) .. place
end

--- Opens a dialog; the one answer it gives goes to `answered`, if it is still the newest.
local function open_dialog(questions, dialog, answered)
  if open[questions.chat] ~= questions then return end
  questions.dialogs = questions.dialogs + 1
  local token, before = questions.dialogs, {}
  for _, win in ipairs(api.nvim_list_wins()) do
    before[win] = true
  end
  questions.shown, questions.windows = true, {}
  local function callback(...)
    if open[questions.chat] ~= questions or questions.dialogs ~= token then return end
    questions.dialogs = questions.dialogs + 1
    answered(...)
  end
  questions.inside = true
  local ok, problem = pcall(dialog, callback)
  questions.inside = false
  if not ok then
    notify.error(('the question cannot be shown: %s'):format(problem))
    return callback(nil)
  end
  for _, win in ipairs(api.nvim_list_wins()) do
    if not before[win] then questions.windows[win] = true end
  end
end

local function write(questions, answered)
  local opts = { prompt = prompt_of(questions) .. ' ' }
  open_dialog(questions, function(callback) vim.ui.input(opts, callback) end, answered)
end

local function write_instead(questions)
  vim.schedule(function()
    write(questions, function(text)
      if text == nil or not text:find('%S') then return ask_next(questions) end
      if not current(questions).multi then return record(questions, { text }) end
      table.insert(questions.chosen, text)
      ask_next(questions)
    end)
  end)
end

---@return string[] labels that can be chosen
---@return table<integer, fun(questions: agentchat.Questions)> what those do that are no options
local function items_of(questions)
  local now, items, actions, ticked = current(questions), {}, {}, {}
  local function add(label, action)
    table.insert(items, label)
    actions[#items] = action
  end
  if #questions.chosen > 0 then
    local done = 'Done: ' .. table.concat(questions.chosen, ', ')
    add(done, function() record(questions, questions.chosen) end)
  end
  for _, label in ipairs(questions.chosen) do
    ticked[label] = true
  end
  for _, option in ipairs(now.options) do
    if not ticked[option.label] then add(option.label) end
  end
  if now.open then add(OTHER, write_instead) end
  if now.optional and #questions.chosen == 0 then
    add(NONE, function() record(questions, {}) end)
  end
  if #questions.answers > 0 then add(BACK, go_back) end
  return items, actions
end

--- Takes a choice: the position in the list counts, two items may look the same.
local function choose(questions, label, action)
  if action then return action(questions) end
  if not current(questions).multi then return record(questions, { label }) end
  table.insert(questions.chosen, label)
  ask_next(questions)
end

local function select(questions)
  local items, actions = items_of(questions)
  local described = {}
  for _, option in ipairs(current(questions).options) do
    if option.description ~= '' then described[option.label] = ': ' .. line(option.description) end
  end
  local opts = {
    prompt = prompt_of(questions),
    kind = 'agentchat',
    format_item = function(item) return line(item) .. (described[item] or '') end,
  }
  open_dialog(
    questions,
    function(callback) vim.ui.select(items, opts, callback) end,
    function(item, at)
      if item == nil then return finish(questions) end
      if not items[at] then at = vim.fn.index(items, item) + 1 end
      at = math.max(at, 1)
      choose(questions, items[at], actions[at])
    end
  )
end

local function show(questions)
  if #current(questions).options > 0 then return select(questions) end
  write(questions, function(text)
    if text == nil then return finish(questions) end
    if text == BACK_TYPED and #questions.answers > 0 then return go_back(questions) end
    record(questions, text:find('%S') and { text } or {})
  end)
end

---@return boolean whether the user is in the chat and nothing is half typed
local function is_ready(questions)
  local chat = registry.get(questions.chat)
  local mode = api.nvim_get_mode()
  local resting = RESTING[mode.mode:sub(1, 1)] and not vim.startswith(mode.mode, 'no')
  return chat ~= nil
    and api.nvim_get_current_buf() == chat.buf
    and resting == true
    and not mode.blocking
    and vim.fn.state('amoS') == ''
end

local function notify_user(questions)
  local chat = registry.get(questions.chat)
  if questions.notified or not chat or api.nvim_get_current_buf() == chat.buf then return end
  questions.notified = true
  local text = ('the agent asks: %s Go to its chat to answer.'):format(prompt_of(questions))
  attention.report(chat, 'question', text, false)
end

--- Asks the next question as soon as it cannot catch a key meant for something else.
function ask_next(questions)
  questions.shown = false
  local delay = settings.get(registry.buffer(questions.chat)).ui.prompt_delay_ms
  local pause = #questions.answers == 0 and delay or 0
  notify_user(questions)
  key_guard.when_keys_rest(
    'questions.' .. questions.chat,
    pause,
    function() return is_ready(questions) end,
    function() show(questions) end
  )
end

local function dismiss(questions)
  open[questions.chat] = nil
  key_guard.stop_waiting('questions.' .. questions.chat)
  if not questions.shown then return end
  for win in pairs(questions.windows) do
    if api.nvim_win_is_valid(win) then pcall(api.nvim_win_close, win, true) end
  end
  -- Neovim's own dialogs are prompts of the command line.
  if questions.inside and ASKING[vim.fn.getcmdtype()] then api.nvim_feedkeys('\27', 'nt', false) end
end

--- Asks the user; the event `answers` reports the answers to Python.
function M.ask(chat_id, id, list)
  M.close_all(chat_id)
  local questions = {
    chat = chat_id,
    id = id,
    list = list,
    answers = {},
    chosen = {},
    dialogs = 0,
    shown = false,
    inside = false,
    notified = false,
    windows = {},
  }
  open[chat_id] = questions
  ask_next(questions)
end

--- Withdraws questions that are not answered yet.
function M.close(chat_id, id)
  if open[chat_id] and open[chat_id].id == id then dismiss(open[chat_id]) end
end

function M.close_all(chat_id)
  if open[chat_id] then dismiss(open[chat_id]) end
end

--- Shows the open question of a chat again, one that a dialog lost.
---@return boolean whether there is one
function M.focus(chat_id)
  local questions = chat_id and open[chat_id]
  if not questions then return false end
  key_guard.stop_waiting('questions.' .. questions.chat)
  show(questions)
  return true
end

registry.listen({ ended = function(chat) M.close_all(chat.id) end })

return M
