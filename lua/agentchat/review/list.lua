-- The previews that wait to be applied or discarded, those of a chat in one window: the newest is
-- shown. Closing it hides it and decides nothing.

local decisions = require('agentchat.diff.decisions')
local dock = require('agentchat.dock')
local float = require('agentchat.ui.float')
local host = require('agentchat.host.process')
local hunks = require('agentchat.diff.hunks')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local settings = require('agentchat.config.settings')
local split = require('agentchat.diff.split')

local M = {}

---@class (exact) agentchat.Preview as Python sends it
---@field id string
---@field label string
---@field source string the tool that staged it
---@field files integer
---@field stamp? string of the change that is shown
---@field doc agentchat.Doc

---@class (exact) agentchat.Review
---@field chat string
---@field previews agentchat.Preview[] the oldest first
---@field panel agentchat.Panel
---@field hidden boolean the user put it away
---@field reason string what was typed so far

---@type table<string, agentchat.Review>
local reviews = {}

---@type table<string, fun()> goes to the approval request that shows the same, by chat
local covered = {}

local Z = 50 -- below the approval request
local APPLY_MS = 300 -- what an accepted preview has for being applied before it is shown again

local OUTSIDE = { { ':AgentResolve', 'apply|discard' }, { 'gr', 'enter' } }
local INSIDE = {
  { 'a', 'apply' },
  { 'r', 'reject' },
  { 'x', 'hunk' },
  { 'C', 'comment' },
  { 'E', 'edit text' },
  { 's', 'split' },
  { '?', 'keys' },
  { 'q', 'hide' },
}
local HELP = {
  { 'a', 'apply the kept hunks, like :AgentResolve apply' },
  { 'r', 'discard the preview with a reason, like :AgentResolve discard' },
  { '<Esc>', 'return to the window you came from' },
  { 'q', 'hide the review without a decision' },
  { 'g? ?', 'list these keys' },
}

