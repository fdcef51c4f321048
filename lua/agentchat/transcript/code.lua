--- Highlights of code in languages for which Neovim has no parser: Python finds them.
local host = require('agentchat.host.process')
local markdown = require('agentchat.transcript.markdown')

local M = {}

local LARGEST = 60 * 1000 -- bytes; a longer block stays plain
local BLOCK = '0:%d:@markup.raw.block.markdown:100 '

local asked = 0

---@type table<integer, fun(rows: string[])>
local waiting = {}

local function is_small(lines)
  local size = 0
  for _, line in ipairs(lines) do
    size = size + #line + 1
  end
  return size <= LARGEST
end

--- Whether only Python can highlight a block.
---@param lang? string as its fence says; nil for prose
---@param lines string[] with the fences
function M.is_for_host(lang, lines)
  return lang ~= nil and lang ~= '' and not markdown.knows(lang) and is_small(lines)
end

--- The code of a block, without its fences.
local function code_of(lines)
  local closed = #lines > 1 and lines[#lines]:find('^%s*[`~]+%s*$')
  return vim.list_slice(lines, 2, closed and #lines - 1 or #lines)
end

--- The marks of all lines: of the fences, and of the code, or of a block in a language nobody knows.
local function rows_of(lines, lang, found)
  local label = (lines[1]:find(lang, 1, true) or 1) - 1
  local plain = not vim.iter(found):any(function(marks) return marks ~= '' end)
  local rows = vim.list_extend({ ('%d:%d:@label.markdown'):format(label, label + #lang) }, found)
  for i, line in ipairs(lines) do
    local is_fence = i == 1 or i > #found + 1
    rows[i] = ((plain or is_fence) and line ~= '') and BLOCK:format(#line) .. (rows[i] or '')
      or rows[i]
  end
  return rows
end

--- Asks for the highlights of a block.
---@param callback fun(rows: string[]) given the marks of each line; never called if the host ends
---@return boolean asked false while there is no host
function M.ask(lang, lines, callback)
  if not host.is_ready() then return false end
  asked = asked + 1
  waiting[asked] = function(found) callback(rows_of(lines, lang, found)) end
  host.send('highlight', { request = asked, language = lang, lines = code_of(lines) })
  return true
end

--- Takes Python's answer.
---@param request integer
---@param rows string[] marks of each line of the code, as `first:last:Group`
function M.answer(request, rows)
  local callback = waiting[request]
  waiting[request] = nil
  if callback then callback(rows) end
end

return M
