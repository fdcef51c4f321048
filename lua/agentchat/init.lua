--- agentchat.nvim for other programs. All of it works without `setup()`.
local lazy = require('agentchat.lazy')
local actions = require('agentchat.chat.actions')
local commands = require('agentchat.commands')
local history = lazy('agentchat.sessions.select')
local changes = lazy('agentchat.review.changes')
local host = require('agentchat.host.process')
local install = lazy('agentchat.host.install')
local models = lazy('agentchat.chat.models')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')
local review = lazy('agentchat.review.list')
local rules = lazy('agentchat.approval.rules')
local tools = lazy('agentchat.tools')
local settings = require('agentchat.config.settings')
local winbar = require('agentchat.chat.winbar')

local M = {}

local function chat_of(buf)
  vim.validate('bufnr', buf, 'number', true)
  if not buf or buf == 0 then buf = vim.api.nvim_get_current_buf() end
  return registry.of(buf)
end

local function need_chat(buf)
  return chat_of(buf) or error(('agentchat: buffer %d is not a chat'):format(buf or 0), 0)
end

local function one_of(name, value, known)
  local fits = function(it) return vim.list_contains(known, it) end
  local list = table.concat(known, ', '):gsub(', (%S+)$', ' or %1')
  vim.validate(name, value, fits, list)
end

--- Merges settings into `g:agentchat`. Optional, and equal to setting the variable.
---@param opts? table
function M.setup(opts) settings.setup(opts) end

--- Shows the chat of this tab, or opens one.
---@param opts? { prompt?: string, new?: boolean, workspace?: string, partner?: string } `prompt` is
---  sent at once, `partner` is an agent of another program
---@return integer bufnr of the chat
function M.open(opts)
  vim.validate('opts', opts, 'table', true)
  opts = opts or {}
  vim.validate('opts.prompt', opts.prompt, 'string', true)
  vim.validate('opts.new', opts.new, 'boolean', true)
  vim.validate('opts.partner', opts.partner, 'string', true)
  local is_url = function(url) return url == nil or remote.parse(url) ~= nil end
  vim.validate('opts.workspace', opts.workspace, is_url, remote.FORM)
  return actions.open(opts).buf
end

--- Sends a text to a chat; its mentions count as typed.
---@param bufnr integer 0 for the current buffer
---@param text string
function M.send(bufnr, text)
  vim.validate('text', text, 'string')
  actions.send(need_chat(bufnr), text)
end

--- Stops request, tools and queue of a chat.
---@param bufnr? integer
function M.stop(bufnr) actions.stop(need_chat(bufnr)) end

--- Resolves the newest pending preview of a chat; calling it is the user's consent.
---@param bufnr integer
---@param action 'apply'|'discard'
---@param reason? string
function M.resolve(bufnr, action, reason)
  one_of('action', action, { 'apply', 'discard' })
  vim.validate('reason', reason, 'string', true)
  review.resolve(need_chat(bufnr).id, action, reason)
end

--- Chooses what runs without a question in a chat.
---@param bufnr integer
---@param mode 'ask'|'edit'|'plan'|'stage'|'yolo'
function M.mode(bufnr, mode)
  one_of('mode', mode, { 'ask', 'edit', 'plan', 'stage', 'yolo' })
  host.send('mode', { chat = need_chat(bufnr).id, mode = mode })
end

--- Chooses the model of a chat; without a name, the user does.
---@param bufnr integer
---@param name? string
function M.model(bufnr, name)
  vim.validate('name', name, 'string', true)
  local chat = need_chat(bufnr)
  if not name then return models.select(chat) end
  models.choose(chat, name)
end

--- Registers a tool that runs in this Neovim, or replaces the one of this name.
---@param spec agentchat.ToolSpec
function M.register_tool(spec) tools.register(spec) end

--- Removes a tool of `register_tool`.
---@param name string
---@return boolean existed
function M.unregister_tool(name)
  vim.validate('name', name, 'string')
  return tools.unregister(name)
end

--- The tools of a chat with all that they declare; nil for a buffer that is no chat.
---@param bufnr? integer
---@return table[]? tools see `:help agentchat.tools()`
function M.tools(bufnr)
  local chat = chat_of(bufnr)
  if not chat then return nil end
  return vim
    .iter(chat.names)
    :map(function(item) return item.tool and vim.deepcopy(item.tool) end)
    :totable()
end

--- Lets the user choose a saved chat of this project, to resume it.
---@param opts? { words?: string, fork?: boolean } those that contain `words`; in a copy
function M.history(opts)
  vim.validate('opts', opts, 'table', true)
  opts = opts or {}
  vim.validate('opts.words', opts.words, 'string', true)
  vim.validate('opts.fork', opts.fork, 'boolean', true)
  history.list(opts)
end

--- Lists the saved chats of this project with a preview.
---@param opts? { words?: string } those that contain `words`
function M.sessions(opts)
  vim.validate('opts', opts, 'table', true)
  opts = opts or {}
  vim.validate('opts.words', opts.words, 'string', true)
  history.list({ words = opts.words, browse = true })
end

--- Creates or updates the plugin's own Python environment; headless, waits until it is done.
function M.install() install.run() end

--- Takes back the file changes of a turn, newest first; calling it is the user's consent.
---@param bufnr? integer
---@param turn? integer its number; without one, the newest turn that changed files
function M.undo(bufnr, turn)
  vim.validate('turn', turn, 'number', true)
  host.send('undo', { chat = need_chat(bufnr).id, turn = turn })
end

--- Opens the review of what a turn changed.
---@param bufnr? integer
---@param turn? integer its number; without one, all that the chat changed
function M.changes(bufnr, turn)
  vim.validate('turn', turn, 'number', true)
  changes.open(need_chat(bufnr).id, { turn = turn })
end

--- Takes the last undo of a chat back.
---@param bufnr? integer
function M.redo(bufnr) host.send('redo', { chat = need_chat(bufnr).id }) end

--- Answers the approval that is shown for the current chat, else for the only chat that has one.
---@param choice 'always'|'accept'|'reject'|'cancel'
---@param reason? string
function M.approve(choice, reason)
  one_of('choice', choice, { 'always', 'accept', 'reject', 'cancel' })
  vim.validate('reason', reason, 'string', true)
  commands.run('AgentApprove', { args = choice .. ' ' .. (reason or '') })
end

--- Begins a rule about a call, for the user to look at and agree to.
---@param bufnr? integer
---@param call? string like `bash git status`; without one it is about what is being asked
function M.rule(bufnr, call)
  vim.validate('call', call, 'string', true)
  rules.propose(need_chat(bufnr).id, call)
end

--- What a chat is doing; nil for a buffer that is no chat. Cheap enough for a statusline.
---@param bufnr? integer
---@return agentchat.Status?
function M.status(bufnr)
  local chat = chat_of(bufnr)
  return chat and vim.deepcopy(chat.status) or nil
end

--- The same as one line, empty where there is no chat.
---@return string
function M.statusline()
  local chat = registry.near()
  return chat and winbar.plain(chat) or ''
end

return M
