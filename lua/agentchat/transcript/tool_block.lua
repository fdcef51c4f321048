--- Tool blocks: a header with the state of a call, below it its output, folded but for ten lines, and the
--- diff of what it changed, folded.
local folds = require('agentchat.ui.folds')
local lines = require('agentchat.transcript.text')
local marks = require('agentchat.transcript.marks')

local M = {}

local api = vim.api
local look = api.nvim_create_namespace('agentchat.blocks')

local SHOWN = 10 -- lines of output that stay visible
local LONGEST = 2000 -- lines of output the buffer holds; the journal has them all
local SLACK = 500 -- lines of live output above that before the oldest go, as moving them takes time
local INDENT = '    '

M.INDENT = #INDENT

local MOST_ERROR_LINES = 40 -- of a failed call that are shown unfolded
local SLOW_MS = 1000 -- from which on the header says how long a call took

-- The highlight of a state, and the sign in place of the arrow.
local STATES = {
  streaming = { 'AgentChatRunning', '…' },
  waiting = { 'AgentChatWaiting', '?' },
  running = { 'AgentChatRunning', '●' },
  done = { 'AgentChatDone', '✓' },
  failed = { 'AgentChatFailed', '✗' },
  rejected = { 'AgentChatFailed', '✗' },
  denied = { 'AgentChatFailed', '✗' },
  cancelled = { 'AgentChatNote', '-' },
}

-- Whose results are folded away: what they read is for the model.
local READING = {
  read = 'read',
  read_file = 'read',
  grep = 'search',
  grep_search = 'search',
  find = 'search',
  file_search = 'search',
  ls = 'list',
}

-- Whose results are shown elsewhere.
local ELSEWHERE = { todo = true }

-- Of whose output the end says most.
local COMMANDS = { bash = true, run_in_terminal = true }

---@class agentchat.ToolBlock
---@field id string
---@field title string
---@field tool? string
---@field state? string
---@field counts? string lines that it added and removed
---@field badge? string how long the call took
---@field tag? string how it ran, like `isolated`
---@field coloured? boolean whether its result has been given to the highlighter
---@field began? number ms, when it began to run
---@field shown integer lines that are not folded
---@field group string highlight of the output
---@field output string[] without indent
---@field diff string[] of what it changed
---@field left_out integer lines of live output that went, after the first `SHOWN`
---@field drawn string[] output and diff as they are in the buffer
---@field above integer lines of these that are before the diff
---@field header string as it is in the buffer
---@field mark? integer extmark from the header to the end of the output
---@field look table<string, integer> extmarks of the colours

function M.new(id, fields)
  local block = {
    id = id,
    title = '',
    shown = SHOWN,
    group = 'AgentChatBlockBody',
    output = {},
    diff = {},
    left_out = 0,
    drawn = {},
    above = 0,
    header = '',
    look = {},
  }
  return vim.tbl_extend('force', block, fields or {})
end

local function header_of(block)
  local parts = { '▸ ' .. block.title }
  local after = { block.state or '', block.counts or '', block.badge or '', block.tag or '' }
  for _, part in ipairs(after) do
    if part ~= '' then table.insert(parts, part) end
  end
  return table.concat(parts, ' · ')
end

