-- Asks for the reason of a *no*. An empty one is fine; nothing typed here can mean yes.

local field = require('agentchat.ui.input')
local float = require('agentchat.ui.float')

local M = {}

---@class (exact) agentchat.Asking
---@field chat string uuid
---@field title string
---@field text string what stands in the field at first
---@field send fun(text: string)
---@field back fun(text: string) called when the field is closed without sending

--- Opens the field. Exactly one of `send` and `back` is called, once.
---@param asking agentchat.Asking
---@return agentchat.Float
function M.open(asking)
  local sent = false
  local open
  open = field.open({
    chat = asking.chat,
    title = asking.title,
    hints = { { '<CR>', 'send' }, { '<Esc>', 'back' } },
    text = asking.text,
    filetype = 'agentchat-reason',
    share = 0.3,
    closed = function(text)
      if not sent then asking.back(text) end
    end,
  })
  field.map(open, { 'n', 'i' }, { '<CR>', '<C-s>' }, function()
    sent = true
    local text = vim.trim(field.text(open))
    vim.cmd.stopinsert()
    float.close(open)
    asking.send(text)
  end)
  field.map(open, { 'n', 'i' }, { '<Esc>', '<C-c>' }, function()
    vim.cmd.stopinsert()
    float.close(open)
  end)
  vim.cmd.startinsert({ bang = true })
  return open
end

return M
