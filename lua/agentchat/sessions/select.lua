--- The saved chats of a project: listed, searched, resumed, forked.
local actions = require('agentchat.chat.actions')
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')
local settings = require('agentchat.config.settings')

local M = {}

---@class agentchat.HistoryItem
---@field chat string uuid
---@field title string
---@field at integer unix seconds
---@field source string uuid of the chat it is a fork of; empty if it is none

--- Lets the user choose one of this project's chats, the newest first.
function M.list(opts)
  opts = opts or {}
  local chat = registry.near()
  local url = remote.place(settings.get().workspace)
  if chat then url = chat.remote end
  host.send('history', {
    cwd = url or vim.fn.getcwd(-1, 0),
    words = opts.words or '',
    fork = opts.fork or false,
    browse = opts.browse or false,
  })
end

local function line(item)
  local open = registry.get(item.chat) and '  (open)' or ''
  return ('%s  %s%s'):format(os.date('%Y-%m-%d %H:%M', item.at), item.title, open)
end

--- Offers the chats that were found.
---@param items agentchat.HistoryItem[]
function M.choose(items, asked)
  if #items == 0 then
    local with = asked.words ~= '' and (' with "%s"'):format(asked.words) or ''
    return notify.info(('no saved chats of this project%s'):format(with))
  end
  local prompt = asked.fork and 'Fork a chat:' or 'Resume a chat:'
  local opts = { prompt = prompt, kind = 'agentchat.history', format_item = line }
  vim.ui.select(items, opts, function(item)
    if not item then return end
    local saved = { chat = item.chat, cwd = asked.cwd, fork = asked.fork, title = item.title }
    actions.resume(saved)
  end)
end

return M