local function newest(review) return review.previews[#review.previews] end

---@return string label, string source tool, files, and how many previews wait
local function headings(review)
  local preview, count = newest(review), #review.previews
  local files = ('%d %s'):format(preview.files, preview.files == 1 and 'file' or 'files')
  local more = count > 1 and (' · newest of %d'):format(count) or ''
  return preview.label, preview.source .. ' · ' .. files .. more
end

local function title(review, width)
  local label, source = headings(review)
  local fits = vim.api.nvim_strwidth(source) + 3 <= width / 2
  return layout.title(label, width, fits and source or nil, 'AgentChatFact')
end

local function tally(review) return hunks.tally(review.chat, newest(review).id, newest(review).doc) end

local function heading(review)
  local label, source = headings(review)
  local kept = tally(review)
  return (' %s  (%s)  %s'):format(label, source, kept and kept.text or '')
end

local function footer(review, edge)
  local hints = edge.inside and INSIDE or OUTSIDE
  local lefts = vim.tbl_map(
    function(words) return layout.hints(hints, words) end,
    { #hints, 5, 2, 1, 0 }
  )
  return layout.fitting_edge(lefts, hunks.parts(tally(review), edge.part), edge.width)
end

local function help()
  local lines = float.key_lines(vim.list_extend(vim.list_extend({}, HELP), hunks.HELP))
  vim.list_extend(lines, { '', ':AgentResolve apply|discard [reason] works here, too.' })
  float.page('Keys of the review', lines)
end

local function reject(review)
  local id = newest(review).id
  review.panel.field = input.ask({
    chat = review.chat,
    title = 'Reason for rejecting: ' .. newest(review).label,
    text = review.reason,
    send = function(text)
      local asked = reviews[review.chat] == review and newest(review).id == id
      if not asked then return notify.warn('The preview you rejected is no longer pending.') end
      M.resolve(review.chat, 'discard', text ~= '' and text or nil)
    end,
    back = function(text) review.reason = text end,
  })
end

local function map_keys(review, buf)
  registry.announce('buffer', registry.get(review.chat), buf)
  render.disable_keys(buf)
  local function gated(key, action, desc)
    render.map(buf, { key }, function() panels.gate(review.panel, action, key) end, desc)
  end
  hunks.map(review.panel, buf)
  gated('a', function()
    M.resolve(review.chat, 'apply')
    key_guard.drain()
  end, 'Apply the kept hunks')
  gated('r', function() reject(review) end, 'Discard the preview and give a reason')
  render.map(buf, { 'q' }, function() panels.hide(review.panel) end, 'Hide the preview')
  render.map(
    buf,
    { '<Esc>' },
    function() panels.leave(review.panel) end,
    'Return to the window you came from'
  )
  render.map(buf, { '?', 'g?' }, help, 'Keys')
end

local function panel_spec(review)
  return {
    chat = review.chat,
    name = 'review',
    filetype = 'agentchat-review',
    zindex = Z,
    place = function(screen, want)
      return dock.place_wide(registry.get(review.chat), review.panel.view, screen, want)
    end,
    title = function(width) return title(review, width) end,
    footer = function(edge) return footer(review, edge) end,
    heading = function() return heading(review) end,
    subject = function()
      local shown = newest(review)
      return { id = shown.id, subject = shown.id, title = shown.label }
    end,
    doc = function()
      local shown = newest(review)
      return split.document(decisions.of(review.chat, shown.id), shown.doc)
    end,
    draw = hunks.draw,
    resized = hunks.resized,
    lead = function() return hunks.GUTTER end,
    delay = function() return settings.get(registry.buffer(review.chat)).ui.prompt_delay_ms end,
    map = function(buf) map_keys(review, buf) end,
    closed = function() review.hidden = true end,
  }
end

---Shows what has changed where the user sees the chat.
local function present(review)
  if review.hidden or covered[review.chat] then return end
  if review.panel.view then
    panels.draw_new(review.panel)
  elseif registry.is_visible(review.chat) then
    panels.show(review.panel, review.panel.form)
  end
end

local function update()
  for _, review in pairs(reviews) do
    if not review.panel.view then present(review) end
    panels.refresh(review.panel)
  end
end

local function of(chat_id)
  if not reviews[chat_id] then
    local review = { chat = chat_id, previews = {}, hidden = false, reason = '' }
    review.panel = panels.new(panel_spec(review))
    reviews[chat_id] = review
    registry.on_view_change('review', update)
  end
  return reviews[chat_id]
end

local function index(review, id)
  for i, staged in ipairs(review.previews) do
    if staged.id == id then return i end
  end
end

--- Shows a preview; one with the same id is replaced.
function M.show(chat_id, staged)
  local review = of(chat_id)
  review.previews[index(review, staged.id) or #review.previews + 1] = staged
  review.hidden = false
  present(review)
end

--- Takes back a preview that is applied or discarded; one below it is shown in its place.
function M.close(chat_id, id)
  local review = reviews[chat_id]
  local at = review and index(review, id)
  if not at then return end
  table.remove(review.previews, at)
  decisions.forget(chat_id, M.subjects(chat_id))
  if #review.previews == 0 then return M.close_all(chat_id) end
  present(review)
end

function M.close_all(chat_id)
  local review = reviews[chat_id]
  if not review then return end
  reviews[chat_id] = nil
  panels.discard(review.panel)
end

--- Applies what is kept of the newest preview, or discards it.
function M.resolve(chat_id, action, reason)
  local order = { chat = chat_id, action = action, reason = reason }
  local review = reviews[chat_id]
  if review then
    local shown = newest(review)
    order.preview, order.stamp = shown.id, shown.stamp
    order.hunks = split.report(chat_id, shown.id, shown.doc)
  end
  host.send('resolve', order)
end

--- Puts the text that the user wrote in place of the proposed one.
---@return boolean whether that preview is pending
function M.replace(chat_id, id, path, text)
  local review = reviews[chat_id]
  if not (review and index(review, id)) then return false end
  host.send('amend', { chat = chat_id, preview = id, path = path, text = text })
  return true
end

--- Takes the user to the newest preview, shown again if it was hidden.
function M.focus(chat_id)
  local review = reviews[chat_id]
  if not review then return notify.warn('No preview is pending.') end
  if covered[chat_id] then return covered[chat_id]() end
  if not panels.is_visible(review.panel) then
    review.hidden = false
    panels.show(review.panel, review.panel.form)
  end
  panels.enter(review.panel)
end

--- What is decided about, as a set.
---@return table<string, true>
function M.subjects(chat_id)
  local found = {}
  for _, preview in ipairs(reviews[chat_id] and reviews[chat_id].previews or {}) do
    found[preview.id] = true
  end
  return found
end

--- Lets an approval request of the chat show the same, in place of the review.
---@param focus fun() goes to the request
function M.cover(chat_id, focus) covered[chat_id] = focus end

--- Makes room for the approval request that covers the review.
function M.close_float(chat_id)
  local review = reviews[chat_id]
  if review and review.panel.form == 'float' then panels.close(review.panel) end
end

--- Shows again what is still pending a moment after the request was answered.
function M.uncover(chat_id)
  covered[chat_id] = nil
  local review = reviews[chat_id]
  if not review then return end
  vim.defer_fn(function()
    if reviews[chat_id] == review and not review.panel.view then present(review) end
  end, APPLY_MS)
end

registry.listen({
  moved = function(chat)
    local review = reviews[chat.id]
    if review then dock.keep_clear(chat, review.panel) end
  end,
  ended = function(chat) M.close_all(chat.id) end,
})

return M
