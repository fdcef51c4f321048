-- What an approval request shows: text, title and key hints.

local float = require('agentchat.ui.float')
local hunks = require('agentchat.diff.hunks')
local layout = require('agentchat.ui.layout')

local M = {}

---@class (exact) agentchat.ApprovalRequest as Python sends it; what is not known is absent
---@field id string
---@field subject string the same when the same is asked again
---@field tool string
---@field title string
---@field facts [string, string, string?][] label, value, group
---@field doc agentchat.Doc
---@field safety -1|0|1|2 -1: nothing changes
---@field warning? string
---@field place integer
---@field total integer
---@field always boolean whether *always* is on offer
---@field always_text? string
---@field same? string[] waiting calls that the same scope covers
---@field waiting? string[] other waiting calls of this tool
---@field reason? string what the user sent meanwhile, for a rejection
---@field rule? boolean whether a rule can be written from it
---@field arguments string JSON
---@field draft? string a text that `e` edits in place of the arguments
---@field details? string[]
---@field try? boolean whether the command can run on an overlay first
---@field kind 'command'|'diff'|'arguments'|'text'

-- Warnings below what would run may not be seen: if that has more rows than this, or if it fills more
-- than this share of the screen with its facts.
local LONG = { rows = 10, share = 0.6 }
local BORDER_AND_MARGIN = 6

local WORDS_BAR = '▎ ' -- before what the model said

local SAFETY = {
  [0] = '0 · no dry run, no undo',
  [1] = '1 · can be undone',
  [2] = '2 · dry run: shows what will change',
}

---@type [string, string][] keys and what they do, the answers first
local HINTS = {
  { 'A', 'always' },
  { 'a', 'accept' },
  { 'T', 'all' },
  { 't', 'try' },
  { 'r', 'reject' },
  { 'R', 'rule' },
  { 'c', 'cancel' },
  { 'e', 'edit' },
  { 'x', 'hunk' },
  { 'C', 'comment' },
  { 'E', 'edit text' },
  { '?', 'details' },
  { 'q', 'hide' },
}

-- Which keys give way first where not all of them fit; these are never left out.
local LEAST_NEEDED = vim.split('E C x q e t T c A', ' ')

-- What the details say of the answers.
local ANSWERS = {
  A = 'always: accept, and do not ask again about the same',
  a = 'accept this call',
  t = 'try it on an overlay: shows what it would change',
  r = 'reject it, with a reason',
  c = 'cancel this and all calls that wait',
  e = 'edit the arguments first',
  q = 'hide the question; ga shows it again',
}

--- The request without empty values; its `subject` is its own id unless it repeats another one.
function M.without_empty(request)
  local known = {}
  for name, value in pairs(request) do
    if value ~= '' then known[name] = value end
  end
  known.subject = known.subject or known.id
  return known
end

local function mark(page, first, last, group)
  local row = #page.lines
  page.marks[row] = ('%s %d:%d:%s'):format(page.marks[row] or '', first, last, group)
end

