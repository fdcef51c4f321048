-- The approval requests that wait for a response: those of a chat one after the other. A request takes
-- no focus and is answered once: by a command, or by one key that a person pressed after it had been
-- visible for a while.

local actions = require('agentchat.chat.actions')
local attention = require('agentchat.attention')
local decisions = require('agentchat.diff.decisions')
local dock = require('agentchat.dock')
local document = require('agentchat.approval.document')
local editor = require('agentchat.approval.editor')
local float = require('agentchat.ui.float')
local host = require('agentchat.host.process')
local hunks = require('agentchat.diff.hunks')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local queue = require('agentchat.approval.queue')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local request_panel = require('agentchat.approval.request_panel')
local review = require('agentchat.review.list')
local rules = require('agentchat.approval.rules')
local split = require('agentchat.diff.split')

local M = {}

local NO_ALWAYS = '"always" is not available for this call: accept or reject it.'
local NO_TURN = 'No other call waits that this answer would cover: accept or reject this one.'
local NO_TRY = 'Nothing to try: no command, or it ran isolated already.'
local NOTHING_TO_EDIT = 'This question has nothing to edit: accept or reject it.'
local NO_RULE = 'No rule can be written for this call.'
local PARTIAL = 'A rule cannot cover single hunks: answer this request first, or keep all hunks.'
local NOTHING = 'No approval request is pending.'
local SHOWN_NOW = 'The approval request was hidden and is shown now: answer again.'
local SOON_MS = 300
local AMBIGUOUS = 'Several chats have approval requests: answer in the chat you mean.'

--- Closes the float of an answered request.
local function release(chat_id)
  local entry = queue.held(chat_id)
  if not entry then return end
  queue.hold(chat_id, nil)
  panels.discard(entry.panel)
  if not queue.first(chat_id) then review.uncover(chat_id) end
end

--- Takes the room in the transcript back, unless another request needs it.
local function close_room(chat_id)
  local chat = registry.get(chat_id)
  if chat and not queue.first(chat_id) and not queue.held(chat_id) then dock.release(chat) end
end

---@param present fun(entry: agentchat.WaitingRequest) shows the next one
local function finish(entry, present)
  local inside, was_first = request_panel.is_inside(entry.panel), queue.first(entry.chat) == entry
  queue.remove(entry)
  panels.discard(entry.panel)
  if not was_first then return end
  local following = queue.first(entry.chat)
  if not following then
    review.uncover(entry.chat)
    if entry.request.place == entry.request.total then return close_room(entry.chat) end
    -- The next one of the reply comes soon: the transcript need not move twice.
    return vim.defer_fn(function() close_room(entry.chat) end, SOON_MS)
  end
  present(following)
  if inside and panels.is_visible(following.panel) then panels.enter(following.panel) end
end

--- Whether more requests of the same reply are to come.
local function expects_more(entry, choice)
  local request = entry.request
  local covered = choice == 'turn' and #(request.same or {}) or 0
  return choice ~= 'cancel' and request.place + covered < request.total
end

--- Keeps the float of an answered request, with the user in it, until the next one comes.
local function hold(entry)
  queue.remove(entry)
  queue.hold(entry.chat, entry)
  local chat = registry.get(entry.chat)
  entry.words = chat and chat.words
  panels.draw(entry.panel)
end

local present

---@param details? agentchat.ResponseDetails
---@return boolean whether this answered the request
local function respond(entry, choice, details)
  local request = entry.request
  if not queue.holds(entry) then return false end
  if choice == 'always' and not request.always then
    notify.warn(NO_ALWAYS)
    return false
  end
  local response = { chat = entry.chat, prompt = request.id, choice = choice }
  response.hunks = split.report(entry.chat, request.subject, request.doc)
  local stays = panels.is_visible(entry.panel)
    and entry.panel.form == 'float'
    and float.is_focused(entry.panel.view)
    and #queue.all(entry.chat) == 1
    and expects_more(entry, choice)
  if stays then
    hold(entry)
  else
    finish(entry, present)
  end
  host.send('answer', vim.tbl_extend('error', response, details or {}))
  return true
end

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

local function edit(entry)
  if not document.is_editable(entry.request) then return notify.warn(NOTHING_TO_EDIT) end
  return editor.edit(entry, respond)
end

local function propose_rule(entry)
  if not entry.request.rule then return notify.warn(NO_RULE) end
  local kept = request_panel.tally(entry)
  if kept and not kept.whole then return notify.warn(PARTIAL) end
  rules.propose(entry.chat)
end

local function try(entry)
  if not entry.request.try then
    notify.warn(NO_TRY)
    return false
  end
  return respond(entry, 'try')
