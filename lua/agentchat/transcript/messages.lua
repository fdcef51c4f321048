--- The transcript: everything above the prompt, written line by line, never read back.
local tool_block = require('agentchat.transcript.tool_block')
local folds = require('agentchat.ui.folds')
local lines = require('agentchat.transcript.text')
local highlighter = require('agentchat.transcript.highlighter')
local marks = require('agentchat.transcript.marks')
local reading = require('agentchat.transcript.reading')
local results = require('agentchat.transcript.results')

local M = {}

local api = vim.api
local look = api.nvim_create_namespace('agentchat.transcript')

local HEADERS = { user = '## You', agent = '## Agent' }
local GROUPS = {
  user = 'AgentChatUser',
  agent = 'AgentChatAgent',
  note = 'AgentChatNote',
  error = 'AgentChatError',
}

---@class agentchat.Pen a place where messages are written, and what was written there last
---@field anchor? integer extmark of the row where it writes; nil for the end of the transcript
---@field role? string of the message that is being written
---@field first? integer extmark of the first line of the text that is being written
---@field tail? integer extmark where its next piece goes
---@field text? agentchat.WaitingText the same text, for the highlighter
---@field blocks table<string, agentchat.ToolBlock> by id
---@field thinking? agentchat.ToolBlock
---@field run agentchat.ToolBlock[] calls that only read, with nothing between them
---@field last? 'block' what was written last, where it matters
---@field joins? boolean it began with a block that follows another without a blank line
---@field joined? boolean the messages below it do

---@class agentchat.Transcript
---@field headers table<integer, 'user'|'agent'> extmarks of the message headers
---@field blocks agentchat.ToolBlock[]
---@field runs agentchat.ToolBlock[][] calls that only read, which have ended
---@field highlighting agentchat.Highlighting
---@field pen agentchat.Pen the one that writes now
---@field above? agentchat.Pen the one that writes older messages, or did last

---@return agentchat.Pen
local function new_pen(more) return vim.tbl_extend('force', { blocks = {}, run = {} }, more or {}) end

function M.new()
  return { headers = {}, blocks = {}, runs = {}, highlighting = highlighter.new(), pen = new_pen() }
end

--- Row where the next message begins.
local function end_row(chat)
  local anchor = chat.transcript.pen.anchor
  return anchor and marks.find(chat.buf, anchor) or marks.transcript_end(chat)
end

--- Inserts lines; folds of messages below them stay.
local function insert(chat, row, new)
  if chat.transcript.pen.anchor then return folds.insert_lines(chat.buf, row, new) end
  api.nvim_buf_set_lines(chat.buf, row, row, false, new)
end

--- Writes lines and a blank one where the pen is.
---@param close? boolean without a blank line above it
---@return integer row of the first line
local function write(chat, new, close)
  local row = end_row(chat)
  local above = row > 0 and api.nvim_buf_get_lines(chat.buf, row - 1, row, false)[1]
  local out = vim.list_extend({}, new)
  if close and above == '' and row > 1 then
    row = row - 1
  else
    if above and above ~= '' then
      insert(chat, row, { '' })
      row = row + 1
    end
    table.insert(out, '')
    chat.transcript.pen.joins = chat.transcript.pen.joins or (close and row == 0)
  end
  insert(chat, row, out)
  return row
end

local function set_point(chat, row, col, right)
  return api.nvim_buf_set_extmark(chat.buf, marks.ns, row, col, { right_gravity = right })
end

local function delete_mark(chat, id)
  if id then api.nvim_buf_del_extmark(chat.buf, marks.ns, id) end
end

local function colour(chat, row, count, group)
  api.nvim_buf_set_extmark(chat.buf, look, row, 0, {
    end_row = row + count,
    hl_group = group,
    hl_eol = true,
    strict = false,
  })
end

local function mark_header(chat, role, row)
  local id = api.nvim_buf_set_extmark(chat.buf, marks.ns, row, 0, {
    end_row = row,
    end_col = #HEADERS[role],
    hl_group = GROUPS[role],
    invalidate = true,
    undo_restore = true,
  })
  chat.transcript.headers[id] = role
  marks.draw_bar(chat.buf, look, row, GROUPS[role])
