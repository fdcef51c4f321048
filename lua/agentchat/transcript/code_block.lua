--- The block of code under the cursor.
local marks = require('agentchat.transcript.marks')
local sections = require('agentchat.transcript.sections')

local M = {}

local api = vim.api

---@class agentchat.CodeBlock
---@field lang string as its fence says, '' for nothing
---@field lines string[] without the fences and their indent

--- The row below the last header or tool block above a row: no text goes over those.
local function text_start(chat, row)
  local start = 0
  for id in pairs(chat.transcript.headers) do
    local header = marks.find(chat.buf, id)
    if header and header <= row then start = math.max(start, header + 1) end
  end
  for _, block in ipairs(chat.transcript.blocks) do
    local first, _, details = marks.find(chat.buf, block.mark)
    if first and first <= row then start = math.max(start, details.end_row) end
  end
  return start
end

--- The section of a text around a row.
---@return integer? first row of its opening fence; nil outside of code
---@return agentchat.Splitter? splitter as it was after the fence
local function fence_above(lines, row)
  local splitter, first, opened = sections.new(), nil, nil
  for i = 1, row do
    if sections.step(splitter, lines[i]) then
      first = splitter.lang and i or nil
      opened = { lang = splitter.lang, indent = splitter.indent }
    end
  end
  return first, opened
end

--- Whether a line ends the block that `fence` opens.
local function is_end(fence, line)
  local splitter = sections.new()
  sections.step(splitter, fence)
  sections.step(splitter, line)
  return splitter.ended
end

---@param row integer 0-based
---@return agentchat.CodeBlock?
function M.find(chat, row)
  local start, stop = text_start(chat, row), marks.transcript_end(chat)
  if row >= stop or row < start then return nil end
  local lines = api.nvim_buf_get_lines(chat.buf, start, stop, false)
  local first, opened = fence_above(lines, row - start + 1)
  if not first or not opened then return nil end
  local code = {}
  for i = first + 1, #lines do
    if is_end(lines[first], lines[i]) then break end
    local indent = math.min(opened.indent, #lines[i]:match('^%s*'))
    table.insert(code, lines[i]:sub(indent + 1))
  end
  return { lang = opened.lang, lines = code }
end

return M
