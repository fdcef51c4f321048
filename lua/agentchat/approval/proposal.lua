-- The proposed text of a file, for the user to make something else of it.

local field = require('agentchat.ui.input')

local M = {}

---@class (exact) agentchat.Proposal
---@field subject string id of the question or preview it belongs to
---@field path string
---@field name string
---@field text string

---Colours the text without making it a file of that type: nothing of the user's starts on it.
---@param buf integer
---@param path string
local function colour(buf, path)
  local filetype = vim.filetype.match({ filename = path, buf = buf })
  local language = filetype and vim.treesitter.language.get_lang(filetype)
  local started = language and pcall(vim.treesitter.start, buf, language)
  if filetype and not started then vim.bo[buf].syntax = filetype end
end

---@param chat string
---@param it agentchat.Proposal
---@param text string
local function take(chat, it, text)
  for _, room in ipairs({ 'agentchat.approval', 'agentchat.review' }) do
    if require(room).replace(chat, it.subject, it.path, text) then return end
  end
  require('agentchat.notify').warn('What you edited is not asked about any more.')
end

--- Opens an editor on the text. A last newline is not shown, and kept.
---@param chat string uuid
---@param it agentchat.Proposal
function M.open(chat, it)
  local rest = it.text:sub(-1) == '\n' and '\n' or ''
  local open = field.open({
    chat = chat,
    title = it.name .. ' as proposed',
    hints = { { ':w', 'use this text' }, { 'q', 'back' } },
    text = it.text:sub(1, #it.text - #rest),
    filetype = 'agentchat-proposal',
    share = 0.9,
    closed = function() end,
  })
  colour(open.buf, it.path)
  local function written() return true end
  field.writes(open, 'proposal', written, function(text) take(chat, it, text .. rest) end)
end

return M
