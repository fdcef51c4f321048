--- What the results of calls are, so that they are coloured: a file, matches of a search, a diff.
local decorations = require('agentchat.transcript.decorations')

local M = {}

local LOOKED_AT = 20 -- lines in which a diff begins

local READS = { read = true, read_file = true }
local IMAGES = { png = true, jpg = true, jpeg = true, gif = true, webp = true }
local SEARCHES = { grep = true, grep_search = true }

M.MATCHES = 'matches'
M.CHANGE = 'change'

local SIGNS = { ['+'] = 'AgentChatAdd', ['-'] = 'AgentChatDelete' }

local function is_diff(lines)
  return vim.iter(vim.list_slice(lines, 1, LOOKED_AT)):any(
    function(line) return line:find('^diff %-%-git ') ~= nil or line:find('^@@ %-%d+') ~= nil end
  )
end

--- The file that a call has read, and the number of the first line.
---@return string? path, integer? first
function M.path(block)
  local path, first = block.title:match('^read (.+):(%d+)[%d-]*$')
  return path or block.title:match('^read (.+)$'), tonumber(first) or 1
end

--- The number of the first line that a call has read; nil of other calls.
function M.first_number(block)
  if not READS[block.tool] then return nil end
  local path, first = M.path(block)
  return path and not IMAGES[(path:match('%.(%w+)$') or ''):lower()] and first or nil
end

--- The language of a result, as after a fence, or `MATCHES`; nil if it stays plain.
---@param block agentchat.ToolBlock
---@return string?
function M.language(block)
  if READS[block.tool] then
    local path = M.path(block)
    return path and vim.fs.basename(path)
  end
  if SEARCHES[block.tool] then return M.MATCHES end
  return is_diff(block.output) and 'diff' or nil
end

--- The decorations of a file that was read: the number before each line, but for notes below it.
---@param lines string[]
---@param first integer number of the first line
---@return string[] decorations of each line
function M.number_rows(lines, first)
  local count = #lines
  while count > 1 and lines[count]:find('^%[.*%]$') do
    count = count - 1
  end
  count = count < #lines and lines[count] == '' and count - 1 or #lines
  local width = #tostring(first + count - 1)
  local rows = {}
  for i = 1, #lines do
    rows[i] = i <= count and decorations.number(first + i - 1, width) or ''
  end
  return rows
end

--- The decorations of matches, like `src/shop.py:12: def total`.
---@param lines string[]
---@return string[] decorations of each line
function M.match_rows(lines)
  return vim.tbl_map(function(line)
    local path, number = line:match('^(.-)[:-](%d+)[:-] ')
    if not path then return '' end
    local file = decorations.highlight(0, #path, 'AgentChatFile')
    local at = decorations.highlight(#path + 1, #path + 1 + #number, 'AgentChatLineNr')
    return file .. ' ' .. at
  end, lines)
end

--- The decorations of the lines of a change: Python adds those of code.
---@param lines string[]
---@return string[] decorations of each line
function M.change_rows(lines)
  return vim.tbl_map(function(line)
    local sign = line:sub(1, 1)
    if SIGNS[sign] then return decorations.line(SIGNS[sign]) end
    if vim.startswith(line, '@@ ') then return decorations.highlight(0, #line, 'AgentChatHunk') end
    if sign == ' ' or sign == '\\' or line == '' then return '' end
    return decorations.highlight(0, #line, 'AgentChatFile')
  end, lines)
end

return M
