-- The previews that wait to be applied or discarded, those of a chat in one window: the newest is
-- shown. Closing it hides it and decides nothing.

local commands = require('agentchat.commands')
local float = require('agentchat.float')
local hunks = require('agentchat.hunks')
local layout = require('agentchat.layout')
local notice = require('agentchat.notice')
local screen = require('agentchat.screen')
local sheet = require('agentchat.sheet')
local sight = require('agentchat.sight')

local M = {}

local edge = layout.on_edge

---@class (exact) agentchat.Preview
---@field id string
---@field label string
---@field source string the tool that staged it
---@field files integer
---@field doc agentchat.Doc

---@class (exact) agentchat.Review
---@field chat string
---@field previews agentchat.Preview[] the oldest first
---@field form 'float'|'split'|'tab'
---@field view? agentchat.Float|agentchat.Sheet none while hidden
---@field hidden boolean the user put it away
---@field moving boolean it is about to be opened elsewhere

---@type table<string, agentchat.Review>
local reviews = {}

local Z = 50 -- below the question
local NEXT = { float = 'split', split = 'tab', tab = 'float' }
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

local DECIDE = { ':AgentResolve', 'apply|discard' }
local ENTER = { 'gr', 'enter' }
local MOVE = { { ']c', 'hunk' }, { ']f', 'file' }, { 's', 'split' }, { 'q', 'hide' } }

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
    { #all, 1, 0 }
  )
  return layout.fitting_edge(lefts, layout.parts(part, line), width, line)
end

---@param it agentchat.Review
local function closed(it)
  it.view = nil
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
    title = function() return (' %s  (%s)'):format(headings(it)) end,
    closed = function() closed(it) end,
  })
end

---@param it agentchat.Review
local function close(it)
  it.moving = true
  room(it).close(it.view)
  it.view, it.moving = nil, false
end

---Opens the newest preview in this tab, without taking the focus where that can be.
---@param it agentchat.Review
local function open(it)
  close(it)
  it.view = it.form == 'float' and open_float(it) or open_sheet(it)
  it.hidden = false
  local buf = it.view.buf
  hunks.map(buf)
  vim.bo[buf].formatlistpat = hunks.GUTTER
  commands.attach_resolve(buf, it.chat)
  local function map(key, action, desc)
    vim.keymap.set('n', key, action, { buffer = buf, nowait = true, desc = desc })
  end
  map('q', function() room(it).close(it.view) end, 'Hide the preview')
  map('s', function() M.cycle(it.chat) end, 'Float, split or tab')
  room(it).draw(it.view, newest(it).doc)
end

---@param chat string
---@return boolean whether a question of the chat shows the same
local function covered(chat) return require('agentchat.approval').has(chat) end

---Shows what has changed where the user sees the chat.
---@param it agentchat.Review
local function present(it)
  if it.hidden or covered(it.chat) then return end
  if it.view then
    room(it).draw(it.view, newest(it).doc)
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
    reviews[chat] = { chat = chat, previews = {}, form = 'float', hidden = false, moving = false }
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
  if #it.previews == 0 then return M.close_all(chat) end
  present(it)
end

--- Takes back all previews of a chat.
---@param chat string
function M.close_all(chat)
  local it = reviews[chat]
  if not it then return end
  reviews[chat] = nil
  close(it)
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
  it.form = NEXT[it.form]
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
