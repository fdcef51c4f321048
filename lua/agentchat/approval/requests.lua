-- The approval requests that wait for a response, at most one for each chat. A request takes no focus
-- and is answered once: by a command, or by one key that a person pressed after it had been visible
-- for a while.

local actions = require('agentchat.chat.actions')
local attention = require('agentchat.attention')
local decisions = require('agentchat.diff.decisions')
local document = require('agentchat.approval.document')
local host = require('agentchat.host.process')
local hunks = require('agentchat.diff.hunks')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local review = require('agentchat.review.list')
local rules = require('agentchat.approval.rules')
local settings = require('agentchat.config.settings')
local split = require('agentchat.diff.split')

local M = {}

---@class (exact) agentchat.ResponseDetails
---@field reason? string
---@field arguments? string JSON
---@field replaced? { path: string, text: string }[] files and their new text

---@class (exact) agentchat.WaitingRequest
---@field chat string uuid
---@field request agentchat.ApprovalRequest
---@field panel agentchat.Panel
---@field detailed boolean
---@field reason string typed so far
---@field arguments string as the user left them
---@field draft? string likewise, if the request is about a text
---@field hidden boolean by the user
---@field reported boolean the user was notified, as the chat was not visible

---@type table<string, agentchat.WaitingRequest>
local requests = {}

local NO_ALWAYS = '"always" is not available for this call: accept or reject it.'
local NO_TURN = 'No other call waits that this answer would cover: accept or reject this one.'
local NO_TRY = 'This cannot be tried: only commands can, where an overlay works.'
local NOTHING_TO_EDIT = 'This question has nothing to edit: accept or reject it.'
local NO_RULE = 'No rule can be written for this call.'
local PARTIAL = 'A rule cannot cover single hunks: answer this request first, or keep all hunks.'
local NOTHING = 'No approval request is pending.'
local SHOWN_NOW = 'The approval request was hidden and is shown now: answer again.'
local AMBIGUOUS = 'Several chats have approval requests: answer in the chat you mean.'
local Z = 60

local function finish(entry)
  requests[entry.chat] = nil
  panels.discard(entry.panel)
  review.uncover(entry.chat)
end

---@param details? agentchat.ResponseDetails
---@return boolean whether this answered the request
local function respond(entry, choice, details)
  local request = entry.request
  if requests[entry.chat] ~= entry then return false end
  if choice == 'always' and not request.always then
    notify.warn(NO_ALWAYS)
    return false
  end
  finish(entry)
  local response = { chat = entry.chat, prompt = request.id, choice = choice }
  response.hunks = split.report(entry.chat, request.subject, request.doc)
  host.send('answer', vim.tbl_extend('error', response, details or {}))
  return true
end

local function tally(entry) return hunks.tally(entry.chat, entry.request.subject, entry.request.doc) end

local function ask_reason(entry)
  entry.panel.field = input.ask({
    chat = entry.chat,
    title = 'Reason for rejecting: ' .. entry.request.title,
    text = entry.reason,
    send = function(text)
      -- The model reads it once.
      if text == entry.request.reason then actions.withdraw(registry.get(entry.chat), text) end
      respond(entry, 'reject', text ~= '' and { reason = text } or nil)
    end,
    back = function(text) entry.reason = text end,
  })
end

local function arguments_problem(text)
  local ok, value = pcall(vim.json.decode, text)
  if not ok then return 'Not valid JSON: ' .. tostring(value):gsub('^%S-:%d+: ', '') .. '.' end
  local object = type(value) == 'table' and (next(value) == nil or not vim.islist(value))
  return not object and 'The arguments must be one JSON object: { … }.' or nil
end

local function edit_arguments(entry)
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
local function edit_draft(entry)
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

local function edit(entry)
  if not document.is_editable(entry.request) then return notify.warn(NOTHING_TO_EDIT) end
  return (entry.draft and edit_draft or edit_arguments)(entry)
end

local function propose_rule(entry)
  if not entry.request.rule then return notify.warn(NO_RULE) end
  local kept = tally(entry)
  if kept and not kept.whole then return notify.warn(PARTIAL) end
  rules.propose(entry.chat)