end

--- Where the next piece of text goes, if a text is being written and the user left its end alone.
local function text_end(chat)
  local row, col = marks.find(chat.buf, chat.transcript.pen.tail)
  if not row or row >= end_row(chat) then return nil end
  return row, col
end

local function trim(chat, first, last)
  while last > first do
    local line = api.nvim_buf_get_lines(chat.buf, last, last + 1, false)[1]
    if line:find('%S') then break end
    api.nvim_buf_set_lines(chat.buf, last, last + 1, false, {})
    last = last - 1
  end
  return last
end

--- Ends the text that is being written: it is decorated once, now that it is whole.
local function close(chat)
  local pen = chat.transcript.pen
  local last = text_end(chat)
  local first = marks.find(chat.buf, pen.first)
  delete_mark(chat, pen.tail)
  delete_mark(chat, pen.first)
  if pen.text and first and last and first <= last then
    highlighter.finish(chat, pen.text, first, trim(chat, first, last) + 1)
  elseif pen.text then
    highlighter.finish(chat, pen.text)
  end
  pen.tail, pen.first, pen.text, pen.thinking = nil, nil, nil, nil
end

--- Ends the run of calls that only read.
local function end_run(chat)
  local pen = chat.transcript.pen
  if #pen.run > 1 then
    reading.fold(chat.buf, pen.run, pen.anchor ~= nil)
    table.insert(chat.transcript.runs, pen.run)
  end
  pen.run = {}
end

function M.text(chat, text)
  local pen = chat.transcript.pen
  local row, col = text_end(chat)
  if not row then
    text = text:gsub('^[\r\n]+', '')
    if text == '' then return end
    close(chat)
    end_run(chat)
    row, col = write(chat, { '' }), 0
    pen.first, pen.tail = set_point(chat, row, 0, false), set_point(chat, row, 0, true)
    pen.text = highlighter.start(chat, row, pen.role == 'user')
  end
  pen.last, pen.thinking = nil, nil
  api.nvim_buf_set_text(chat.buf, row, col, row, col, lines.split(text, col))
  highlighter.refresh(chat)
end

local function write_block(chat, block)
  close(chat)
  if not tool_block.reading(block) then end_run(chat) end
  local pen = chat.transcript.pen
  local row = write(chat, tool_block.lines(block), pen.last == 'block')
  tool_block.adopt(chat.buf, block, row)
  pen.last = 'block'
  pen.blocks[block.id] = block
  table.insert(chat.transcript.blocks, block)
end

