--- The remembered answers of a chat: listed with their exact scope, and revoked.
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')

local M = {}

---@class agentchat.Grant
---@field id string
---@field text string exact scope
---@field uses integer how often it has answered

local ALL = { text = 'Revoke all' }

local function label(item)
  if not item.uses then return item.text end
  return ('%s (used %d×)'):format(item.text, item.uses)
end

--- Lists the remembered answers of a chat; choosing one revokes it.
---@param items agentchat.Grant[]
function M.list(id, items)
  local chat = registry.get(id)
  if not chat then return end
  if #items == 0 then return notify.info('no remembered answers in this chat') end
  local choices = vim.list_extend({}, items)
  if #items > 1 then table.insert(choices, ALL) end
  local opts = { prompt = 'Remembered answers (choose one to revoke it):', format_item = label }
  vim.ui.select(choices, opts, function(choice)
    if choice then M.revoke(chat, choice.id) end
  end)
end

function M.revoke(chat, id)
  host.send('revoke', { chat = chat.id, id = id })
  notify.info(
    id and 'revoked: such calls need approval again' or 'revoked all: calls need approval again'
  )
end

return M