end

--- Shows the details with the keys, or hides them; what did not fit begins with them.
local function toggle_details(entry)
  local above = #entry.panel.page.lines
  entry.detailed = not entry.detailed
  panels.draw(entry.panel)
  vim.api.nvim_win_call(entry.panel.view.win, function()
    local fits = vim.fn.line('w$') == vim.fn.line('$') and vim.fn.line('w0') == 1
    if fits then return end
    vim.fn.cursor(entry.detailed and above + 1 or 1, 1)
    vim.cmd('normal! zt')
  end)
end

local function accept_turn(entry)
  if not document.offers_turn(entry.request) then
    notify.warn(NO_TURN)
    return false
  end
  return respond(entry, 'turn')
end

--- What a key in the float does: what was typed ahead was meant for the float.
---@param answer fun(entry: agentchat.WaitingRequest): boolean
local function answers(answer)
  return function(entry)
    if answer(entry) then key_guard.drain() end
  end
end

local function answers_with(choice)
  return answers(function(entry) return respond(entry, choice) end)
end

---@type table<string, fun(entry: agentchat.WaitingRequest)>
local KEYS = {
  A = answers_with('always'),
  a = answers_with('accept'),
  T = answers(accept_turn),
  H = function(entry) host.send('log', { chat = entry.chat, only = 'decisions' }) end,
  c = answers_with('cancel'),
  t = answers(try),
  r = ask_reason,
  e = edit,
  R = propose_rule,
  ['?'] = toggle_details,
}

local function map_keys(entry, buf)
  render.disable_keys(buf)
  -- Digits answer nothing here, whatever they do elsewhere; `ga` leads here.
  render.disable_keys(buf, '1 2 3 4 5 6 7 8 9 ga')
  local function leave(key, action)
    render.map(buf, { key }, function()
      if queue.is_held(entry) then return release(entry.chat) end
      action()
    end)
  end
  for key, act in pairs(KEYS) do
    render.map(buf, { key }, function()
      if queue.is_held(entry) then return end
      panels.gate(entry.panel, function() act(entry) end, key)
    end)
  end
  leave('<Esc>', function() panels.leave(entry.panel) end)
  leave('q', function()
    panels.gate(entry.panel, function() panels.hide(entry.panel) end, 'q')
  end)
  if entry.request.kind == 'diff' then hunks.map(entry.panel, buf) end
end

---@return boolean whether it is shown; a window cannot always be opened
local function show(entry)
  review.close_float(entry.chat)
  local shown = panels.show(entry.panel)
  entry.hidden = false
  return shown
end

---Shows a request where the chat is visible; if the user does not see it, that is reported once.
function present(entry)
  local shown = registry.is_visible(entry.chat) and show(entry)
  if entry.reported then return end
  local line = entry.request.title .. ': see :AgentApprove.'
  entry.reported = attention.report(registry.get(entry.chat), 'approval', line, shown)
end

local function update()
  for _, entry in ipairs(queue.all_held()) do
    if not request_panel.is_inside(entry.panel) then release(entry.chat) end
    close_room(entry.chat)
  end
  for _, entry in ipairs(queue.all_first()) do
    local visible = not entry.hidden and registry.is_visible(entry.chat)
    if visible and not panels.has_window(entry.panel) then present(entry) end
    request_panel.settle(entry)
    panels.refresh(entry.panel)
  end
end

local is_due = false

--- Looks soon whether the floats are where they belong.
local function moved()
  if is_due or queue.is_empty() then return end
  is_due = true
  vim.schedule(function()
    is_due = false
    vim.iter({ queue.all_first(), queue.all_held() }):flatten():each(request_panel.settle)
  end)
end

---@param chat_id? string default: the current chat, else the only one that asks
---@return agentchat.WaitingRequest? entry, string? why there is none
local function find(chat_id)
  local current = registry.current()
  local entry = queue.first(chat_id or (current and current.id))
  if entry then return entry end
  local all = queue.all_first()
  if #all == 1 then return all[1] end
  return nil, #all == 0 and NOTHING or AMBIGUOUS
end

--- The user closed the window of a request: it waits on.
local function put_away(entry)
  entry.hidden = true
  if queue.is_held(entry) then queue.hold(entry.chat, nil) end
  local chat = registry.get(entry.chat)
  if chat then dock.release(chat) end
end

local function new_entry(chat_id, request)
  local entry = { chat = chat_id, request = request, arguments = request.arguments, reason = '' }
  entry.detailed, entry.hidden, entry.reported = false, false, false
  entry.draft = request.draft
  entry.panel = panels.new(request_panel.spec(entry, {
    map = function(buf) map_keys(entry, buf) end,
    closed = function() put_away(entry) end,
  }))
  return entry
