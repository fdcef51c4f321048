-- The previews that wait to be applied or discarded, those of a chat in one window: the newest is
-- shown. Closing it hides it and decides nothing.

local bridge = require('agentchat.bridge')
local commands = require('agentchat.commands')
local config = require('agentchat.config')
local diff = require('agentchat.diff')
local float = require('agentchat.float')
local hunks = require('agentchat.hunks')
local keypress = require('agentchat.keypress')
local layout = require('agentchat.layout')
local notice = require('agentchat.notice')
local screen = require('agentchat.screen')
local sheet = require('agentchat.sheet')
local sight = require('agentchat.sight')
local verdicts = require('agentchat.verdicts')

local M = {}

local edge = layout.on_edge

---@class (exact) agentchat.Preview
---@field id string
---@field label string
---@field source string the tool that staged it
---@field files integer
---@field stamp? string of the change that is shown
---@field doc agentchat.Doc

---@class (exact) agentchat.Review
---@field chat string
---@field previews agentchat.Preview[] the oldest first
---@field form 'float'|'split'|'tab'
---@field view? agentchat.Float|agentchat.Sheet none while hidden
---@field hidden boolean the user put it away
---@field moving boolean it is about to be opened elsewhere
---@field drawn number when it was drawn, in ms
---@field field? agentchat.Float where a comment is typed

---@type table<string, agentchat.Review>
local reviews = {}

local Z = 50 -- below the question
local APPLY_MS = 300 -- what an accepted preview has for being applied before it is shown again

---@param it agentchat.Review
local function room(it) return it.form == 'float' and float or sheet end