--- The output as it is drawn: indented, and no longer than the buffer should hold.
local function drawn_output(block)
  local output, out = block.output, {}
  local live = block.state == 'running' or block.left_out > 0
  for i = 1, live and #output or math.min(#output, LONGEST) do
    local line = output[i]
    out[i] = line == '' and '' or INDENT .. line
  end
  if block.left_out > 0 then
    local note = ('[%d earlier lines: see :AgentLog]'):format(block.left_out)
    table.insert(out, SHOWN + 1, INDENT .. note)
  elseif #output > #out then
    table.insert(out, INDENT .. ('[%d more lines: see :AgentLog]'):format(#output - LONGEST))
  end
  return out
end

--- Output and diff as they are drawn.
---@return string[] lines, integer above how many are before the diff
local function drawn_of(block)
  local out = drawn_output(block)
  local above = #out
  for _, line in ipairs(block.diff) do
    table.insert(out, line == '' and '' or INDENT .. line)
  end
  return out, above
end

--- What a call reads, if it changes nothing: 'read', 'search' or 'list'.
function M.reading(block) return READING[block.tool] end

--- The lines of a block that is not in the buffer yet.
function M.lines(block)
  block.header = header_of(block)
  block.drawn, block.above = drawn_of(block)
  return vim.list_extend({ block.header }, block.drawn)
end

--- Rows of the diff, the last one excluded; nil without one.
function M.diff_rows(buf, block)
  local row = #block.diff > 0 and marks.find(buf, block.mark) or nil
  if row then return row + 1 + block.above, row + 1 + #block.drawn end
end

--- The fold of output but for ten lines: the first ones, or the last ones of a command.
---@return agentchat.Fold?
local function output_fold(block, row)
  local count = block.above
  -- A fold of one line would hide nothing.
  if count <= block.shown + 1 then return nil end
  if block.state == 'failed' and count <= MOST_ERROR_LINES then return nil end
  if not COMMANDS[block.tool] then
    return { first = row + 2 + block.shown, last = row + 1 + count, closed = true }
  end
  local last = row + 1 + count - block.shown
  return { first = row + 2, last = last, closed = true, note = 'earlier' }
end

---@return table<'outer'|'inner'|'diff', agentchat.Fold>
local function folds_of(block, row)
  local count = #block.drawn
  if count == 0 then return {} end
  local first, last = row + 1, row + 1 + count
  -- Of reasoning only the header is shown: a paragraph may be one line, and fill the window.
  if block.shown == 0 then return { outer = { first = first, last = last, closed = true } } end
  local changed = #block.diff > 0
  local hides = M.reading(block) ~= nil or (changed and not COMMANDS[block.tool])
  hides = hides or ELSEWHERE[block.tool] or false
  local out = { outer = { first = first, last = last, closed = block.state == 'done' and hides } }
  if changed and hides then return out end
  out.inner = output_fold(block, row)
  if changed then out.diff = { first = first + block.above + 2, last = last, closed = true } end
  return out
end

local NESTED = { 'outer', 'inner', 'diff' }

---@return agentchat.Fold[]
local function in_order(found)
  return vim.tbl_map(
    function(name) return found[name] end,
    vim.tbl_filter(function(name) return found[name] ~= nil end, NESTED)
  )
end

--- All folds a window should have for a block, the outer one first.
function M.folds(buf, block)
  local row = marks.find(buf, block.mark)
  return row and in_order(folds_of(block, row)) or {}
end

--- Makes the folds that a block has now, and did not have before it was drawn.
local function update_folds(buf, before, now)
  -- A fold grows with what is written before its end; one that begins or ends elsewhere is another one.
  local function moves(old, new)
    return old.note ~= nil and (old.last ~= new.last or old.first ~= new.first)
  end
  local new = {}
  for _, name in ipairs(NESTED) do
    local old, fold = before[name], now[name]
    if old and fold and moves(old, fold) then
      folds.replace(buf, old, fold)
    elseif old and not fold then
      folds.open(buf, old.first)
    elseif fold and not old then
      table.insert(new, fold)
    elseif fold and fold.closed and not old.closed then
      folds.close(buf, fold.first)
    end
  end
  folds.make(buf, new)
end

local function colour(buf, block, name, row, first, last, group, more)
  block.look[name] = api.nvim_buf_set_extmark(
    buf,
    look,
    row,
    first,
    vim.tbl_extend('force', {
      id = block.look[name],
      end_row = row,
      end_col = last,
      hl_group = group,
      strict = false,
    }, more or {})
  )
end

--- Colours what was added and what was removed, from a column on.
local function colour_counts(buf, block, row, column)
  local added, removed = (block.counts or ''):match('^(%+%d+) (%-%d+)')
  if not added then return end
  local middle = column + #added
  colour(buf, block, 'added', row, column, middle, 'AgentChatCodeAdded')
  colour(buf, block, 'removed', row, middle + 1, middle + 1 + #removed, 'AgentChatCodeDeleted')
end

local function mark(buf, block, row)
  local last = row + #block.drawn
  block.mark = api.nvim_buf_set_extmark(buf, marks.ns, row, 0, {
    id = block.mark,
    end_row = last + 1,
    end_col = 0,
    invalidate = true,
    undo_restore = true,
    right_gravity = true,
    strict = false,
  })
  local title = #'▸ ' + #block.title
  colour(buf, block, 'title', row, 0, title, 'AgentChatBlock')
  if block.state then
    local state = title + #' · '
    local group, sign = unpack(STATES[block.state])
    colour(buf, block, 'state', row, state, state + #block.state, group)
    colour(buf, block, 'sign', row, 0, #'▸', group, { conceal = sign })
    colour_counts(buf, block, row, state + #block.state + #' · ')
  end
  if #block.drawn > 0 then
    local more = { end_row = last + 1, hl_eol = true, priority = 90 }
    colour(buf, block, 'body', row + 1, 0, 0, block.group, more)
  end
end

--- Takes over a block that has just been written at `row`.
function M.adopt(buf, block, row)
  mark(buf, block, row)
  folds.make(buf, M.folds(buf, block))
end

-- Keeps folds and marks around the line; the API's functions shorten folds.
local function set(buf, row, line) vim.fn.setbufline(buf, row + 1, (line:gsub('%z', '\n'))) end

--- Rewrites the lines from the first that differs. New lines go before the last old one, where they
--- are inside the folds that end with it.
local function rewrite(buf, row, old, new)
  local first = 1
  while first <= #old and first <= #new and old[first] == new[first] do
    first = first + 1
  end
  if #new < #old then vim.fn.deletebufline(buf, row + 2 + #new, row + 1 + #old) end
  local growing = #new > #old
  for i = first, math.min(#old, #new) - (growing and 1 or 0) do
    if old[i] ~= new[i] then set(buf, row + i, new[i]) end
  end
  if not growing then return end
  if #old == 0 then return folds.insert_lines(buf, row + 1, new) end
  folds.insert_lines(buf, row + #old, vim.list_slice(new, #old, #new - 1))
  set(buf, row + #new, new[#new])
end

--- The output that is in the buffer: what was drawn, unless the user added or deleted lines.
local function current(buf, block, row, details)
  if details.end_row - row == #block.drawn + 1 then return block.drawn end
  return api.nvim_buf_get_lines(buf, row + 1, math.max(row + 1, details.end_row), false)
end

--- Drops the oldest lines of live output, but for those that stay visible.
local function drop_oldest(block)
  if block.state ~= 'running' or #block.output <= LONGEST + SLACK then return end
  local count = #block.output - LONGEST
  local newest = vim.list_slice(block.output, SHOWN + count + 1)
  block.output = vim.list_extend(vim.list_slice(block.output, 1, SHOWN), newest)
  block.left_out = block.left_out + count
end

--- Deletes the lines that were dropped, so that only new ones have to be written.
---@return string[] what is left of `old`
local function delete_dropped(buf, row, old, count)
  count = math.min(count, #old - SHOWN - 2)
  if count <= 0 then return old end
  local first = SHOWN + 2 -- the note, or the line that becomes one, stays
  vim.fn.deletebufline(buf, row + 1 + first, row + first + count)
  return vim.list_extend(vim.list_slice(old, 1, first - 1), vim.list_slice(old, first + count))
end

--- The text with the newest state of its first line, which a carriage return may replace.
local function newest_state(text)
  local line, rest = text:match('^([^\n]*)(.*)$')
  return (line:find('\r') and line:match('([^\r]*)\r*$') or line) .. rest
end

--- A time in few characters: `2.4 s`, `38 s`, `3 min 5 s`.
local function duration(ms)
  if ms < 10000 then return ('%.1f s'):format(ms / 1000) end
  local seconds = math.floor(ms / 1000 + 0.5)
  if seconds < 60 then return ('%d s'):format(seconds) end
  return ('%d min %d s'):format(math.floor(seconds / 60), seconds % 60)
end

local function set_state(block, state)
  local now = vim.uv.hrtime() / 1e6
  if state == 'running' then block.began = block.began or now end
  local ended = state == 'done' or state == 'failed' or state == 'cancelled'
  if ended and block.began then
    if now - block.began >= SLOW_MS then block.badge = duration(now - block.began) end
    block.began = nil
  end
  block.state = state
end

--- Takes over what changed of a block, without drawing it.
function M.set(block, fields)
  block.title = fields.title and lines.one_line(fields.title) or block.title
  block.tool = fields.tool or block.tool
  if block.title == '' then block.title = block.tool or 'tool' end
  if fields.state then set_state(block, fields.state) end
  block.badge = fields.badge and lines.one_line(fields.badge) or block.badge
  block.counts = fields.counts or block.counts
  if (fields.seconds or 0) * 1000 >= SLOW_MS then block.badge = duration(fields.seconds * 1000) end
  block.tag = fields.tag or block.tag
  if fields.diff then block.diff = lines.to_lines(fields.diff) end
  if fields.body then
    block.output, block.left_out = lines.to_lines(fields.body), 0
    -- A line end at the end of a result is no line of its own.
    if block.output[#block.output] == '' then table.remove(block.output) end
  end
  if (fields.stream or '') ~= '' then
    local last = table.remove(block.output) or ''
    vim.list_extend(block.output, lines.split(newest_state(last .. fields.stream)))
  end
  if fields.append then vim.list_extend(block.output, lines.to_lines(fields.append)) end
  drop_oldest(block)
end

--- Draws what changed of a block. One the user deleted stays deleted.
function M.update(buf, block, fields)
  local row, _, details = marks.find(buf, block.mark)
  local left_out, before = block.left_out, row and folds_of(block, row) or {}
  M.set(block, fields)
  if not row or details.end_row <= row then return end
  local header, drawn, above = header_of(block), drawn_of(block)
  local old = current(buf, block, row, details)
  local as_drawn, dropped = old == block.drawn, block.left_out - left_out
  if as_drawn and dropped > 0 then
    old = delete_dropped(buf, row, old, left_out == 0 and dropped - 1 or dropped)
  end
  if header ~= block.header or not as_drawn then set(buf, row, header) end
  rewrite(buf, row, old, drawn)
  block.header, block.drawn, block.above = header, drawn, above
  mark(buf, block, row)
  update_folds(buf, before, folds_of(block, row))
end

return M
