--- Highlights the texts of a chat: what is in view or near it, in slices, also while it arrives.
---
--- A text waits as one extmark until it is near the view. It is then split into sections, each with an
--- extmark of its own that goes once the section is highlighted; that of a table stays, because its
--- columns depend on the window. No parser is attached to the buffer, which would parse the growing chat
--- again at every piece.
local code = require('agentchat.transcript.code')
local decorations = require('agentchat.transcript.decorations')
local layout = require('agentchat.ui.layout')
local markdown = require('agentchat.transcript.markdown')
local render = require('agentchat.ui.render')
local results = require('agentchat.transcript.results')
local sections = require('agentchat.transcript.sections')
local settings = require('agentchat.config.settings')
local tables = require('agentchat.transcript.tables')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.markdown')
local regions = api.nvim_create_namespace('agentchat.sections')

local AHEAD = 30 -- lines above and below the view
local CHUNK = 100 -- lines that are split at once
local MOST_LINES = 3000 -- a longer block of code stays plain: reading it would be felt
local STREAM_MS = 100 -- between two highlightings of a section that grows
local REST = 10 -- a section that grows is highlighted in at most one tenth of the time
local ANSWER_MS = 5000 -- after which the host is asked again

---@class agentchat.Section
---@field text agentchat.WaitingText it is part of
---@field lang? string of a block of code
---@field is_table boolean
---@field number? integer of the first line, of a result that is a part of a file
---@field is_result boolean? whether it is the result of a call, of the language `lang`
---@field indent integer blanks before each line that are no part of it
---@field drawn table<integer, string> the marks of each line that has any, from 1
---@field asked? integer ms, when the host was asked
---@field found? agentchat.Found its answer
---@field due integer ms, when a section that grows is highlighted again
---@field wakes? boolean whether a timer runs until then
---@field room? integer cells of the window that a table was aligned for, once it is whole

---@class agentchat.WaitingText
---@field id? integer its extmark
---@field open boolean more of it arrives
---@field as_typed boolean? whether no character of it is concealed
---@field next? integer extmark of the first line that is not split yet, once some are
---@field splitter agentchat.Splitter
---@field section? integer extmark of the section that grows

---@class agentchat.Highlighting of a chat
---@field texts table<integer, agentchat.WaitingText> by extmark
---@field sections table<integer, agentchat.Section> by extmark
---@field busy? boolean
---@field again? boolean

---@return agentchat.Highlighting
function M.new() return { texts = {}, sections = {} } end

local function now() return vim.uv.hrtime() / 1e6 end

--- Rows of a region, the last one excluded; nil if its text was deleted.
---@return integer? first, integer? last, integer? complete as `last`, without a line that has no end yet
local function rows_of(buf, id)
  local at = api.nvim_buf_get_extmark_by_id(buf, regions, id, { details = true })
  if not at[1] or at[3].invalid then return nil end
  local last = at[3].end_row or at[1]
  return at[1], (at[3].end_col or 0) > 0 and last + 1 or last, last
end

---@param grows? boolean with what is written at either end; else it goes with its text
local function set_region(buf, id, first, last, grows)
  return api.nvim_buf_set_extmark(buf, regions, first, 0, {
    id = id,
    end_row = last,
    end_col = 0,
    right_gravity = not grows,
    end_right_gravity = grows,
    invalidate = last > first,
    strict = false,
  })
end

local function drop(chat, id)
  local pending = chat.transcript.highlighting
  pending.texts[id], pending.sections[id] = nil, nil
  api.nvim_buf_del_extmark(chat.buf, regions, id)
end

-- Splitting ------------------------------------------------------------------------------------------

local function end_section(chat, text, row)
  if not text.section then return end
  local first = rows_of(chat.buf, text.section)
  if first then set_region(chat.buf, text.section, first, row) end
  text.section = nil
end

local function begin_section(chat, text, row)
  end_section(chat, text, row)
  local splitter = text.splitter
  text.section = set_region(chat.buf, nil, row, row)
  chat.transcript.highlighting.sections[text.section] = {
    text = text,
    lang = splitter.lang,
    is_table = splitter.is_table,
    indent = splitter.indent,
    drawn = {},
    due = 0,
  }
end

--- Splits complete lines of a text, at most `CHUNK`.
---@return boolean more whether there may be more
local function split(chat, id, text)
  local _, stop, complete = rows_of(chat.buf, id)
  local first = rows_of(chat.buf, text.next or id)
  stop = text.open and complete or stop
  if not first or not stop or first >= stop then return false end
  local last = math.min(stop, first + CHUNK)
  for i, line in ipairs(api.nvim_buf_get_lines(chat.buf, first, last, false)) do
    local begins = sections.step(text.splitter, line)
    if begins or not text.section then begin_section(chat, text, first + i - 1) end
  end
  text.next = set_region(chat.buf, text.next, last, last, text.open)
  return rows_of(chat.buf, text.next) == last -- else the buffer ends before it