---@param it agentchat.Review
---@return agentchat.Preview
local function newest(it) return it.previews[#it.previews] end

---@param it agentchat.Review
---@return string what is shown, string where it comes from
local function headings(it)
  local preview = newest(it)
  local files = ('%d %s'):format(preview.files, preview.files == 1 and 'file' or 'files')
  local more = #it.previews > 1 and (' · newest of %d'):format(#it.previews) or ''
  return preview.label, preview.source .. ' · ' .. files .. more
end

---@param it agentchat.Review
---@param width integer
---@param line string the character of the border
---@return agentchat.Chunk[]
local function title(it, width, line)
  local label, source = headings(it)
  local right = { edge(' ' .. source .. ' ', 'AgentChatFact'), edge(line) }
  if layout.width(right) > width / 2 then right = {} end
  local cut = layout.cut(label, width - layout.width(right) - 5)
  local left = { edge(line), edge(' ' .. cut .. ' ', 'AgentChatTitle') }
  return layout.edge(left, right, width, line)
end

---@param it agentchat.Review
---@return agentchat.Tally?
local function tally(it) return diff.tally(it.chat, newest(it).id, newest(it).doc) end

local DECIDE = { ':AgentResolve', 'apply|discard' }
local ENTER = { 'gr', 'enter' }
local MOVE = {
  { 'a', 'apply' },
  { 'x', 'hunk' },
  { 'C', 'comment' },
  { 'E', 'edit text' },
  { 's', 'split' },
  { '?', 'keys' },
  { 'q', 'hide' },
}

---@param it agentchat.Review
---@param width integer
---@param part agentchat.Part
---@param line string the character of the border
---@return agentchat.Chunk[]
local function footer(it, width, part, line)
  local more = float.focused(it.view) and MOVE or { ENTER }
  local all = vim.list_extend({ DECIDE }, more)
  local lefts = vim.tbl_map(
    function(words) return vim.list_extend({ edge(line) }, layout.hints(all, words)) end,
    { #all, 2, 1, 0 }
  )
  return layout.fitting_edge(lefts, diff.parts(tally(it), part, line), width, line)
end

---@param it agentchat.Review
local function closed(it)
  it.view = nil
  keypress.deafen()
  if it.moving then return end
  it.hidden, it.form = true, 'float'
end

---@param it agentchat.Review
---@return agentchat.Float?
local function open_float(it)
  local _, line = screen.border()
  return float.open({
    filetype = 'agentchat-review',
    chat = it.chat,
    zindex = Z,
    share = 0.8,
    least = 74,
    place = layout.bottom,
    title = function(width) return title(it, width, line) end,
    footer = function(width, part) return footer(it, width, part, line) end,
    closed = function() closed(it) end,
  })
end

---@param it agentchat.Review
---@return agentchat.Sheet
local function open_sheet(it)
  return sheet.open({
    form = it.form,
    filetype = 'agentchat-review',
    chat = it.chat,
    title = function()
      local label, source = headings(it)
      local kept = tally(it)
      return (' %s  (%s)  %s'):format(label, source, kept and kept.text or '')
    end,
    closed = function() closed(it) end,
  })
end

---@param it agentchat.Review
local function close(it)
  it.moving = true
  room(it).close(it.view)
  it.view, it.moving = nil, false
end

---@return number
local function now() return vim.uv.hrtime() / 1e6 end

---@param it agentchat.Review
---@return agentchat.DiffSpec?
local function diff_spec(it)
  if not it.view then return nil end
  local preview = newest(it)
  return {
    chat = it.chat,
    id = preview.id,
    subject = preview.id,
    title = preview.label,
    buf = it.view.buf,
    doc = preview.doc,
    changed = function()
      if it.view then room(it).refit(it.view) end
    end,
    typing = function(field) it.field = field end,
  }
end

---@param it agentchat.Review
local function draw(it)
  room(it).draw(it.view, newest(it).doc)
  diff.mark(diff_spec(it))
  room(it).refit(it.view)
end

---@param it agentchat.Review
---@param action fun()
local function gate(it, action)
  local chat = require('agentchat.chat').get(it.chat)
  local settled = now() - it.drawn >= config.get(chat and chat.buf).ui.prompt_delay_ms
  if settled and keypress.deliberate() then action() end
end

local HELP = {
  { 'a', 'apply what is kept, like :AgentResolve apply' },
  { 'q', 'hide the review: nothing is decided' },
  { 'g? ?', 'these keys' },
}

local function help()
  local lines = { 'In the review of a preview', '' }
  for _, key in ipairs(vim.list_extend(vim.list_extend({}, diff.HELP), HELP)) do
    table.insert(lines, ('  %-6s %s'):format(key[1], key[2]))
  end
  vim.list_extend(lines, { '', '  :AgentResolve apply|discard [reason] works here, too.' })
  float.page('Keys', lines)
end

---@param it agentchat.Review
---@param buf integer
local function map_keys(it, buf)
  local function map(key, action, desc)
    vim.keymap.set('n', key, action, { buffer = buf, nowait = true, desc = desc })
  end
  local function gated(key, action, desc)
    map(key, function() gate(it, action) end, desc)
  end
  diff.map(buf, function() return diff_spec(it) end, function(action) gate(it, action) end)
  gated('a', function()
    M.resolve(it.chat, 'apply')
    keypress.drain()
  end, 'Apply what is kept')
  gated('s', function() M.cycle(it.chat) end, 'Float, split or tab')
  map('q', function() room(it).close(it.view) end, 'Hide the preview')
  map('?', help, 'Keys')
  map('g?', help, 'Keys')
end

---Opens the newest preview in this tab, without taking the focus where that can be.
---@param it agentchat.Review
local function open(it)
  close(it)
  it.view = it.form == 'float' and open_float(it) or open_sheet(it)
  it.hidden = false
  keypress.listen()
  local buf = it.view.buf
  vim.bo[buf].formatlistpat = hunks.GUTTER
  commands.attach_resolve(buf, it.chat)
  map_keys(it, buf)
  draw(it)
  vim.cmd.redraw()
  it.drawn = now()
end

---@param chat string
---@return boolean whether a question of the chat shows the same
local function covered(chat) return require('agentchat.approval').has(chat) end

---Shows what has changed where the user sees the chat.
---@param it agentchat.Review
local function present(it)
  if it.hidden or covered(it.chat) then return end
  if it.view then
    draw(it)
    it.drawn = now()
  elseif sight.of(it.chat) then
    open(it)
  end
end

local function follow()
  for _, it in pairs(reviews) do
    if not it.view then
      present(it)
    elseif it.form == 'float' then
      float.redraw_footer(it.view)
    end
  end
end

---@param chat string
---@return agentchat.Review
local function of(chat)
  if not reviews[chat] then
    reviews[chat] = {
      chat = chat,
      previews = {},
      form = 'float',
      hidden = false,
      moving = false,
      drawn = 0,
    }
    sight.follow('review', follow)
  end
  return reviews[chat]
end

---@param it agentchat.Review
---@param id string
---@return integer? index
local function index(it, id)
  for i, preview in ipairs(it.previews) do
    if preview.id == id then return i end
  end
end

--- Shows a preview; one with the same id is replaced.
---@param chat string
---@param preview agentchat.Preview
function M.show(chat, preview)
  local it = of(chat)
  it.previews[index(it, preview.id) or #it.previews + 1] = preview
  it.hidden = false
  present(it)
end

--- Takes back a preview that is applied or discarded; one below it is shown in its place.
---@param chat string
---@param id string
function M.close(chat, id)
  local it = reviews[chat]
  local at = it and index(it, id)
  if not at then return end
  table.remove(it.previews, at)
  verdicts.forget(chat, id)
  if #it.previews == 0 then return M.close_all(chat) end
  present(it)
end

--- Takes back all previews of a chat.
---@param chat string
function M.close_all(chat)
  local it = reviews[chat]
  if not it then return end
  reviews[chat] = nil
  float.close(it.field)
  close(it)
end

--- Applies what is kept of the newest preview, or discards it.
---@param chat string
---@param action 'apply'|'discard'
---@param reason? string
function M.resolve(chat, action, reason)
  local order = { chat = chat, action = action, reason = reason }
  local it = reviews[chat]
  if it then
    local preview = newest(it)
    order.preview, order.stamp = preview.id, preview.stamp
    order.hunks = diff.told(chat, preview.id, preview.doc)
  end
  bridge.send('resolve', order)
end

--- Puts the text that the user wrote in place of the proposed one.
---@param chat string
---@param id string of the preview
---@param path string
---@param text string
---@return boolean whether that preview is pending
function M.replace(chat, id, path, text)
  local it = reviews[chat]
  if not (it and index(it, id)) then return false end
  bridge.send('amend', { chat = chat, preview = id, path = path, text = text })
  return true
end

--- Takes the user to the newest preview, shown again if it was hidden.
---@param chat string
function M.focus(chat)
  local it = reviews[chat]
  if not it then return notice.warn('Nothing is pending.') end
  if covered(chat) then return require('agentchat.approval').focus(chat) end
  if not room(it).visible(it.view) then open(it) end
  room(it).enter(it.view)
end

--- Shows the preview as a float, a split or a tab, whichever comes next.
---@param chat string
function M.cycle(chat)
  local it = reviews[chat]
  local view = vim.fn.winsaveview()
  close(it)
  it.form = float.NEXT[it.form]
  open(it)
  room(it).enter(it.view)
  vim.fn.winrestview(view)
end

--- Makes room for a question of the chat, which shows the same.
---@param chat string
function M.cover(chat)
  local it = reviews[chat]
  if it and it.form == 'float' then close(it) end
end

--- Shows again what is still pending a moment after the question was answered.
---@param chat string
function M.uncover(chat)
  local it = reviews[chat]
  if not it then return end
  vim.defer_fn(function()
    if reviews[chat] == it and not it.view then present(it) end
  end, APPLY_MS)
end

return M