end

--- Shows an approval request, after those of its chat that wait already.
function M.show(chat_id, request)
  local entry = new_entry(chat_id, document.without_empty(request))
  local before = queue.held(chat_id)
  local inside = before ~= nil and request_panel.is_inside(before.panel)
  queue.add(entry)
  review.cover(chat_id, function() M.focus(chat_id) end)
  registry.on_view_change('approval', update)
  if queue.first(chat_id) ~= entry then return update() end
  release(chat_id)
  present(entry)
  if inside and panels.is_visible(entry.panel) then panels.enter(entry.panel) end
end

--- Withdraws a request that has no response yet.
function M.close(chat_id, id)
  for _, entry in ipairs(queue.all(chat_id)) do
    if entry.request.id == id then finish(entry, present) end
  end
end

function M.close_all(chat_id)
  local all = queue.all(chat_id)
  for _, entry in ipairs(all) do
    queue.remove(entry)
    panels.discard(entry.panel)
  end
  if #all > 0 then review.uncover(chat_id) end
  release(chat_id)
  close_room(chat_id)
end

function M.has(chat_id) return queue.first(chat_id) ~= nil end

--- Goes to a request, which is shown again if it was hidden.
---@param chat_id? string default: the current chat, else the only one that asks
function M.focus(chat_id)
  local entry, problem = find(chat_id)
  if not entry then return notify.warn(problem) end
  if panels.has_window(entry.panel) or show(entry) then panels.enter(entry.panel) end
end

--- Runs `act` on the request that is meant; one that is hidden is shown first, and not answered.
local function with_visible(chat_id, act)
  local entry, problem = find(chat_id)
  if not entry then return notify.warn(problem) end
  if panels.is_visible(entry.panel) then return act(entry) end
  show(entry)
  notify.info(SHOWN_NOW)
end

--- Answers a request; one that is hidden is shown first, and not answered.
---@param chat_id? string default: the current chat, else the only one that asks
function M.answer(chat_id, choice, reason)
  with_visible(
    chat_id,
    function(entry) respond(entry, choice, reason and reason ~= '' and { reason = reason } or nil) end
  )
end

--- Answers a request by a key outside of the float, after it has been visible for a while.
---@param choice 'always'|'accept'|'reject'|'cancel'|'try'
function M.press(choice)
  with_visible(nil, function(entry)
    panels.gate(entry.panel, function()
      if choice == 'try' then return try(entry) end
      respond(entry, choice)
    end)
  end)
end

local function replace(chat_id, proposal, text)
  for _, entry in ipairs(queue.all(chat_id)) do
    if entry.request.id == proposal.subject then
      return respond(entry, 'edit', { replaced = { { path = proposal.path, text = text } } })
    end
  end
  if review.replace(chat_id, proposal.subject, proposal.path, text) then return end
  notify.warn('The change you edited is no longer pending.')
end

--- Opens an editor on the proposed text of a file.
---@param proposal agentchat.Proposal
function M.edit_proposal(chat_id, proposal)
  editor.edit_proposal(chat_id, proposal, function(text) replace(chat_id, proposal, text) end)
end

local function forget_decisions(chat_id)
  local wanted = review.subjects(chat_id)
  for _, entry in ipairs(queue.all(chat_id)) do
    wanted[entry.request.subject] = true
  end
  decisions.forget(chat_id, wanted)
end

local group = vim.api.nvim_create_augroup('agentchat.approval', {})

vim.api.nvim_create_autocmd('User', {
  pattern = 'AgentTurnFinished',
  group = group,
  callback = function(event)
    forget_decisions(event.data.chat)
    release(event.data.chat)
    close_room(event.data.chat)
  end,
})

vim.api.nvim_create_autocmd({ 'WinScrolled', 'WinResized', 'CursorMoved', 'CursorMovedI' }, {
  group = group,
  callback = moved,
})

--- Offers a text that is sent while a request waits as the reason for rejecting it.
local function offer_reason(chat, text)
  local entry = queue.first(chat.id)
  if not entry then return end
  entry.reason, entry.request.reason = text, text
  if panels.is_visible(entry.panel) then panels.draw(entry.panel) end
end

registry.listen({
  sent = offer_reason,
  moved = function(chat)
    local entry = queue.held(chat.id)
    -- The model speaks again: the reply asks no more.
    if entry and entry.words ~= chat.words then
      release(chat.id)
      close_room(chat.id)
    end
    moved()
  end,
  ended = function(chat)
    M.close_all(chat.id)
    decisions.forget(chat.id)
  end,
})

return M
