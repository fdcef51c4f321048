--- The chats of this Neovim, and listeners for their buffers and ends.
local M = {}

local api = vim.api

---@class agentchat.Chat
---@field id string uuid
---@field number integer the one in its name
---@field title? string what its first prompt begins with
---@field buf integer
---@field cwd string its workspace, fixed
---@field remote? string a workspace on another machine, which counts instead
---@field status agentchat.Status
---@field since? integer ms, when the state of the status began
---@field quiet_since? integer ms, when something was last written to it
---@field activity? agentchat.Activity what it waits for, if Python has said so
---@field outbox string[] sent, and not yet accepted by Python
---@field names agentchat.Name[] what can be mentioned
---@field todo? agentchat.TodoItem[] its todo list
---@field commands? agentchat.SlashCommand[] those Python offers, once it has reported them
---@field header integer extmark of the prompt's header
---@field transcript agentchat.Transcript
---@field attached agentchat.Attachments
---@field undo agentchat.PromptUndo
---@field recall agentchat.Recall
---@field words? agentchat.Words what the model said last
---@field header_row? integer where the header of the prompt was after the last change
---@field has_lost_lines? boolean the user deleted lines of the transcript
---@field room? integer rows that are free between the transcript and the prompt
---@field asked table<string, string> tools of the approval requests without a response, by id
---@field in_turn? boolean whether a turn was reported to begin, and not to end
---@field waiting agentchat.Write[] writes that wait for a completion or a selection to end
---@field kept? { lines: string[], marks: agentchat.SavedMarks } of an unloaded buffer
---@field selection? agentchat.Selection what `#selection` means in the next message, if it was given
---@field resumed boolean it was on disk when it was opened
---@field agent? integer the agent of another program that it is for, until Python knows
---@field partner? string the agent of another program that it is with, instead of a model
---@field saved? { source: string, requests?: integer } what Python has to resume, until it knows

---@class agentchat.ChatListener
---@field buffer? fun(chat: agentchat.Chat, buf: integer) it has got a buffer: its own or a review's
---@field sent? fun(chat: agentchat.Chat, text: string) the user sent it
---@field moved? fun(chat: agentchat.Chat) its prompt may be elsewhere on the screen
---@field ended? fun(chat: agentchat.Chat) its buffer or the Python process is gone

---@type table<string, agentchat.Chat>
local chats = {}
---@type agentchat.ChatListener[]
local listeners = {}

function M.listen(listener) table.insert(listeners, listener) end

---@param event 'buffer'|'sent'|'moved'|'ended'
---@param value? integer|string the buffer or the text
function M.announce(event, chat, value)
  for _, listener in ipairs(listeners) do
    if listener[event] then listener[event](chat, value) end
  end
end

function M.add(chat) chats[chat.id] = chat end

---@return boolean whether it was there
function M.remove(chat)
  local known = chats[chat.id] ~= nil
  chats[chat.id] = nil
  return known
end

---@return agentchat.Chat?
function M.get(id) return id and chats[id] or nil end

function M.buffer(id)
  local chat = chats[id]
  return chat and chat.buf
end

--- The chat a buffer belongs to: its own, or one of its floats.
---@return agentchat.Chat?
function M.of(buf) return api.nvim_buf_is_valid(buf) and M.get(vim.b[buf].agentchat_chat) or nil end

---@return agentchat.Chat?
function M.current() return M.of(api.nvim_get_current_buf()) end

---@return agentchat.Chat[] in the order they were opened
function M.all()
  local all = vim.tbl_values(chats)
  table.sort(all, function(a, b) return a.number < b.number end)
  return all
end

function M.is_visible(id)
  local chat = chats[id]
  return chat ~= nil and vim.fn.bufwinid(chat.buf) ~= -1
end

---@return agentchat.Chat[] those that this tab shows
function M.visible()
  return vim.tbl_filter(function(chat) return M.is_visible(chat.id) end, M.all())
end

--- Names a chat after its first prompt.
function M.set_title(chat, text)
  local line = vim.trim(vim.trim(text):match('^[^\r\n]*'))
  if not chat.title and line ~= '' then chat.title = line end
end

--- Gives a chat the title that the user chose; nothing takes it back.
---@param title string empty for none
function M.rename(chat, title) chat.title = title ~= '' and title or nil end

--- A chat in one line: the name of its buffer and its title.
function M.describe(chat)
  local name = ('agentchat://%d'):format(chat.number)
  return chat.title and ('%s (%s)'):format(name, chat.title) or name
end

--- The chat that a text begins with, as `describe` names it.
---@return agentchat.Chat?
---@return string rest of the text
function M.named(text)
  local number, rest = text:match('^%s*agentchat://(%d+)%s*(.*)$')
  for _, chat in ipairs(number and M.all() or {}) do
    if chat.number == tonumber(number) then
      local label = ('(%s)'):format(chat.title or '')
      return chat, vim.startswith(rest, label) and vim.trim(rest:sub(#label + 1)) or rest
    end
  end
  return nil, text
end

--- The chat a command is about: the one the user is in, else the only one shown in this tab.
---@return agentchat.Chat?
function M.near()
  local shown = M.visible()
  return M.current() or (#shown == 1 and shown[1] or nil)
end

--- Calls `update` soon after other windows came into view. Registering again replaces `update`.
---@param name string of the caller
function M.on_view_change(name, update)
  vim.api.nvim_create_autocmd({ 'TabEnter', 'BufWinEnter', 'WinEnter', 'CmdwinLeave' }, {
    group = api.nvim_create_augroup('agentchat.view.' .. name, {}),
    callback = vim.schedule_wrap(update),
  })
end

return M
