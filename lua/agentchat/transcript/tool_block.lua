--- Tool blocks: a header with the state of a call, and its output below, folded after ten lines.
local folds = require('agentchat.ui.folds')
local lines = require('agentchat.transcript.text')
local marks = require('agentchat.transcript.marks')

local M = {}

local api = vim.api
local look = api.nvim_create_namespace('agentchat.blocks')

local SHOWN = 10 -- lines of output that stay visible
local LONGEST = 2000 -- lines of output the buffer holds; the journal has them all
local INDENT = '    '

local STATES = {
  streaming = 'AgentChatRunning',
  waiting = 'AgentChatWaiting',
  running = 'AgentChatRunning',
  done = 'AgentChatDone',
  failed = 'AgentChatFailed',
  rejected = 'AgentChatFailed',
  denied = 'AgentChatFailed',
  cancelled = 'AgentChatNote',
}

---@class agentchat.ToolBlock
---@field id string
---@field title string
---@field tool? string
---@field state? string
---@field badge? string
---@field shown integer lines that are not folded
---@field group string highlight of the output
---@field output string[] as told, without indent
---@field drawn string[] output as it stands in the buffer
---@field header string as it stands in the buffer
---@field mark? integer extmark from the header to the end of the output
---@field look table<string, integer> extmarks of the colours

---@param id string
---@param fields? table
---@return agentchat.ToolBlock
function M.new(id, fields)
  local block = {
    id = id,
    title = '',
    shown = SHOWN,
    group = 'AgentChatBlockBody',
    output = {},
    drawn = {},
    header = '',
    look = {},
  }
  return vim.tbl_extend('force', block, fields or {})
end

---@param block agentchat.ToolBlock
---@return string
local function header_of(block)
  local parts = { '▸ ' .. block.title }
  if block.state then table.insert(parts, block.state) end
  if block.badge and block.badge ~= '' then table.insert(parts, block.badge) end
  return table.concat(parts, ' · ')
end

--- The output as it is drawn: indented, and no longer than the buffer should hold.
---@param output string[]
---@return string[]
local function drawn_of(output)
  local out = {}
  for i = 1, math.min(#output, LONGEST) do
    out[i] = output[i] == '' and '' or INDENT .. output[i]
  end
  if #output > LONGEST then
    out[LONGEST + 1] = INDENT .. ('[%d more lines: see :AgentLog]'):format(#output - LONGEST)
  end
  return out
end

--- The lines of a block that is not in the buffer yet.
---@param block agentchat.ToolBlock
---@return string[]
function M.lines(block)
  block.header, block.drawn = header_of(block), drawn_of(block.output)
  return vim.list_extend({ block.header }, block.drawn)
end

--- The folds of a block whose header stands in `row`.
---@param block agentchat.ToolBlock
---@param row integer 0-based
---@return { outer?: agentchat.Fold, inner?: agentchat.Fold }
local function folds_of(block, row)
  local count = #block.drawn
  if count == 0 then return {} end
  local last = row + 1 + count
  local out = { outer = { first = row + 1, last = last, closed = false } }
  -- A fold of one line would hide nothing.
  if count > block.shown + 1 then
    out.inner = { first = row + 2 + block.shown, last = last, closed = true }
  end
  return out
end

--- All folds a window should have for a block, the outer one first.
---@param buf integer
---@param block agentchat.ToolBlock
---@return agentchat.Fold[]
function M.folds(buf, block)
  local row = marks.find(buf, block.mark)
  local found = row and folds_of(block, row) or {}
  return vim.tbl_values({ found.outer, found.inner })
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

--- Marks where the block stands, and colours it.
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
    colour(buf, block, 'state', row, state, state + #block.state, STATES[block.state])
  end
  if #block.drawn > 0 then
    local more = { end_row = last + 1, hl_eol = true, priority = 90 }
    colour(buf, block, 'body', row + 1, 0, 0, block.group, more)
  end
end

--- Takes over a block that has just been written at `row`.
---@param buf integer
---@param block agentchat.ToolBlock
---@param row integer 0-based
function M.adopt(buf, block, row)
  mark(buf, block, row)
  folds.make(buf, M.folds(buf, block))
end

-- These keep folds and marks around the lines they change; the API's functions shorten folds.
local function set(buf, row, line) vim.fn.setbufline(buf, row + 1, (line:gsub('%z', '\n'))) end

local function insert(buf, row, list)
  local stored = {}
  for i, line in ipairs(list) do
    stored[i] = line:gsub('%z', '\n')
  end
  -- In insert mode a single line goes to the fold above, for the sake of who types there.
  local single = #stored == 1 and vim.fn.mode():find('^[iR]')
  if single then table.insert(stored, '') end
  vim.fn.appendbufline(buf, row, stored)
  if single then vim.fn.deletebufline(buf, row + 2) end
end

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
  if #old == 0 then return insert(buf, row + 1, new) end
  insert(buf, row + #old, vim.list_slice(new, #old, #new - 1))
  set(buf, row + #new, new[#new])
end

--- The output that stands in the buffer: what was drawn, unless the user added or deleted lines.
local function standing(buf, block, row, details)
  if details.end_row - row == #block.drawn + 1 then return block.drawn end
  return api.nvim_buf_get_lines(buf, row + 1, math.max(row + 1, details.end_row), false)
end

--- Takes what changed of a block, without drawing it.
---@param block agentchat.ToolBlock
---@param fields table
function M.take(block, fields)
  block.title = fields.title and lines.one(fields.title) or block.title
  block.tool = fields.tool or block.tool
  if block.title == '' then block.title = block.tool or 'tool' end
  block.state = fields.state or block.state
  block.badge = fields.badge and lines.one(fields.badge) or block.badge
  if fields.body then block.output = lines.of(fields.body) end
  if (fields.stream or '') ~= '' then
    local last = table.remove(block.output) or ''
    vim.list_extend(block.output, lines.split(last .. fields.stream))
  end
  if fields.append then vim.list_extend(block.output, lines.of(fields.append)) end
end

--- Draws what changed of a block. One the user deleted stays deleted.
---@param buf integer
---@param block agentchat.ToolBlock
---@param fields table
function M.update(buf, block, fields)
  local row, _, details = marks.find(buf, block.mark)
  M.take(block, fields)
  if not row or details.end_row <= row then return end
  local header, drawn, before = header_of(block), drawn_of(block.output), folds_of(block, row)
  local old = standing(buf, block, row, details)
  if header ~= block.header or old ~= block.drawn then set(buf, row, header) end
  rewrite(buf, row, old, drawn)
  block.header, block.drawn = header, drawn
  mark(buf, block, row)
  local now, new = folds_of(block, row), {}
  if now.outer and not before.outer then table.insert(new, now.outer) end
  if now.inner and not before.inner then table.insert(new, now.inner) end
  folds.make(buf, new)
end

--- Adds text to the output, the first piece to its last line.
---@param buf integer
---@param block agentchat.ToolBlock
---@param text string
function M.stream(buf, block, text) M.update(buf, block, { stream = text }) end

return M
