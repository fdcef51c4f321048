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
  { 'c', 'cancel' },
  { 'e', 'edit' },
  { '?', 'details' },
  { 'q', 'hide' },
}

---@type [string, string][] the rest, shown where all of them fit
local RULE_HINT = { { 'R', 'rule' } }
local DIFF_HINTS = { { 'x', 'hunk' }, { 'C', 'comment' }, { 'E', 'edit text' } }

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

local function add_details(page, request)
  local details = request.details or {}
  M.add_notes(page, #details > 0 and details or { 'No details.' })
  local keys = { { 'H', 'list the decisions of this chat' } }
  if request.rule then table.insert(keys, 1, { 'R', 'write a rule for similar calls' }) end
  if M.offers_turn(request) then
    local text = 'accept %s now, and more that "always" would cover until this turn ends'
    table.insert(keys, 1, { 'T', text:format(all_word(request)) })
  end
  if #(request.doc.hunks or {}) > 0 then vim.list_extend(keys, hunks.HELP) end
  M.add_notes(page, float.key_lines(keys))
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

--- The text of a request: what would run, its facts, and the details if asked for.
function M.page(request, detailed)
  local page = { lines = {}, marks = {}, rows = {} }
  local found, above, below = facts(request), {}, {}
  local long = is_long(request, found)
  for _, fact in ipairs(found) do
    table.insert(is_above(request, fact, long) and above or below, fact)
  end
  M.add_facts(page, above)
  if #above > 0 then add(page, '') end
  add_doc(page, request.doc)
  if #below > 0 then add(page, '') end
  M.add_facts(page, below)
  if detailed then add_details(page, request) end
  return page
end

local function place_of(request) return ('%d of %d'):format(request.place, request.total) end

--- Whether there is something that `e` edits: a question about no call has only its draft.
function M.is_editable(request) return request.draft ~= nil or request.kind ~= 'text' end

local function hints_of(request)
  local given = {
    A = request.always == true,
    T = M.offers_turn(request),
    e = M.is_editable(request),
    t = request.try == true,
  }
  local hints = vim.tbl_filter(function(hint) return given[hint[1]] ~= false end, HINTS)
  return vim.tbl_map(
    function(hint) return hint[1] == 'T' and { 'T', all_word(request) } or hint end,
    hints
  )
end

--- The title of a float: the request, and its place among those of the reply.
function M.title(request, width)
  return layout.title(request.title, width, place_of(request), 'AgentChatTitle')
end

--- The title of another window: the same with the keys.
function M.heading(request, width, tally)
  local title = table.concat({ request.title, place_of(request), tally and tally.text }, ' · ')
  local function with(hints) return (' %s · %s'):format(title, table.concat(hints, '  ')) end
  local hints = hints_of(request)
  local long = with(vim.tbl_map(function(hint) return table.concat(hint, ' ') end, hints))
  if vim.api.nvim_strwidth(long) <= width then return long end
  return with(vim.tbl_map(function(hint) return hint[1] end, hints))
end

--- The keys that answer, and which part of the text is visible.
---@param way_in string how to get into the float, while the user is not in it
function M.footer(request, edge, way_in, tally)
  local hints, lefts = hints_of(request), {}
  if way_in == '' then
    local more = { hints, request.rule and RULE_HINT or {}, tally and DIFF_HINTS or {} }
    local all = vim.iter(more):flatten(1):totable()
    table.insert(lefts, layout.hints(all, #all))
  end
  local lead = way_in ~= '' and (' %s ›'):format(way_in) or nil
  for words = #hints, 0, -1 do
    table.insert(lefts, layout.hints(hints, words, lead))
  end
  table.insert(lefts, layout.hints(hints, 0))
  return layout.fitting_edge(lefts, hunks.parts(tally, edge.part), edge.width)
end

--- Matches the labels of facts, so that a long value wraps behind its label.
---@return string pattern for 'formatlistpat'
function M.label_pattern(found)
  local labels = vim.tbl_map(function(fact) return vim.fn.escape(fact[1], [[\^$.*~[]]) end, found)
  return ([[^\%%(%s\)\s\{2,}]]):format(table.concat(labels, [[\|]]))
end

--- The same for a request, whose lines of code wrap behind their line numbers.
function M.lead(request) return M.label_pattern(facts(request)) .. [[\|]] .. hunks.GUTTER end

return M
