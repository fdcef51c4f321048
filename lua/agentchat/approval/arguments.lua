-- Lets the user change the arguments of a call before it runs.

local field = require('agentchat.ui.input')
local notice = require('agentchat.notify')

local M = {}

--- What is wrong with `text` as arguments, if anything.
---@param text string
---@return string?
local function problem(text)
  local ok, found = pcall(vim.json.decode, text)
  if not ok then return 'Not valid JSON: ' .. tostring(found):gsub('^%S-:%d+: ', '') .. '.' end
  local object = type(found) == 'table' and (next(found) == nil or not vim.islist(found))
  return not object and 'Arguments are one JSON object: { … }.' or nil
end

--- Opens an editor on the arguments. At most one of `send` and `back` is called, once.
---@param asking agentchat.Asking
---@return agentchat.Float
function M.open(asking)
  local sent = false
  local open = field.open({
    chat = asking.chat,
    title = asking.title,
    hints = { { ':w', 'use these' }, { 'q', 'back' } },
    text = asking.text,
    filetype = 'json',
    share = 0.75,
    closed = function(text)
      if not sent then asking.back(text) end
    end,
  })
  field.writes(open, 'arguments', function(text)
    local wrong = problem(text)
    if wrong then notice.warn(wrong) end
    sent = not wrong
    return sent
  end, asking.send)
  return open
end

return M
