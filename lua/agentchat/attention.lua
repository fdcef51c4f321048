--- Reports what a chat needs while the user does not see it: an answer, a question, an error. Nothing
--- is reported of a chat that is in sight.
local events = require('agentchat.events')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')

local M = {}

local api = vim.api

---@alias agentchat.Need 'answer'|'approval'|'question'|'error'

local TITLE = 40 -- characters
local has_focus = true

local function printable(text) return (notify.printable(text):gsub('[%c;]', ' ')) end

-- The notifications of terminals: those of iTerm2, which most know, and those of rxvt.
---@type table<string, fun(text: string): string>
local SEQUENCES = {
  osc9 = function(text) return ('\27]9;%s\27\\'):format(text) end,
  osc777 = function(text) return ('\27]777;notify;agentchat;%s\27\\'):format(text) end,
}

--- What makes the terminal show a notification; tmux passes it on.
---@param kind 'osc9'|'osc777'
---@return string
function M.sequence(kind, text)
  local sequence = SEQUENCES[kind](printable(text))
  if not vim.env.TMUX then return sequence end
  return ('\27Ptmux;%s\27\\'):format((sequence:gsub('\27', '\27\27')))
end

local function notify_terminal(chat, text)
  local kind = settings.get(chat.buf).ui.terminal_notify
  if not SEQUENCES[kind] then return end
  local sequence = M.sequence(kind, text)
  -- Neovim 0.12 has a function for it; before, the terminal is the standard output.
  if api.nvim_ui_send then return api.nvim_ui_send(sequence) end
  local in_terminal = vim.iter(api.nvim_list_uis()):any(function(ui) return ui.stdout_tty end)
  if in_terminal then io.stdout:write(sequence) end
end

--- Reports what a chat needs, unless the user sees it.
---@param need agentchat.Need
---@param text string one line, which says where to go
---@param is_shown? boolean whether it can be seen; default: this tab shows the chat
---@return boolean whether it was reported
function M.report(chat, need, text, is_shown)
  if is_shown == nil then is_shown = registry.is_visible(chat.id) end
  if is_shown and has_focus then return false end
  if not is_shown then (need == 'error' and notify.warn or notify.info)(text) end
  notify_terminal(chat, text)
  events.fire_chat(chat, 'AgentAttention', { need = need, text = text })
  return true
end

local ENDS = { stop = 'answer', error = 'error' }
local LINES =
  { answer = '%s has answered: see :AgentChat %s', error = '%s has failed: see :AgentChat %s' }

local function on_turn_end(event)
  local chat, need = registry.get(event.data.chat), ENDS[event.data.reason]
  if not chat or not need then return end
  local name = ('agentchat://%d'):format(chat.number)
  local title = chat.title and ('"%s"'):format(vim.fn.strcharpart(chat.title, 0, TITLE))
  M.report(chat, need, LINES[need]:format(title or 'a chat', name))
end

--- Begins to listen to whether the user is in Neovim, and to the ends of turns.
function M.setup()
  local group = api.nvim_create_augroup('agentchat.attention', {})
  for event, focus in pairs({ FocusLost = false, FocusGained = true }) do
    api.nvim_create_autocmd(event, { group = group, callback = function() has_focus = focus end })
  end
  local on_end = { group = group, pattern = 'AgentTurnFinished', callback = on_turn_end }
  api.nvim_create_autocmd('User', on_end)
end

return M