end

local function try(entry)
  if not entry.request.try then return notify.warn(NO_TRY) end
  if respond(entry, 'try') then key_guard.drain() end
end

local function accept_turn(entry)
  if not document.offers_turn(entry.request) then return notify.warn(NO_TURN) end
  if respond(entry, 'turn') then key_guard.drain() end
end

local function answers(choice)
  return function(entry)
    if respond(entry, choice) then key_guard.drain() end
  end
end

---@type table<string, fun(entry: agentchat.WaitingRequest)>
local KEYS = {
  A = answers('always'),
  a = answers('accept'),
  T = accept_turn,
  H = function(entry) host.send('log', { chat = entry.chat, only = 'decisions' }) end,
  c = answers('cancel'),
  t = try,
  r = ask_reason,
  e = edit,
  R = propose_rule,
  ['?'] = function(entry)
    entry.detailed = not entry.detailed
    panels.draw(entry.panel)
  end,
  q = function(entry) panels.hide(entry.panel) end,
}

local function map_keys(entry, buf)
  render.disable_keys(buf)
  -- Digits answer nothing here, whatever they do elsewhere; `ga` leads here.
  render.disable_keys(buf, '1 2 3 4 5 6 7 8 9 ga')
  for key, act in pairs(KEYS) do
    render.map(buf, { key }, function()
      panels.gate(entry.panel, function() act(entry) end, key)
    end)
  end
  render.map(buf, { '<Esc>' }, function() panels.leave(entry.panel) end)
  if entry.request.kind == 'diff' then hunks.map(entry.panel, buf) end
end

---Above the requests of other chats, where there is room, and beside the code that it is about.
local function place(entry, screen, want)
  for _, other in pairs(requests) do
    local row = other ~= entry and panels.row(other.panel)
    if row then screen = layout.above(screen, row, want.height) end
  end
  return layout.clear_of(screen, want, hunks.visible_areas(entry.request.doc))
end

local function panel_spec(entry)
  local request, chat_buf = entry.request, registry.buffer(entry.chat)
  return {
    chat = entry.chat,
    name = 'approval',
    filetype = 'agentchat-question',
    zindex = Z,
    place = function(screen, want) return place(entry, screen, want) end,
    title = function(width) return document.title(request, width) end,
    footer = function(edge)
      local key = chat_buf == vim.api.nvim_get_current_buf() and 'ga' or ':AgentApprove'
      return document.footer(request, edge, edge.inside and '' or key, tally(entry))
    end,
    heading = function(width) return document.heading(request, width, tally(entry)) end,
    subject = function()
      return { id = request.id, subject = request.subject, title = request.title }
    end,
    doc = function()
      local given = decisions.of(entry.chat, request.subject)
      return split.document(given, document.page(request, entry.detailed))
    end,
    draw = function(panel)
      -- Prose wraps between words; of code every character must be seen as it is.
      vim.wo[panel.view.win].linebreak = request.kind == 'text'
      hunks.draw(panel)
    end,
    resized = hunks.resized,
    lead = function() return document.lead(request) end,
    delay = function() return settings.get(chat_buf).ui.prompt_delay_ms end,
    map = function(buf) map_keys(entry, buf) end,
    closed = function() entry.hidden = true end,
  }
end

---@return boolean whether it is shown; a window cannot always be opened
local function show(entry)
  review.close_float(entry.chat)
  local shown = panels.show(entry.panel)
  entry.hidden = false
  return shown
end

---Shows a request where the chat is visible; if the user does not see it, that is reported once.
local function present(entry)
  local shown = registry.is_visible(entry.chat) and show(entry)
  if entry.reported then return end
  local line = entry.request.title .. ': see :AgentApprove.'
  entry.reported = attention.report(registry.get(entry.chat), 'approval', line, shown)
end

local function update()
  for _, entry in pairs(requests) do
    local visible = not entry.hidden and registry.is_visible(entry.chat)
    if visible and not panels.has_window(entry.panel) then present(entry) end
    panels.refresh(entry.panel)
  end
