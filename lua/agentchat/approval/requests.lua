-- The approval requests that wait for a response, one for each chat: shown, hidden, found, answered.

local decisions = require('agentchat.diff.decisions')
local document = require('agentchat.approval.document')
local floats = require('agentchat.approval.float')
local host = require('agentchat.host.process')
local input = require('agentchat.ui.input')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local review = require('agentchat.review.list')
local settings = require('agentchat.config.settings')

local M = {}

---@class (exact) agentchat.WaitingRequest
---@field chat string
---@field request agentchat.ApprovalRequest
---@field float agentchat.ApprovalFloat
---@field hidden boolean the user put it away
---@field reported boolean the user knows of it, as the chat was not visible

---@type table<string, agentchat.WaitingRequest>
local requests = {}

local CHOICES = { 'always', 'accept', 'reject', 'cancel' }
local NOTHING = 'Nothing is being asked.'
local SHOWN_NOW = 'The question was hidden and is shown now: answer it again.'
local WHICH = 'More than one chat asks: go to the one you mean and answer there.'

local function finish(entry)
  requests[entry.chat] = nil
  panels.discard(entry.float.panel)
  review.uncover(entry.chat)
end

local function respond(entry, choice, more)
  if requests[entry.chat] ~= entry then return end
  finish(entry)
  local response = { chat = entry.chat, prompt = entry.request.id, choice = choice }
  local subject = entry.request.subject or entry.request.id
  response.hunks = decisions.report(entry.chat, subject, entry.request.doc)
  host.send('answer', vim.tbl_extend('error', response, more or {}))
end

---Above the requests of other chats, where there is room.
local function place(entry, screen, want)
  for _, other in pairs(requests) do
    local row = other ~= entry and panels.row(other.float.panel)
    if row then screen = layout.above(screen, row, want.height) end
  end
  return layout.bottom(screen, want)
end

local function new_float(entry)
  local buf = registry.buffer(entry.chat)
  return floats.new({
    chat = entry.chat,
    request = entry.request,
    delay = function() return settings.get(buf).ui.prompt_delay_ms end,
    way_in = function() return buf == vim.api.nvim_get_current_buf() and 'ga' or ':AgentApprove' end,
    place = function(screen, want) return place(entry, screen, want) end,
    respond = function(choice, more) respond(entry, choice, more) end,
    hidden = function() entry.hidden = true end,
  })
end

---@return boolean whether it is shown; a window cannot always be opened
local function show(entry)
  review.close_float(entry.chat)
  local shown = panels.show(entry.float.panel)
  entry.hidden = false
  return shown
end

---Shows a request where the chat is visible; elsewhere the user is notified of it, once.
local function present(entry)
  local shown = registry.is_visible(entry.chat) and show(entry)
  if not shown and not entry.reported then
    entry.reported = true
    notify.info(entry.request.title .. ': see :AgentApprove.')
  end
end

---Shows what waits where its chat became visible.
local function update()
  for _, entry in pairs(requests) do
    local panel = entry.float.panel
    local visible = not entry.hidden and registry.is_visible(entry.chat)
    if visible and not panels.placed(panel) then present(entry) end
    panels.refresh(panel)
  end
end

---@param chat? string default: the current chat, else the only one that asks
---@return agentchat.WaitingRequest? entry, string? why there is none
local function find(chat)
  local current = registry.current()
  local entry = requests[chat or (current and current.id)]
  if entry then return entry end
  local all = vim.tbl_values(requests)
  if #all == 1 then return all[1] end
  return nil, #all == 0 and NOTHING or WHICH
end

--- Shows an approval request, in place of one that this chat still showed.
---@param chat string
---@param request table as Python sends it
function M.show(chat, request)
  M.close_all(chat)
  local entry = { chat = chat, request = document.known(request), hidden = false, reported = false }
  entry.float = new_float(entry)
  requests[chat] = entry
  review.cover(chat, function() M.focus(chat) end)
  registry.on_view_change('approval', update)
  present(entry)
end

--- Takes back a request, unless it has a response already.
---@param chat string
function M.close(chat, id)
  local entry = requests[chat]
  if entry and entry.request.id == id then finish(entry) end
end

--- Takes back whatever a chat asks.
---@param chat string
function M.close_all(chat)
  if requests[chat] then finish(requests[chat]) end
end

--- Whether a request of the chat waits.
---@param chat string
function M.has(chat) return requests[chat] ~= nil end

--- Shows a request if need be and takes the user into it.
---@param chat? string default: the current chat, else the only one that asks
function M.focus(chat)
  local entry, problem = find(chat)
  if not entry then return notify.warn(problem) end
  local panel = entry.float.panel
  if panels.placed(panel) or show(entry) then panels.enter(panel) end
end

--- Answers a request; one that is hidden is shown first, and not answered.
---@param chat? string default: the current chat, else the only one that asks
---@param choice 'always'|'accept'|'reject'|'cancel'
---@param reason? string
function M.answer(chat, choice, reason)
  if not vim.list_contains(CHOICES, choice) then
    return notify.warn(('Unknown answer "%s": use %s.'):format(choice, table.concat(CHOICES, ', ')))
  end
  local entry, problem = find(chat)
  if not entry then return notify.warn(problem) end
  if not panels.visible(entry.float.panel) then
    show(entry)
    return notify.info(SHOWN_NOW)
  end
  if choice == 'always' and not entry.request.always then return notify.warn(floats.NO_ALWAYS) end
  respond(entry, choice, reason ~= nil and reason ~= '' and { reason = reason } or nil)
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

---Puts the text that the user wrote in place of the proposed one.
local function replace(chat, proposal, text)
  local entry = requests[chat]
  if entry and entry.request.id == proposal.subject then
    return respond(entry, 'edit', { replaced = { { path = proposal.path, text = text } } })
  end
  if review.replace(chat, proposal.subject, proposal.path, text) then return end
  notify.warn('What you edited is no longer pending.')
end

--- Opens an editor on the proposed text of a file. A last newline is not shown, and kept.
---@param chat string uuid
function M.edit_proposal(chat, proposal)
  local rest = proposal.text:sub(-1) == '\n' and '\n' or ''
  local editor = input.edit({
    chat = chat,
    title = proposal.name .. ' as proposed',
    text = proposal.text:sub(1, #proposal.text - #rest),
    filetype = 'agentchat-proposal',
    share = 0.9,
    name = 'proposal',
    use = 'use this text',
    send = function(text) replace(chat, proposal, text .. rest) end,
  })
  colour(editor.buf, proposal.path)
end

---Forgets what was decided about requests that a turn has left behind.
local function forget_decisions(chat)
  local wanted = review.subjects(chat)
  local entry = requests[chat]
  if entry then wanted[entry.request.subject or entry.request.id] = true end
  decisions.forget(chat, wanted)
end

vim.api.nvim_create_autocmd('User', {
  pattern = 'AgentTurnFinished',
  group = vim.api.nvim_create_augroup('agentchat.approval', {}),
  callback = function(event) forget_decisions(event.data.chat) end,
})

registry.listen({
  ended = function(chat)
    M.close_all(chat.id)
    decisions.forget(chat.id)
  end,
})

return M
