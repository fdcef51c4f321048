-- What a user edits before answering: the arguments of a call, the text a question is about, the
-- proposed text of a file.

local input = require('agentchat.ui.input')

local M = {}

---@alias agentchat.Respond
---| fun(entry: agentchat.WaitingRequest, choice: string, details?: agentchat.ResponseDetails): boolean

local function arguments_problem(text)
  local ok, value = pcall(vim.json.decode, text)
  if not ok then return 'Not valid JSON: ' .. tostring(value):gsub('^%S-:%d+: ', '') .. '.' end
  local object = type(value) == 'table' and (next(value) == nil or not vim.islist(value))
  return not object and 'The arguments must be one JSON object: { … }.' or nil
end

---@param respond agentchat.Respond
local function edit_arguments(entry, respond)
  entry.panel.field = input.edit({
    chat = entry.chat,
    title = 'Arguments of ' .. entry.request.tool,
    text = entry.arguments,
    filetype = 'json',
    share = 0.75,
    name = 'arguments',
    use = 'use these arguments',
    problem = arguments_problem,
    send = function(text) respond(entry, 'edit', { arguments = text }) end,
    back = function(text) entry.arguments = text end,
  })
end

local function draft_problem(text)
  return not text:find('%S') and 'The text is empty: write one, or close it with q.' or nil
end

--- Edits the text that the question is about. Writing it accepts it.
local function edit_draft(entry, respond)
  entry.panel.field = input.edit({
    chat = entry.chat,
    title = entry.request.title,
    text = entry.draft,
    filetype = 'markdown',
    share = 0.9,
    name = 'draft',
    use = 'accept this text',
    problem = draft_problem,
    send = function(text) respond(entry, 'edit', { arguments = text }) end,
    back = function(text) entry.draft = text end,
  })
  vim.wo[entry.panel.field.win].linebreak = true
end

--- Opens what a request lets the user edit.
---@param respond agentchat.Respond
function M.edit(entry, respond)
  return (entry.draft and edit_draft or edit_arguments)(entry, respond)
end

---@class (exact) agentchat.Proposal the proposed text of a file
---@field subject string id of the request or preview it belongs to
---@field path string
---@field name string
---@field text string

---Colours the text without making it a file of that type: nothing of the user's starts on it.
local function colour(buf, path)
  local filetype = vim.filetype.match({ filename = path, buf = buf })
  local language = filetype and vim.treesitter.language.get_lang(filetype)
  local started = language and pcall(vim.treesitter.start, buf, language)
  if filetype and not started then vim.bo[buf].syntax = filetype end
end

--- Opens an editor on the proposed text of a file. A last newline is not shown, and kept.
---@param use fun(text: string)
function M.edit_proposal(chat_id, proposal, use)
  local rest = proposal.text:sub(-1) == '\n' and '\n' or ''
  local editor = input.edit({
    chat = chat_id,
    title = 'Proposed text of ' .. proposal.name,
    text = proposal.text:sub(1, #proposal.text - #rest),
    filetype = 'agentchat-proposal',
    share = 0.9,
    name = 'proposal',
    use = 'use this text',
    send = function(text) use(text .. rest) end,
  })
  colour(editor.buf, proposal.path)
end

return M
