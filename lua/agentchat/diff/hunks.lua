-- The hunks of a diff in a panel: drawn, visited, rejected or kept, commented.

local decisions = require('agentchat.diff.decisions')
local goto_file = require('agentchat.chat.goto_file')
local host = require('agentchat.host.process')
local input = require('agentchat.ui.input')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local panels = require('agentchat.ui.panel')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')
local render = require('agentchat.ui.render')
local side_by_side = require('agentchat.diff.side_by_side')
local split = require('agentchat.diff.split')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.diff')

local ONE_CHANGE = 'This hunk is a single change and cannot be split.'
local REMOTE = '%s is on another machine and cannot be opened here'

M.NO_HUNK = 'No hunk under the cursor: ]c goes to the next one.'

--- Matches line numbers and sign, which come before the code in a line of a diff.
M.GUTTER = [[^[ 0-9]\+ [-+ ] ]]

--- The keys of any diff and what they do, for help.
M.VIEW_HELP = {
  { ']c [c', 'next and previous hunk' },
  { ']f [f', 'next and previous file' },
  { 'S', 'split the hunk into its single changes' },
  { '|', 'one column, or old and new text side by side' },
  { 'za', 'open or close the fold of the file; zR and zM: of all files' },
  { 's', 'show the diff in a split, a tab page or a float' },
  { 'gf', 'open the file at the hunk in another window' },
  { 'Q', 'put the hunks into the quickfix list' },
}

--- The keys of a diff that is decided about.
M.HELP = vim.list_extend({
  { 'x', 'reject the hunk, or keep it again' },
  { 'X', 'reject all hunks of the file, or keep them again' },
  { 'C', 'comment on the hunk' },
  { 'E', 'edit the proposed text of the file' },
}, M.VIEW_HELP)

local function decisions_of(panel)
  return decisions.of(panel.spec.chat, panel.spec.subject().subject)
end

---@return agentchat.Hunk[] as they are drawn now
local function hunks_of(panel) return panel.page and panel.page.hunks or {} end

---@class (exact) agentchat.Tally
---@field text string how many hunks are kept
---@field whole boolean whether all are

