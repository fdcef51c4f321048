--- Highlights of code in languages for which Neovim has no parser: Python finds them.
local decorations = require('agentchat.transcript.decorations')
local host = require('agentchat.host.process')
local markdown = require('agentchat.transcript.markdown')

local M = {}

local LARGEST = 60 * 1000 -- bytes; a longer block stays plain
local BLOCK = '@markup.raw.block.markdown'

local asked = 0

---@type table<integer, fun(rows: string[])>
local waiting = {}

function M.is_small(lines)
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
  return lang ~= nil and lang ~= '' and not markdown.knows(lang) and M.is_small(lines)
end

--- The code of a block, without its fences.
function M.inner(lines)
  local closed = #lines > 1 and lines[#lines]:find('^%s*[`~]+%s*$')
  return vim.list_slice(lines, 2, closed and #lines - 1 or #lines)
end

--- The decorations of all lines but the fences, from those of the code; a block in a language nobody
--- knows looks the same in all of its lines.
function M.rows(lines, found)
  local plain = not vim.iter(found):any(function(marks) return marks ~= '' end)
  local rows = { '' }
  for i, marks in ipairs(found) do
    local line = lines[i + 1]
    rows[i + 1] = plain and line ~= '' and decorations.highlight(0, #line, BLOCK, 100) or marks
  end
  if #rows < #lines then table.insert(rows, '') end
  return rows
end

--- Decorates the fences of a block: a rule above it with the language, and one below.
---@param lines string[] with the fences
---@param rows string[] decorations of each line, changed
function M.frame(lines, rows)
  local _, opened, info = lines[1]:find('^[`~]+%s*([^`]*)')
  local label = opened - #info
  local named = info ~= ''
  local parts = { decorations.replace(0, label, '─'), decorations.rule(opened, named) }
  if named then
    local name = decorations.highlight(label, opened, '@label.markdown')
    vim.list_extend(parts, { decorations.pad(label, 1), name })
  end
  rows[1] = table.concat(parts, ' ')
  local last = lines[#lines]
  if #lines == 1 or not last:find('^%s*[`~]+%s*$') then return end
  rows[#lines] = decorations.replace(0, #last, '─') .. ' ' .. decorations.rule(#last)
end

--- Asks for the highlights of a block.
---@param lines string[] without the fences
---@param callback fun(rows: string[]) given the decorations of each line; never called if the host ends
---@return boolean asked false while there is no host
function M.ask(lang, lines, callback)
  if not host.is_ready() then return false end
  asked = asked + 1
  waiting[asked] = callback
  host.send('highlight', { request = asked, language = lang, lines = lines })
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
