-- The review of what was changed, of a turn or of a chat, one of a chat at a time: hunks are taken back,
-- put into the quickfix list, visited.

local decisions = require('agentchat.diff.decisions')
local dock = require('agentchat.dock')
local float = require('agentchat.ui.float')
local host = require('agentchat.host.process')
local hunks = require('agentchat.diff.hunks')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local split = require('agentchat.diff.split')

local M = {}

---@class (exact) agentchat.Changes as Python sends them
---@field title string
---@field turn? integer nil for those of the whole chat
---@field summary string
---@field doc agentchat.Doc its hunks have the `stamp` of their file

---@class (exact) agentchat.ChangesReview
---@field chat string
---@field changes agentchat.Changes
---@field panel agentchat.Panel

---@type table<string, agentchat.ChangesReview> by chat
local reviews = {}

local Z = 45 -- below the review of a preview
local SUBJECT = 'changes'
local NONE_LEFT = 'Nothing is left of these changes.'

local HINTS = {
  { 'x', 'take back' },
  { 'gf', 'file' },
  { 'Q', 'quickfix' },
  { 's', 'split' },
  { '?', 'keys' },
  { 'q', 'close' },
}
local HELP = {
  { 'x', 'take the hunk back; :AgentRedo brings it back' },
  { 'X', 'take all hunks of the file back' },
  { '<Esc>', 'return to the window you came from' },
  { 'q', 'close the review' },
  { 'g? ?', 'list these keys' },
}

local function help()
  local keys = vim.list_extend(vim.list_extend({}, HELP), hunks.VIEW_HELP)
  float.page('Keys of the changes', float.key_lines(keys))
end

local function footer(edge)
  local lefts = vim.tbl_map(
    function(words) return layout.hints(HINTS, words) end,
    { #HINTS, 3, 1, 0 }
  )
  return layout.fitting_edge(lefts, layout.parts(edge.part), edge.width)
end

--- Takes hunks of one file back.
local function take_back(review, found)
  host.send('take_back', {
    chat = review.chat,
    turn = review.changes.turn,
    stamp = found[1].stamp,
    hunks = vim.tbl_map(
      function(hunk) return { path = hunk.path, index = hunk.index, part = hunk.part, keep = false } end,
      found
    ),
  })
end

local function map_keys(review, buf)
  registry.announce('buffer', registry.get(review.chat), buf)
  render.disable_keys(buf)
  hunks.map_view(review.panel, buf)
  local function map(key, desc, choose)
    hunks.map_hunk(
      review.panel,
      buf,
      key,
      desc,
      function(panel, hunk) take_back(review, choose(panel, hunk)) end
    )
  end
  map('x', 'Take the hunk back', function(_, hunk) return { hunk } end)
  map('X', 'Take all hunks of the file back', function(panel, hunk)
    return vim.tbl_filter(
      function(other) return other.stamp == hunk.stamp end,
      hunks.of_file(panel, hunk)
    )
  end)
  render.map(buf, { 'q' }, function() panels.hide(review.panel) end, 'Close the changes')
  render.map(
    buf,
    { '<Esc>' },
    function() panels.leave(review.panel) end,
    'Return to the window you came from'
  )
  render.map(buf, { '?', 'g?' }, help, 'Keys')
end

---@return agentchat.PanelSpec
local function panel_spec(review)
  local function changes() return review.changes end
  return {
    chat = review.chat,
    name = 'changes',
    filetype = 'agentchat-changes',
    zindex = Z,
    place = function(screen, want)
      return dock.place_wide(registry.get(review.chat), review.panel.view, screen, want)
    end,
    title = function(width)
      return layout.title(changes().title, width, changes().summary, 'AgentChatFact')
    end,
    footer = footer,
    heading = function() return (' %s  (%s)'):format(changes().title, changes().summary) end,
    subject = function() return { id = SUBJECT, subject = SUBJECT, title = changes().title } end,
    doc = function() return split.document(decisions.of(review.chat, SUBJECT), changes().doc) end,
    draw = hunks.draw,
    resized = hunks.resized,
    lead = function() return hunks.GUTTER end,
    delay = function() return 0 end,
    map = function(buf) map_keys(review, buf) end,
    closed = function() reviews[review.chat] = nil end,
  }
end

local function close(chat_id)
  local review = reviews[chat_id]
  if not review then return end
  reviews[chat_id] = nil
  panels.discard(review.panel)
end

--- Shows what is left after a hunk was taken back; the cursor stays where it is.
local function redraw(review)
  local spot = render.current_spot(review.panel.view.win, review.panel.page)
  panels.draw(review.panel)
  render.restore_spot(review.panel.view.win, review.panel.page, spot)
end

--- Shows changes; those that are shown of the same turn are replaced.
---@param changes agentchat.Changes
function M.show(chat_id, changes)
  local review = reviews[chat_id]
  if #changes.doc.lines == 0 then
    close(chat_id)
    return notify.info(NONE_LEFT)
  end
  if review and review.panel.view and review.changes.turn == changes.turn then
    review.changes = changes
    redraw(review)
    return panels.enter(review.panel)
  end
  close(chat_id)
  review = { chat = chat_id, changes = changes }
  review.panel = panels.new(panel_spec(review))
  reviews[chat_id] = review
  if panels.show(review.panel) then panels.enter(review.panel) end
end

--- Asks for what a turn changed, or the chat.
---@param about { turn?: integer, newest?: boolean }
function M.open(chat_id, about)
  host.send('changes', { chat = chat_id, turn = about.turn, newest = about.newest })
end

registry.on_view_change('changes', function()
  for _, review in pairs(reviews) do
    panels.refresh(review.panel)
  end
end)
registry.listen({
  moved = function(chat)
    local review = reviews[chat.id]
    if review then dock.keep_clear(chat, review.panel) end
  end,
  ended = function(chat) close(chat.id) end,
})

return M
