-- A diff that is drawn, with what the user says of its hunks: marked, dimmed, told to Python.

local bridge = require('agentchat.host.rpc')
local hunks = require('agentchat.diff.navigation')
local layout = require('agentchat.ui.layout')
local notice = require('agentchat.notify')
local paper = require('agentchat.ui.render')
local quickfix = require('agentchat.diff.quickfix')
local reason = require('agentchat.ui.reason')
local verdicts = require('agentchat.diff.decisions')

local M = {}

---@class (exact) agentchat.DiffSpec
---@field chat string uuid
---@field id string of the question or preview that is shown
---@field subject string what the diff is about
---@field title string
---@field buf integer
---@field doc agentchat.Doc as it is drawn
---@field changed fun() the marks have changed
---@field turn fun() draws it in one column or in two, whichever it is not now
---@field typing fun(field: agentchat.Float) the user types something for it

local ns = vim.api.nvim_create_namespace('agentchat.diff')

local NO_HUNK = 'There is no hunk here: ]c goes to the next one.'

--- The keys of a diff and what they do, for help.
M.HELP = {
  { ']c [c', 'next and previous hunk' },
  { ']f [f', 'next and previous file' },
  { 'x', 'reject the hunk, or keep it again' },
  { 'X', 'the same for all hunks of the file' },
  { 'C', 'comment on the hunk' },
  { 'E', 'edit the proposed text of the file' },
  { '|', 'one column, or the old text beside the new' },
  { 'za', 'fold the file or unfold it; zM and zR all files' },
  { 's', 'float, split or tab' },
  { 'Q', 'the hunks to the quickfix list' },
}

---@param doc agentchat.Doc
---@return agentchat.Hunk[]
function M.hunks(doc) return doc.hunks or {} end

---@param spec agentchat.DiffSpec
---@return agentchat.Verdicts
local function said(spec) return verdicts.of(spec.chat, spec.subject) end

--- What Python is told with an answer, if there is anything.
---@param chat string
---@param subject string
---@param doc agentchat.Doc
---@return table[]?
function M.told(chat, subject, doc)
  local told = verdicts.told(verdicts.of(chat, subject), M.hunks(doc))
  return #told > 0 and told or nil
end

---@class (exact) agentchat.Tally
---@field text string how many hunks are kept
---@field whole boolean whether all are

--- How many hunks are kept; nothing where there are none.
---@param chat string
---@param subject string
---@param doc agentchat.Doc
---@return agentchat.Tally?
function M.tally(chat, subject, doc)
  local all = M.hunks(doc)
  if #all == 0 then return nil end
  local count = verdicts.count(verdicts.of(chat, subject), all)
  return { text = ('%d of %d kept'):format(count, #all), whole = count == #all }
end

---@param spec agentchat.DiffSpec
---@param hunk agentchat.Hunk
local function mark(spec, hunk)
  local verdict = verdicts.get(said(spec), hunk)
  paper.dim(spec.buf, spec.doc, hunk.row + 1, hunk.row + hunk.rows, verdict.rejected)
  local look = {}
  if verdict.rejected then look.virt_text = { { '✗ rejected', 'AgentChatWarning' } } end
  if verdict.comment ~= '' then
    look.virt_lines = vim.tbl_map(
      function(line) return { { '  ▎ ', 'AgentChatNote' }, { line, 'AgentChatNote' } } end,
      vim.split(verdict.comment, '\n')
    )
  end
  if next(look) then vim.api.nvim_buf_set_extmark(spec.buf, ns, hunk.row, 0, look) end
end

--- Marks the hunks as the user has decided.
---@param spec agentchat.DiffSpec
function M.mark(spec)
  vim.api.nvim_buf_clear_namespace(spec.buf, ns, 0, -1)
  for _, hunk in ipairs(M.hunks(spec.doc)) do
    mark(spec, hunk)
  end
end

---@param spec agentchat.DiffSpec
local function changed(spec)
  M.mark(spec)
  spec.changed()
end

---The hunk where the cursor is; on the line of a file its first one.
---@param spec agentchat.DiffSpec
---@return agentchat.Hunk?
local function here(spec)
  local row, found = vim.api.nvim_win_get_cursor(0)[1] - 1, nil
  for _, hunk in ipairs(M.hunks(spec.doc)) do
    local first = hunk.index == 0 and hunk.row - 1 or hunk.row
    if first <= row then found = hunk end
  end
  return found
end

---@param spec agentchat.DiffSpec
---@param hunk agentchat.Hunk
---@return agentchat.Hunk[] those of the same file
local function siblings(spec, hunk)
  return vim.tbl_filter(function(it) return it.path == hunk.path end, M.hunks(spec.doc))
end

---@param spec agentchat.DiffSpec
---@param hunk agentchat.Hunk
local function comment(spec, hunk)
  local function take(text)
    verdicts.set(said(spec), hunk, { comment = text })
    if vim.api.nvim_buf_is_valid(spec.buf) then changed(spec) end
  end
  spec.typing(reason.open({
    chat = spec.chat,
    title = ('Comment on lines %d-%d'):format(hunk.first, hunk.last),
    text = verdicts.get(said(spec), hunk).comment,
    send = take,
    back = function() end,
  }))
end

---@type table<string, fun(spec: agentchat.DiffSpec, hunk: agentchat.Hunk)>
local KEYS = {
  x = function(spec, hunk)
    verdicts.toggle(said(spec), { hunk })
    changed(spec)
  end,
  X = function(spec, hunk)
    verdicts.toggle(said(spec), siblings(spec, hunk))
    changed(spec)
  end,
  C = comment,
  E = function(spec, hunk)
    bridge.send('propose', { chat = spec.chat, subject = spec.id, path = hunk.path })
  end,
}

--- Maps the keys of a diff in its buffer.
---@param buf integer
---@param spec fun(): agentchat.DiffSpec? as it is drawn now
---@param gate fun(action: fun()) runs what a person has asked for by a key
function M.map(buf, spec, gate)
  hunks.map(buf, function()
    local now = spec()
    return now and now.doc
  end)
  local function map(key, desc, action)
    vim.keymap.set(
      'n',
      key,
      function() gate(action) end,
      { buffer = buf, nowait = true, desc = desc }
    )
  end
  for key, act in pairs(KEYS) do
    map(key, 'Decide about the hunk', function()
      local now = spec()
      local hunk = now and here(now)
      if now and hunk then return act(now, hunk) end
      notice.info(NO_HUNK)
    end)
  end
  vim.keymap.set('n', '|', function()
    local now = spec()
    if now then now.turn() end
  end, { buffer = buf, nowait = true, desc = 'One column, or the old text beside the new' })
  map('Q', 'The hunks to the quickfix list', function()
    local now = spec()
    if now then quickfix.open(now.title, M.hunks(now.doc), said(now)) end
  end)
end

--- The ways to say on an edge which rows are in sight and how many hunks are kept: always, if
--- that is not all of them.
---@param tally? agentchat.Tally
---@param part agentchat.Part
---@param line string the character of the border
---@return agentchat.Chunk[][]
function M.parts(tally, part, line)
  local ways = layout.parts(part, line)
  if not tally then return ways end
  local kept = layout.on_edge((' %s '):format(tally.text), 'AgentChatFact')
  local both = vim.tbl_map(
    function(way) return vim.list_extend({ kept, layout.on_edge(line) }, way) end,
    ways
  )
  return tally.whole and vim.list_extend(both, ways) or both
end

return M
