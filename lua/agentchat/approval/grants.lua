--- What a chat remembers: listed with its exact scope, and revoked.
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')

local M = {}

---@class agentchat.Grant
---@field id string
---@field text string exact scope
---@field uses integer how often it has answered

local ALL = { text = 'Revoke all of them' }

local function label(item)
  if not item.uses then return item.text end
  return ('%s (used %d×)'):format(item.text, item.uses)
end

--- Offers what a chat remembers; choosing an entry revokes it.
---@param id string of the chat
---@param items agentchat.Grant[]
function M.list(id, items)
  local chat = registry.get(id)
  if not chat then return end
  if #items == 0 then return notify.info('this chat remembers no approval') end
  local choices = vim.list_extend({}, items)
  if #items > 1 then table.insert(choices, ALL) end
  local opts = { prompt = 'Remembered in this chat; choose what to revoke', format_item = label }
  vim.ui.select(choices, opts, function(choice)
    if choice then M.revoke(chat, choice.id) end
  end)
end

---@param id? string
function M.revoke(chat, id)
  host.send('revoke', { chat = chat.id, id = id })
  notify.info(id and 'revoked: it is asked again' or 'revoked all: everything is asked again')
end

return M