end

local function split_all(chat, id, text, pause)
  while split(chat, id, text) do
    pause()
  end
  if text.open then return end
  local _, last = rows_of(chat.buf, id)
  if last then end_section(chat, text, last) end
  if text.next then api.nvim_buf_del_extmark(chat.buf, regions, text.next) end
  drop(chat, id)
end

-- Highlighting ---------------------------------------------------------------------------------------

---@class agentchat.Found
---@field rows string[] the decorations of each line
---@field shifts integer[] columns by which they are moved
---@field whole boolean whether these are all lines of a section that is complete

--- Draws the marks of a section; lines that have them already stay as they are.
---@param found agentchat.Found
local function draw(chat, id, section, found, pause)
  local first = rows_of(chat.buf, id)
  local plain = section.text.as_typed or not settings.get(chat.buf).ui.conceal
  for i, marks in ipairs(found.rows) do
    if not first then break end
    if (section.drawn[i] or '') ~= marks then
      decorations.draw(chat.buf, ns, first + i - 1, found.shifts[i], marks, plain)
      section.drawn[i] = marks
    end
    if pause() then first = rows_of(chat.buf, id) end
  end
  if found.whole and not section.is_table then drop(chat, id) end
end

--- The lines of a section without the indent of its fence.
local function read(chat, section, first, last)
  local lines, shifts = api.nvim_buf_get_lines(chat.buf, first, last, false), {}
  for i, line in ipairs(lines) do
    shifts[i] = math.min(section.indent, #line:match('^%s*'))
    lines[i] = line:sub(shifts[i] + 1)
  end
  return lines, shifts
end

--- Where a section ends; one that grows, with the text for now.
local function last_row(chat, id, section)
  if section.text.section ~= id then return select(2, rows_of(chat.buf, id)) end
  if not section.text.open then return nil end
  local _, last, complete = rows_of(chat.buf, section.text.id)
  -- Half a line of code has its colours; half a line of prose may mean something else.
  return section.lang and last or complete
end

local function is_due(chat, id, section)
  if section.asked and now() - section.asked < ANSWER_MS then return false end
  if section.text.section ~= id then return section.room ~= layout.room(chat.buf) end
  local wait = section.due - now()
  if wait <= 0 then return true end
  if not section.wakes then
    section.wakes = true
    vim.defer_fn(function()
      section.wakes = nil
      M.refresh(chat)
    end, wait)
  end
  return false
end

--- Adds to the colours of a section what its fences or its columns are shown as.
---@param pause fun()
local function frame(chat, section, lines, rows, pause)
  for i = 1, #lines do
    rows[i] = rows[i] or ''
  end
  if section.lang then code.frame(lines, rows) end
  if section.is_table then tables.align(lines, rows, layout.room(chat.buf), pause) end
  return rows
end

--- Asks Python for the highlights of code, and draws them when they come.
---@param take fun(rows: string[])
local function ask(chat, section, lines, take)
  local asked = code.ask(section.lang, lines, function(rows)
    take(rows)
    section.asked = nil
    M.refresh(chat)
  end)
  section.asked = asked and now() or nil
end

local function highlight_result(chat, id, section, lines, shifts, pause)
  local found = { rows = {}, shifts = shifts, whole = true }
  if section.lang == results.MATCHES then
    found.rows = results.match_rows(lines)
    return draw(chat, id, section, found, pause)
  end
  local under = section.number and results.number_rows(lines, section.number)
    or section.lang == results.CHANGE and results.change_rows(lines)
    or {}
  if not code.is_small(lines) then
    found.rows = under
    return draw(chat, id, section, found, pause)
  end
  draw(chat, id, section, { rows = under, shifts = shifts, whole = false }, pause)
  ask(chat, section, lines, function(rows)
    found.rows = rows
    for i, marks in ipairs(under) do
      found.rows[i] = marks .. ' ' .. rows[i]
    end
    section.found = found
  end)
end

local function highlight(chat, id, section, pause)
  local found, first = section.found, rows_of(chat.buf, id)
  if not first then return drop(chat, id) end
  section.found = nil
  if found then draw(chat, id, section, found, pause) end
  if found and found.whole or not is_due(chat, id, section) then return end
  local last, began = last_row(chat, id, section), now()
  if not last or last <= first then return end
  if last - first > MOST_LINES then return drop(chat, id) end
  local lines, shifts = read(chat, section, first, last)
  if section.is_result then return highlight_result(chat, id, section, lines, shifts, pause) end
  found = { rows = {}, shifts = shifts, whole = section.text.section ~= id }
  if code.is_for_host(section.lang, lines) then
    ask(chat, section, code.inner(lines), function(marks)
      found.rows = frame(chat, section, lines, code.rows(lines, marks), pause)
      section.found = found
    end)
    local rows = frame(chat, section, lines, vim.tbl_extend('force', {}, section.drawn), pause)
    draw(chat, id, section, { rows = rows, shifts = shifts, whole = false }, pause)
  else
    found.rows = markdown.rows(lines, section.lang ~= nil, pause) or {}
    section.room = found.whole and section.is_table and layout.room(chat.buf) or nil
    frame(chat, section, lines, found.rows, pause)
    draw(chat, id, section, found, pause)
  end
  section.due = now() + math.max(STREAM_MS, (now() - began) * REST)
end

--- What is in the view of a window or near it, in order; not what a closed fold hides as a whole.
local function near_window(buf, win)
  local first = math.max(0, vim.fn.line('w0', win) - 1 - AHEAD)
  local last = vim.fn.line('w$', win) - 1 + AHEAD
  local opts = { overlap = true, details = true }
  local marks = api.nvim_buf_get_extmarks(buf, regions, { first, 0 }, { last, -1 }, opts)
  return api.nvim_win_call(win, function()
    return vim.tbl_filter(
      function(mark) return vim.fn.foldclosedend(mark[2] + 1) < mark[4].end_row end,
      marks
    )
  end)
end

local function near(chat)
  local ids = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == chat.buf then
      for _, mark in ipairs(near_window(chat.buf, win)) do
        table.insert(ids, mark[1])
      end
    end
  end
  return ids
end

local function visit(chat, pause)
  local pending = chat.transcript.highlighting
  for _, id in ipairs(near(chat)) do
    local text = pending.texts[id]
    if text then split_all(chat, id, text, pause) end
  end
  for _, id in ipairs(near(chat)) do
    local section = pending.sections[id]
    if section then highlight(chat, id, section, pause) end
    pause()
  end
end

--- Highlights soon what is near the view: not while a batch of writes is under way, and never long
--- enough to be felt.
function M.refresh(chat)
  local pending = chat.transcript.highlighting
  pending.again = pending.busy
  if pending.busy or not (next(pending.texts) or next(pending.sections)) then return end
  pending.busy = true
  local function is_wanted()
    pending.busy = api.nvim_buf_is_loaded(chat.buf)
    return pending.busy
  end
  vim.schedule(function()
    pending.again = false
    render.in_slices(function(pause)
      visit(chat, pause)
      pending.busy = false
      if pending.again then M.refresh(chat) end
    end, is_wanted)
  end)
end

--- The result of a call is highlighted as code of a language when it is in view.
---@param first integer row
---@param last integer row after the last one
---@param indent integer blanks before each line
---@param number? integer of the first line in its file
function M.add_result(chat, first, last, lang, indent, number)
  local id = set_region(chat.buf, nil, first, last)
  chat.transcript.highlighting.sections[id] = {
    text = { open = false },
    lang = lang,
    number = number,
    is_table = false,
    is_result = true,
    indent = indent,
    drawn = {},
    due = 0,
  }
  M.refresh(chat)
end

--- Draws a chat as 'conceallevel' now is in its windows.
function M.follow_conceallevel(chat) decorations.follow_conceallevel(chat.buf, ns) end

-- The texts of a chat --------------------------------------------------------------------------------

--- A text begins that grows where its last piece ended.
---@param as_typed boolean it is the user's: `**/*.py` is shown as it was typed
---@return agentchat.WaitingText
function M.start(chat, row, as_typed)
  local text = {
    as_typed = as_typed,
    id = set_region(chat.buf, nil, row, row, true),
    open = true,
    splitter = sections.new(),
  }
  chat.transcript.highlighting.texts[text.id] = text
  return text
end

--- A text has ended.
---@param text agentchat.WaitingText
---@param first? integer row
---@param last? integer row after the last one; nil if the text is gone
function M.finish(chat, text, first, last)
  text.open = false
  if not first then return drop(chat, text.id) end
  set_region(chat.buf, text.id, first, last)
  local next = text.next and rows_of(chat.buf, text.next)
  if next then set_region(chat.buf, text.next, next, next) end
  M.refresh(chat)
end

return M