--- Adds to the model's reasoning, a folded block of its own.
function M.reasoning(chat, text)
  local pen = chat.transcript.pen
  if pen.thinking then return tool_block.update(chat.buf, pen.thinking, { stream = text }) end
  text = text:gsub('^[\r\n]+', '')
  if text == '' then return end
  local id = ('reasoning %d'):format(#chat.transcript.blocks)
  local block = tool_block.new(id, { title = 'reasoning', shown = 0, group = 'AgentChatReasoning' })
  block.output = lines.split(text)
  write_block(chat, block)
  pen.thinking = block
end

--- Ends the reasoning that is being written: its header says how long it took.
function M.thought(chat, title)
  local block = chat.transcript.pen.thinking
  if block then tool_block.update(chat.buf, block, { title = title }) end
end

local ENDED = { done = true, failed = true, cancelled = true }

--- Colours the result of a call that has ended.
local function colour_result(chat, block)
  if not ENDED[block.state] or block.coloured or #block.drawn == 0 then return end
  block.coloured = true
  local first, last = tool_block.diff_rows(chat.buf, block)
  if first then
    return highlighter.add_result(chat, first, last, results.CHANGE, tool_block.INDENT)
  end
  local lang = block.state == 'done' and results.language(block)
  local row = marks.find(chat.buf, block.mark)
  if not lang or not row then return end
  local number = results.first_number(block)
  highlighter.add_result(chat, row + 1, row + 1 + #block.drawn, lang, tool_block.INDENT, number)
end

function M.block(chat, id, fields)
  local pen = chat.transcript.pen
  local block = pen.blocks[id]
  if block then
    tool_block.update(chat.buf, block, fields)
    return colour_result(chat, block)
  end
  block = tool_block.new(id)
  tool_block.set(block, fields)
  write_block(chat, block)
  if tool_block.reading(block) then table.insert(pen.run, block) end
  colour_result(chat, block)
end

--- Begins a message. Replies of one turn share a header.
---@param role 'user'|'agent'|'note'|'error'
function M.message(chat, role, text)
  local pen = chat.transcript.pen
  close(chat)
  if role ~= 'agent' then end_run(chat) end
  if not HEADERS[role] then
    local note = lines.split(vim.trim(text))
    colour(chat, write(chat, note), #note, GROUPS[role])
    pen.last = nil
    return
  end
  if role == 'user' or pen.role ~= 'agent' then
    mark_header(chat, role, write(chat, { HEADERS[role] }))
    pen.last = nil
  end
  pen.role = role
  if text ~= '' then M.text(chat, text) end
  if role == 'user' then close(chat) end
end

function M.finish(chat) close(chat) end

---@class agentchat.Part of the messages that are above all others
---@field first boolean it begins with these; else they follow those that were written last
---@field last boolean it ends with these
---@field continues boolean what is before it belongs to the same turn

--- Ends the part that was written above the others.
local function end_part(chat)
  local pen = chat.transcript.pen
  close(chat)
  end_run(chat)
  local row = marks.find(chat.buf, pen.anchor)
  if row and pen.joined then api.nvim_buf_set_lines(chat.buf, row - 1, row, false, {}) end
  delete_mark(chat, pen.anchor)
end

--- Writes older messages above all others.
---@param part agentchat.Part
---@param write_messages fun()
function M.prepend(chat, part, write_messages)
  local state = chat.transcript
  local below, newer = state.pen, state.above
  if part.first then
    local more = part.continues and { role = 'agent', last = 'block' } or {}
    more.anchor, more.joined = set_point(chat, 0, 0, true), newer and newer.joins
    state.above = new_pen(more)
  end
  state.pen = state.above
  write_messages()
  if part.last then
    end_part(chat)
    below.role = below.role or state.pen.role
  end
  state.pen = below
end

-- How a call ends whose process has ended, by the state it was in.
local ENDS = { streaming = 'cancelled', waiting = 'cancelled', running = 'failed' }

---@return agentchat.ToolBlock[] blocks those of calls that have not ended
function M.unfinished(chat)
  local blocks = chat.transcript.blocks
  return vim.tbl_filter(function(block) return ENDS[block.state] ~= nil end, blocks)
end

--- Ends what cannot continue, because its process has ended.
---@return agentchat.ToolBlock[] ended the blocks of calls that had not ended
function M.abandon(chat)
  close(chat)
  local ended = M.unfinished(chat)
  for _, block in ipairs(ended) do
    tool_block.update(chat.buf, block, { state = ENDS[block.state] })
  end
  return ended
end

--- Rows of all message headers and of the prompt's, in order.
---@return integer[] rows 0-based
function M.header_rows(chat)
  local seen = { [marks.header(chat)] = true }
  for id in pairs(chat.transcript.headers) do
    local row = marks.find(chat.buf, id)
    if row then seen[row] = true end
  end
  local rows = vim.tbl_keys(seen)
  table.sort(rows)
  return rows
end

---@class agentchat.MessageHeader
---@field role 'user'|'agent'
---@field row integer 0-based

--- All message headers with their roles, in order; without the prompt's.
---@return agentchat.MessageHeader[]
function M.headers(chat)
  local found = {}
  for id, role in pairs(chat.transcript.headers) do
    local row = marks.find(chat.buf, id)
    if row then table.insert(found, { role = role, row = row }) end
  end
  table.sort(found, function(a, b) return a.row < b.row end)
  return found
end

function M.folds(chat)
  local out = {}
  for _, run in ipairs(chat.transcript.runs) do
    vim.list_extend(out, reading.folds(chat.buf, run))
  end
  for _, block in ipairs(chat.transcript.blocks) do
    vim.list_extend(out, tool_block.folds(chat.buf, block))
  end
  return out
end

return M
