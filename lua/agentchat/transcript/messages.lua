--- The transcript: everything above the prompt, written line by line, never read back.
local tool_block = require('agentchat.transcript.tool_block')
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

---@class agentchat.Transcript
---@field headers table<integer, 'user'|'agent'> extmarks of the message headers
---@field role? string of the message that is being written
---@field first? integer extmark of the first line of the text that is being written
---@field tail? integer extmark where its next piece goes
---@field blocks table<string, agentchat.ToolBlock>
---@field thinking? agentchat.ToolBlock
---@field run agentchat.ToolBlock[] calls that only read, with nothing between them
---@field runs agentchat.ToolBlock[][] those that have ended
---@field highlighting agentchat.Highlighting
---@field last? 'block' what was written last, where it matters

function M.new()
  return { headers = {}, blocks = {}, run = {}, runs = {}, highlighting = highlighter.new() }
end

--- Writes lines and a blank one above the prompt.
---@param close? boolean without a blank line above it
---@return integer row of the first line
local function write(chat, new, close)
  local row = marks.transcript_end(chat)
  local above = row > 0 and api.nvim_buf_get_lines(chat.buf, row - 1, row, false)[1]
  local out = vim.list_extend({}, new)
  if close and above == '' and row > 1 then
    row = row - 1
  else
    if above and above ~= '' then
      api.nvim_buf_set_lines(chat.buf, row, row, false, { '' })
      row = row + 1
    end
    table.insert(out, '')
  end
  api.nvim_buf_set_lines(chat.buf, row, row, false, out)
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
end

--- Where the next piece of text goes, if a text is being written and the user left its end alone.
local function text_end(chat)
  local row, col = marks.find(chat.buf, chat.transcript.tail)
  if not row or row >= marks.transcript_end(chat) then return nil end
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
  local state = chat.transcript
  local last = text_end(chat)
  local first = marks.find(chat.buf, state.first)
  delete_mark(chat, state.tail)
  delete_mark(chat, state.first)
  state.tail, state.first, state.thinking = nil, nil, nil
  if first and last and first <= last then
    highlighter.finish(chat, first, trim(chat, first, last) + 1)
  else
    highlighter.finish(chat)
  end
end

--- Ends the run of calls that only read.
local function end_run(chat)
  local state = chat.transcript
  if #state.run < 2 then
    state.run = {}
    return
  end
  reading.fold(chat.buf, state.run)
  table.insert(state.runs, state.run)
  state.run = {}
end

function M.text(chat, text)
  local state = chat.transcript
  local row, col = text_end(chat)
  if not row then
    text = text:gsub('^[\r\n]+', '')
    if text == '' then return end
    close(chat)
    end_run(chat)
    row, col = write(chat, { '' }), 0
    state.first, state.tail = set_point(chat, row, 0, false), set_point(chat, row, 0, true)
    highlighter.start(chat, row)
  end
  state.last, state.thinking = nil, nil
  api.nvim_buf_set_text(chat.buf, row, col, row, col, lines.split(text, col))
  highlighter.refresh(chat)
end

local function write_block(chat, block)
  close(chat)
  if not tool_block.reading(block) then end_run(chat) end
  local state = chat.transcript
  local row = write(chat, tool_block.lines(block), state.last == 'block')
  tool_block.adopt(chat.buf, block, row)
  state.last = 'block'
end

--- Adds to the model's reasoning, a folded block of its own.
function M.reasoning(chat, text)
  local state = chat.transcript
  if state.thinking then return tool_block.update(chat.buf, state.thinking, { stream = text }) end
  text = text:gsub('^[\r\n]+', '')
  if text == '' then return end
  local id = ('reasoning %d'):format(vim.tbl_count(state.blocks))
  local block = tool_block.new(id, { title = 'reasoning', shown = 0, group = 'AgentChatReasoning' })
  block.output = lines.split(text)
  write_block(chat, block)
  state.blocks[id], state.thinking = block, block
end

--- Ends the reasoning that is being written: its header says how long it took.
function M.thought(chat, title)
  local block = chat.transcript.thinking
  if block then tool_block.update(chat.buf, block, { title = title }) end
end

--- Colours the result of a call that has ended.
local function colour_result(chat, block)
  if block.state ~= 'done' or block.coloured or #block.drawn == 0 then return end
  block.coloured = true
  local lang, row = results.language(block), marks.find(chat.buf, block.mark)
  if not lang or not row then return end
  highlighter.add_result(chat, row + 1, row + 1 + #block.drawn, lang, tool_block.INDENT)
end

function M.block(chat, id, fields)
  local block = chat.transcript.blocks[id]
  if block then
    tool_block.update(chat.buf, block, fields)
    return colour_result(chat, block)
  end
  block = tool_block.new(id)
  tool_block.set(block, fields)
  write_block(chat, block)
  chat.transcript.blocks[id] = block
  if tool_block.reading(block) then table.insert(chat.transcript.run, block) end
  colour_result(chat, block)
end

--- Begins a message. Replies of one turn share a header.
---@param role 'user'|'agent'|'note'|'error'
function M.message(chat, role, text)
  local state = chat.transcript
  close(chat)
  if role ~= 'agent' then end_run(chat) end
  if not HEADERS[role] then
    local note = lines.split(vim.trim(text))
    colour(chat, write(chat, note), #note, GROUPS[role])
    state.last = nil
    return
  end
  if role == 'user' or state.role ~= 'agent' then
    mark_header(chat, role, write(chat, { HEADERS[role] }))
    state.last = nil
  end
  state.role = role
  if text ~= '' then M.text(chat, text) end
  if role == 'user' then close(chat) end
end

function M.finish(chat) close(chat) end

-- How a call ends whose process has ended, by the state it was in.
local ENDS = { streaming = 'cancelled', waiting = 'cancelled', running = 'failed' }

--- Ends what cannot continue, because its process has ended.
---@return agentchat.ToolBlock[] ended the blocks of calls that had not ended
function M.abandon(chat)
  close(chat)
  local ended = {}
  for _, block in pairs(chat.transcript.blocks) do
    if ENDS[block.state] then
      tool_block.update(chat.buf, block, { state = ENDS[block.state] })
      table.insert(ended, block)
    end
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
  for _, block in pairs(chat.transcript.blocks) do
    vim.list_extend(out, tool_block.folds(chat.buf, block))
  end
  return out
end

return M