local function add(page, text, group)
  table.insert(page.lines, text)
  if group then mark(page, 0, #text, group) end
end

local function add_doc(page, doc)
  local first = #page.lines
  vim.list_extend(page.lines, doc.lines)
  for row, marks in ipairs(doc.marks or {}) do
    page.marks[first + row] = marks
  end
  for _, row in ipairs(doc.rows) do
    table.insert(page.rows, { row[1] + first, row[2] })
  end
  page.hunks = vim.tbl_map(
    function(hunk) return vim.tbl_extend('force', hunk, { row = hunk.row + first }) end,
    doc.hunks or {}
  )
end

--- Whether calls that wait can be accepted with this one, for the rest of the turn.
function M.offers_turn(request) return request.always == true and #(request.same or {}) > 0 end

local function all_word(request) return ('all %d'):format(#request.same + 1) end

---@return [string, string, string?][] label, value, group
local function facts(request)
  local found = vim.list_extend({}, request.facts)
  local risky = request.safety == 0
  local safety = (risky and '▲ ' or '') .. (SAFETY[request.safety] or SAFETY[0])
  local asks_only = request.safety == -1
  if not asks_only then
    table.insert(found, { 'safety', safety, risky and 'AgentChatWarning' or nil })
  end
  if request.warning then table.insert(found, { '', request.warning, 'AgentChatWarning' }) end
  if request.always and request.always_text then
    table.insert(found, { 'always', request.always_text })
  end
  if M.offers_turn(request) then
    local text = 'the same, until this turn ends; now also:\n' .. table.concat(request.same, '\n')
    table.insert(found, { all_word(request), text })
  end
  if #(request.waiting or {}) > 0 then
    table.insert(found, { 'waiting', table.concat(request.waiting, '\n') })
  end
  if request.reason then
    table.insert(found, { 'reject', ('with your message: "%s"'):format(request.reason) })
  end
  return found
end

local function add_fact(page, fact, width)
  local label = fact[1] .. (' '):rep(width - vim.api.nvim_strwidth(fact[1]))
  for _, value in ipairs(vim.split(fact[2], '\n')) do
    add(page, label .. value)
    mark(page, 0, #label, 'AgentChatFact')
    if fact[3] then mark(page, #label, #label + #value, fact[3]) end
    label = (' '):rep(width)
  end
end

--- Adds facts with their labels in a column.
---@param found [string, string, string?][] label, value, group
function M.add_facts(page, found)
  local width = 0
  for _, fact in ipairs(found) do
    if fact[1] ~= '' then width = math.max(width, vim.api.nvim_strwidth(fact[1]) + 2) end
  end
  for _, fact in ipairs(found) do
    add_fact(page, fact, width)
  end
end

function M.add_notes(page, lines)
  add(page, '')
  for _, line in ipairs(lines) do
    add(page, line, 'AgentChatNote')
  end
end

--- Whether the lines of a float may break between words only. Of code every character must be seen
--- as it is, so that is where none of it has to be broken.
---@param columns integer
function M.wraps_words(request, columns)
  return request.kind == 'text' or float.widest(request.doc.lines) <= columns
end

local function place_of(request) return ('%d of %d'):format(request.place, request.total) end

--- Whether there is something that `e` edits: a question about no call has only its draft.
function M.is_editable(request) return request.draft ~= nil or request.kind ~= 'text' end

---@param inside boolean whether the user is in the float
---@param tally? agentchat.Tally
local function hints_of(request, inside, tally)
  local in_diff = inside and tally ~= nil
  local given = {
    A = request.always == true,
    T = M.offers_turn(request),
    R = request.rule == true,
    e = M.is_editable(request),
    t = request.try == true,
    x = in_diff,
    C = in_diff,
    E = in_diff,
  }
  local hints = vim.tbl_filter(function(hint) return given[hint[1]] ~= false end, HINTS)
  return vim.tbl_map(
    function(hint) return hint[1] == 'T' and { 'T', all_word(request) } or hint end,
    hints
  )
end

--- What each key does, the answers first.
local function keys_of(request)
  local keys = {}
  for _, hint in ipairs(hints_of(request, false)) do
    if ANSWERS[hint[1]] then table.insert(keys, { hint[1], ANSWERS[hint[1]] }) end
  end
  if M.offers_turn(request) then
    local text = 'accept %s now, and more that "always" would cover until this turn ends'
    table.insert(keys, { 'T', text:format(all_word(request)) })
  end
  if request.rule then table.insert(keys, { 'R', 'write a rule for similar calls' }) end
  table.insert(keys, { 'H', 'list the decisions of this chat' })
  return #(request.doc.hunks or {}) > 0 and vim.list_extend(keys, hunks.HELP) or keys
end

local function add_details(page, request)
  local details = request.details or {}
  M.add_notes(page, #details > 0 and details or { 'No details.' })
  M.add_notes(page, float.key_lines(keys_of(request)))
end

---@param lines string[]
---@return integer how many rows they take in a float as wide as the screen
local function count_rows(lines)
  local width, rows = math.max(vim.o.columns - BORDER_AND_MARGIN, 1), 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return rows
end

local function is_long(request, found)
  local lines = request.doc.lines
  local rows = #lines > LONG.rows and #lines or count_rows(lines)
  if rows > LONG.rows then return true end
  local values = vim.iter(found):map(function(fact) return vim.split(fact[2], '\n') end)
  return rows + count_rows(values:flatten(1):totable()) > vim.o.lines * LONG.share
end

--- Facts that are above what would run: those of a question that is about no call, and the warnings
--- where what is below may not be seen.
local function is_above(request, fact, long)
  return request.kind == 'text' or (fact[3] == 'AgentChatWarning' and long)
end

local MOST_WORDS = 3 -- rows of them above what would run; more are below it

--- Adds what the model said before it made the call.
local function add_words(page, words)
  for _, line in ipairs(vim.split(words, '\n')) do
    add(page, WORDS_BAR .. line)
    mark(page, 0, #WORDS_BAR, 'AgentChatAgent')
  end
end

--- Whether a title leaves room for an ending.
local function has_room(request, width, ending)
  return layout.width({ { request.title }, { ending } }) + 7 <= width
end

--- The text of a request: the question if that is cut above, what would run, its facts, and the details
--- if asked for.
---@param words? string what the model said before, where the chat does not show it
---@param columns? integer of the float, if it has a title that may be cut
function M.page(request, detailed, words, columns)
  local page = { lines = {}, marks = {}, rows = {} }
  if columns and request.kind == 'text' and not has_room(request, columns, place_of(request)) then
    add(page, request.title)
    add(page, '')
  end
  local words_above = words and count_rows({ words }) <= MOST_WORDS
  if words_above then
    add_words(page, words)
    add(page, '')
  end
  local found, above, below = facts(request), {}, {}
  local long = is_long(request, found)
  for _, fact in ipairs(found) do
    table.insert(is_above(request, fact, long) and above or below, fact)
  end
  M.add_facts(page, above)
  if #above > 0 then add(page, '') end
  add_doc(page, request.doc)
  if words and not words_above then
    add(page, '')
    add_words(page, words)
  end
  if #below > 0 then add(page, '') end
  M.add_facts(page, below)
  if detailed then add_details(page, request) end
  return page
end

--- The edges of a float whose request was answered, while the next one is awaited.
function M.held_title(request, width)
  return layout.title('✓ ' .. request.title, width, place_of(request), 'AgentChatDone')
end

function M.held_footer(request, edge)
  local text = (' answered · the next question of %d follows '):format(request.total)
  local left = { layout.line(), layout.on_edge(text, 'AgentChatFact') }
  local keys = layout.hints({ { 'q', 'leave' } }, 1)
  return layout.fitting_edge({ left, { layout.line() } }, { keys, {} }, edge.width)
end

--- The title of another window: the same with the keys.
function M.heading(request, width, tally)
  local title = table.concat({ request.title, place_of(request), tally and tally.text }, ' · ')
  local function with(hints) return (' %s · %s'):format(title, table.concat(hints, '  ')) end
  local hints = hints_of(request, false)
  local long = with(vim.tbl_map(function(hint) return table.concat(hint, ' ') end, hints))
  if vim.api.nvim_strwidth(long) <= width then return long end
  return with(vim.tbl_map(function(hint) return hint[1] end, hints))
end

--- Ways to name the keys with their words, the best first: what is left out is behind `?`.
---@return [string, string][][]
local function ways_to_name(hints)
  local ways = { hints }
  for _, key in ipairs(LEAST_NEEDED) do
    local left = ways[#ways]
    local fewer = vim.tbl_filter(function(hint) return hint[1] ~= key end, left)
    if #fewer < #left then table.insert(ways, fewer) end
  end
  return ways
end

local ALL_ROWS = { first = 1, last = 1, rows = 1 }
local CORE = 'AarRc?' -- keys that are named before the way into the float

local function lead_of(way_in) return (' %s ›'):format(way_in) end

--- Names keys in as few columns as their words allow.
local function named_tightly(hints, lead)
  local brief = vim.tbl_map(function(hint) return hint[1] == '?' and { '?', '' } or hint end, hints)
  return layout.hints(brief, #brief, lead, true)
end

--- Whether the lower edge says how to get in; else the title does.
local function leads_below(request, way_in, width)
  if not has_room(request, width, ('%s · %s'):format(way_in, place_of(request))) then
    return true
  end
  local function is_core(hint) return CORE:find(hint[1], 1, true) ~= nil end
  local core = vim.tbl_filter(is_core, hints_of(request, false))
  return layout.width(named_tightly(core, lead_of(way_in))) < width
end

--- The keys that answer, and which part of the text is visible.
---@param way_in string how to get into the float, while the user is not in it
function M.footer(request, edge, way_in, tally)
  local leads = way_in ~= '' and leads_below(request, way_in, edge.width)
  local lead = leads and lead_of(way_in) or nil
  local hints, lefts = hints_of(request, way_in == '', tally), {}
  local ways = ways_to_name(hints)
  for _, way in ipairs(ways) do
    table.insert(lefts, layout.hints(way, #way, lead))
    table.insert(lefts, named_tightly(way, lead))
  end
  local parts, least = hunks.parts(tally, edge.part), ways[#ways]
  local keys = { layout.hints(hints, 0), layout.hints(least, 0), { layout.line() } }
  return layout.fitting_pair(lefts, parts, edge.width)
    or layout.fitting_pair(lefts, hunks.parts(tally, ALL_ROWS), edge.width)
    or layout.fitting_edge(keys, parts, edge.width)
end

--- The title of a float: the request, its place among those of the reply, and how many wait besides.
---@param others integer requests of the chat that wait
---@param way_in string how to get into the float, while the user is not in it
function M.title(request, width, others, way_in)
  local place, endings = place_of(request), {}
  if others > 0 then place = ('%s · %d more'):format(place, others) end
  if way_in ~= '' and not leads_below(request, way_in, width) then
    table.insert(endings, ('%s · %s'):format(way_in, place))
  end
  table.insert(endings, place)
  for _, ending in ipairs(endings) do
    if has_room(request, width, ending) then
      return layout.title(request.title, width, ending, 'AgentChatTitle')
    end
  end
  local is_alone = request.total == 1 and others == 0
  return layout.title(request.title, width, not is_alone and place or nil, 'AgentChatTitle')
end

--- Matches the labels of facts, so that a long value wraps behind its label.
---@return string pattern for 'formatlistpat'
function M.label_pattern(found)
  local labels = vim.tbl_map(function(fact) return vim.fn.escape(fact[1], [[\^$.*~[]]) end, found)
  return ([[^\%%(%s\)\s\{2,}]]):format(table.concat(labels, [[\|]]))
end

--- The same for a request, whose lines of code wrap behind their line numbers.
function M.lead(request)
  local patterns = { M.label_pattern(facts(request)), hunks.GUTTER, '^' .. WORDS_BAR }
  return table.concat(patterns, [[\|]])
end

return M