--- How many hunks are kept; nothing where there are none.
---@return agentchat.Tally?
function M.tally(chat_id, subject, doc)
  local given = decisions.of(chat_id, subject)
  local all = split.hunks(given, doc)
  if #all == 0 then return nil end
  local count = decisions.count(given, all)
  return { text = ('%d of %d kept'):format(count, #all), whole = count == #all }
end

--- The ways to show on an edge which rows are visible and how many hunks are kept: always, if
--- that is not all of them.
function M.parts(tally, part)
  local ways = layout.parts(part)
  if not tally then return ways end
  local kept = layout.on_edge((' %s '):format(tally.text), 'AgentChatFact')
  local both = vim.tbl_map(
    function(way) return vim.list_extend({ kept, layout.line() }, way) end,
    ways
  )
  return tally.whole and vim.list_extend(both, ways) or both
end

local function mark_hunk(panel, hunk)
  local buf, decision = panel.view.buf, decisions.get(decisions_of(panel), hunk)
  render.dim(buf, panel.page, hunk.row + 1, hunk.row + hunk.rows, decision.rejected)
  local look = {}
  if decision.rejected then look.virt_text = { { '✗ rejected', 'AgentChatWarning' } } end
  if decision.comment ~= '' then
    look.virt_lines = vim.tbl_map(
      function(line) return { { '  ▎ ', 'AgentChatNote' }, { line, 'AgentChatNote' } } end,
      vim.split(decision.comment, '\n')
    )
  end
  if next(look) then api.nvim_buf_set_extmark(buf, ns, hunk.row, 0, look) end
end

local function mark_hunks(panel)
  if not panel.view then return end
  api.nvim_buf_clear_namespace(panel.view.buf, ns, 0, -1)
  for _, hunk in ipairs(hunks_of(panel)) do
    mark_hunk(panel, hunk)
  end
  panels.window(panel).refit(panel.view)
end

function M.draw(panel)
  side_by_side.draw(panel, function(page)
    panel.page = page
    mark_hunks(panel)
  end)
end

--- Draws it again where a window of another size needs that.
function M.resized(panel)
  if side_by_side.needs_redraw(panel) then M.draw(panel) end
end

--- The hunk where the cursor is; on the line of a file its first one.
---@return agentchat.Hunk?
function M.at_cursor(panel)
  local row, found = api.nvim_win_get_cursor(0)[1] - 1, nil
  for _, hunk in ipairs(hunks_of(panel)) do
    local is_first = hunk.index == 0 and (hunk.part or 0) == 0
    local first = is_first and hunk.row - 1 or hunk.row
    if first <= row then found = hunk end
  end
  return found and row < found.row + found.rows and found or nil
end

local function toggle(panel, hunks)
  decisions.toggle(decisions_of(panel), hunks)
  mark_hunks(panel)
end

local function comment(panel, hunk)
  local given = decisions_of(panel)
  panel.field = input.ask({
    chat = panel.spec.chat,
    title = ('Comment on lines %d-%d'):format(hunk.first, hunk.last),
    text = decisions.get(given, hunk).comment,
    send = function(text)
      decisions.set(given, hunk, { comment = text })
      mark_hunks(panel)
    end,
  })
end

--- The hunks of the same file.
function M.of_file(panel, hunk)
  return vim.tbl_filter(function(other) return other.path == hunk.path end, hunks_of(panel))
end

local function toggle_file(panel, hunk) toggle(panel, M.of_file(panel, hunk)) end

local function split_hunk(panel, hunk)
  if not split.split(decisions_of(panel), hunk) then return notify.info(ONE_CHANGE) end
  M.draw(panel)
end

local function edit_text(panel, hunk)
  local subject = panel.spec.subject().id
  host.send('propose', { chat = panel.spec.chat, subject = subject, path = hunk.path })
end

---@type table<string, { act: fun(panel: agentchat.Panel, hunk: agentchat.Hunk), desc: string }>
local KEYS = {
  x = { act = function(panel, hunk) toggle(panel, { hunk }) end, desc = 'Reject or keep the hunk' },
  X = { act = toggle_file, desc = 'Reject or keep all hunks of the file' },
  C = { act = comment, desc = 'Comment on the hunk' },
  E = { act = edit_text, desc = 'Edit the proposed text of the file' },
}

local function quickfix_text(hunk, decision)
  local part = hunk.part and ('.%d'):format(hunk.part + 1) or ''
  local words = { ('hunk %d%s'):format(hunk.index + 1, part) }
  if decision.rejected then table.insert(words, 'rejected') end
  local comment_line = vim.trim((decision.comment:gsub('%s+', ' ')))
  if comment_line ~= '' then table.insert(words, comment_line) end
  return table.concat(words, ': ')
end

local function open_quickfix(panel)
  local chat = registry.get(panel.spec.chat)
  local url = chat and chat.remote
  local items = vim.tbl_map(
    function(hunk)
      return {
        filename = url and remote.file(url, hunk.path) or hunk.path,
        lnum = hunk.first,
        end_lnum = hunk.last,
        text = quickfix_text(hunk, decisions.get(decisions_of(panel), hunk)),
      }
    end,
    hunks_of(panel)
  )
  vim.fn.setqflist({}, ' ', { title = panel.spec.subject().title, items = items })
  vim.cmd('botright copen')
end

---@type [string, integer, string, string][] key, direction, group of the rows, what it does
local JUMPS = {
  { '[c', -1, 'AgentChatHunk', 'Previous hunk' },
  { ']c', 1, 'AgentChatHunk', 'Next hunk' },
  { '[f', -1, 'AgentChatFile', 'Previous file' },
  { ']f', 1, 'AgentChatFile', 'Next file' },
}

--- Goes some rows on, or back where `steps` is negative.
local function jump(rows, steps)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local ahead = vim.tbl_filter(function(it) return (it - row) * steps > 0 end, rows)
  local found = steps > 0 and ahead[math.min(steps, #ahead)]
    or ahead[math.max(#ahead + steps + 1, 1)]
  if not found then return end
  api.nvim_win_set_cursor(0, { found + 1, 0 })
  vim.cmd('normal! zvzt')
end

---@return fun(key: string, desc: string, action: fun()) map
local function mapper(buf)
  return function(key, desc, action) render.map(buf, { key }, action, desc) end
end

--- Maps a key that does something with the hunk at the cursor.
---@param act fun(panel: agentchat.Panel, hunk: agentchat.Hunk)
function M.map_hunk(panel, buf, key, desc, act)
  mapper(buf)(key, desc, function()
    panels.gate(panel, function()
      local hunk = M.at_cursor(panel)
      if hunk then return act(panel, hunk) end
      notify.info(M.NO_HUNK)
    end)
  end)
end

local function open_file(panel)
  local hunk = M.at_cursor(panel)
  if not hunk then return notify.info(M.NO_HUNK) end
  local chat = registry.get(panel.spec.chat)
  if chat and chat.remote then return notify.warn(REMOTE:format(hunk.path)) end
  goto_file.edit(hunk.path, hunk.first)
end

--- The keys with which a diff is looked at.
function M.map_view(panel, buf)
  local map = mapper(buf)
  for _, entry in ipairs(JUMPS) do
    local key, direction, group, desc = unpack(entry)
    map(key, desc, function()
      if panel.page then jump(render.rows(panel.page, group), direction * vim.v.count1) end
    end)
  end
  map('|', 'One column or side by side', function()
    side_by_side.toggle(panel)
    M.draw(panel)
  end)
  map('Q', 'Put the hunks into the quickfix list', function()
    panels.gate(panel, function() open_quickfix(panel) end)
  end)
  map('gf', 'Open the file at the hunk', function() open_file(panel) end)
  M.map_hunk(panel, buf, 'S', 'Split the hunk into its single changes', split_hunk)
  map('s', 'Float, split or tab', function()
    panels.gate(panel, function() panels.cycle(panel) end, 's')
  end)
end

function M.map(panel, buf)
  M.map_view(panel, buf)
  for key, entry in pairs(KEYS) do
    M.map_hunk(panel, buf, key, entry.desc, entry.act)
  end
end

--- Where lines of a window are on the screen; nil if none of them is visible.
---@return agentchat.Area?
local function visible_area(win, first, last)
  local info = vim.fn.getwininfo(win)[1]
  first, last = math.max(first, info.topline), math.min(last, info.botline)
  if first > last then return nil end
  return {
    top = vim.fn.screenpos(win, first, 1).row - 1,
    bottom = vim.fn.screenpos(win, last, 1).row,
    left = info.wincol - 1,
    right = info.wincol - 1 + info.width,
  }
end

--- Where the windows of this tab show the lines that a diff would change.
---@return agentchat.Area[]
function M.visible_areas(doc)
  local areas, bufs = {}, {}
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    bufs[win] = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
  end
  for _, hunk in ipairs(doc.hunks or {}) do
    for win, path in pairs(bufs) do
      local area = path == hunk.path and visible_area(win, hunk.first, hunk.last)
      if area then table.insert(areas, area) end
    end
  end
  return areas
end

return M