end

---@param chat_id? string default: the current chat, else the only one that asks
---@return agentchat.WaitingRequest? entry, string? why there is none
local function find(chat_id)
  local current = registry.current()
  local entry = requests[chat_id or (current and current.id)]
  if entry then return entry end
  local all = vim.tbl_values(requests)
  if #all == 1 then return all[1] end
  return nil, #all == 0 and NOTHING or AMBIGUOUS
end

--- Shows an approval request, in place of an older one of the chat.
function M.show(chat_id, request)
  M.close_all(chat_id)
  request = document.without_empty(request)
  local entry = { chat = chat_id, request = request, arguments = request.arguments, reason = '' }
  entry.detailed, entry.hidden, entry.reported = false, false, false
  entry.draft = request.draft
  entry.panel = panels.new(panel_spec(entry))
  requests[chat_id] = entry
  review.cover(chat_id, function() M.focus(chat_id) end)
  registry.on_view_change('approval', update)
  present(entry)
end

--- Withdraws a request that has no response yet.
function M.close(chat_id, id)
  local entry = requests[chat_id]
  if entry and entry.request.id == id then finish(entry) end
end

function M.close_all(chat_id)
  if requests[chat_id] then finish(requests[chat_id]) end
end

function M.has(chat_id) return requests[chat_id] ~= nil end

--- Goes to a request, which is shown again if it was hidden.
---@param chat_id? string default: the current chat, else the only one that asks
function M.focus(chat_id)
  local entry, problem = find(chat_id)
  if not entry then return notify.warn(problem) end
  if panels.has_window(entry.panel) or show(entry) then panels.enter(entry.panel) end
end

--- Answers a request; one that is hidden is shown first, and not answered.
---@param chat_id? string default: the current chat, else the only one that asks
function M.answer(chat_id, choice, reason)
  local entry, problem = find(chat_id)
  if not entry then return notify.warn(problem) end
  if not panels.is_visible(entry.panel) then
    show(entry)
    return notify.info(SHOWN_NOW)
  end
  respond(entry, choice, reason and reason ~= '' and { reason = reason } or nil)
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

local function replace(chat_id, proposal, text)
  local entry = requests[chat_id]
  if entry and entry.request.id == proposal.subject then
    return respond(entry, 'edit', { replaced = { { path = proposal.path, text = text } } })
  end
  if review.replace(chat_id, proposal.subject, proposal.path, text) then return end
  notify.warn('The change you edited is no longer pending.')
end

--- Opens an editor on the proposed text of a file. A last newline is not shown, and kept.
function M.edit_proposal(chat_id, proposal)
  local rest = proposal.text:sub(-1) == '\n' and '\n' or ''
  local editor = input.edit({
    chat = chat_id,
    title = 'Proposed text of ' .. proposal.name,
    text = proposal.text:sub(1, #proposal.text - #rest),
    filetype = 'agentchat-proposal',
    share = 0.9,
    name = 'proposal',
    use = 'use this text',
    send = function(text) replace(chat_id, proposal, text .. rest) end,
  })
  colour(editor.buf, proposal.path)
end

local function forget_decisions(chat_id)
  local wanted = review.subjects(chat_id)
  local entry = requests[chat_id]
  if entry then wanted[entry.request.subject] = true end
  decisions.forget(chat_id, wanted)
end

vim.api.nvim_create_autocmd('User', {
  pattern = 'AgentTurnFinished',
  group = vim.api.nvim_create_augroup('agentchat.approval', {}),
  callback = function(event) forget_decisions(event.data.chat) end,
})

--- Offers a text that is sent while a request waits as the reason for rejecting it.
local function offer_reason(chat, text)
  local entry = requests[chat.id]
  if not entry then return end
  entry.reason, entry.request.reason = text, text
  if panels.is_visible(entry.panel) then panels.draw(entry.panel) end
end

registry.listen({
  sent = offer_reason,
  ended = function(chat)
    M.close_all(chat.id)
    decisions.forget(chat.id)
  end,
})

return M
