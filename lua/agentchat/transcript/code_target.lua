--- Where a block of code goes in a file: in place of what it replaces, or below the cursor.
local M = {}

local api = vim.api

---@class agentchat.CodeTarget
---@field first integer lines above the code, which stay
---@field last integer the last line that the code replaces; `first` for none
---@field lines string[]

--- The lines of a selection that was left in a window, while the text and the cursor stay.
---@return integer? first, integer? last from 1
local function selection(win)
  local buf, row = api.nvim_win_get_buf(win), api.nvim_win_get_cursor(win)[1]
  local left = vim.w[win].agentchat_selection
  if not left or left.buf ~= buf or left.tick ~= api.nvim_buf_get_changedtick(buf) then
    return nil
  end
  local first, last = api.nvim_buf_get_mark(buf, '<')[1], api.nvim_buf_get_mark(buf, '>')[1]
  if row == first or row == last then return first, last end
end

---@param source integer|string as for `get_node_text`
---@return string? name of the function or class that a node defines
local function defined(node, source)
  local kind = node:type()
  if not (kind:find('function') or kind:find('method') or kind:find('class')) then return nil end
  local name = node:field('name')[1]
  return name and vim.treesitter.get_node_text(name, source)
end

--- The one definition that a text consists of, with its decorators.
---@return string? name, boolean? wrapped whether decorators or the like are around it
local function only_definition(text, lang)
  local ok, parser = pcall(vim.treesitter.get_string_parser, text, lang)
  local root = ok and parser:parse()[1]:root() or nil
  if not root or root:has_error() then return nil end
  local found
  for node in root:iter_children() do
    if node:named() and not node:type():find('comment') then
      if found then return nil end
      found = node
    end
  end
  if not found then return nil end
  local name = defined(found, text)
  if name then return name, false end
  for node in found:iter_children() do
    name = name or defined(node, text)
  end
  return name, true
end

--- The definition of this name around the cursor of a window.
---@return TSNode?
local function definition_at(win, name, lang)
  local buf = api.nvim_win_get_buf(win)
  local ok, parser = pcall(vim.treesitter.get_parser, buf, lang)
  if not ok or not parser then return nil end
  parser:parse()
  local row = api.nvim_win_get_cursor(win)[1] - 1
  local line = api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  local column = #line:match('^%s*')
  local node = vim.treesitter.get_node({ bufnr = buf, pos = { row, column }, lang = lang })
  while node do
    if defined(node, buf) == name then return node end
    node = node:parent()
  end
end

local function reindented(lines, indent)
  return vim.tbl_map(function(line) return line == '' and line or indent .. line end, lines)
end

--- The function around the cursor that the code defines anew.
---@param lines string[]
---@return agentchat.CodeTarget?
local function same_function(win, lines)
  local buf = api.nvim_win_get_buf(win)
  local lang = vim.treesitter.language.get_lang(vim.bo[buf].filetype)
  if not lang or not pcall(vim.treesitter.language.add, lang) then return nil end
  local name, wrapped = only_definition(table.concat(lines, '\n') .. '\n', lang)
  local node = name and definition_at(win, name, lang)
  if not node then return nil end
  local parent = node:parent()
  if wrapped and parent and parent:parent() and parent:start() <= node:start() then
    if parent:type():find('decorated') or parent:type():find('export') then node = parent end
  end
  local first, last, stop = node:start(), node:end_()
  if stop == 0 then last = last - 1 end
  local indent = api.nvim_buf_get_lines(buf, first, first + 1, false)[1]:match('^%s*')
  if lines[1]:match('^%s') then indent = '' end
  return { first = first, last = last + 1, lines = reindented(lines, indent) }
end

--- Where code goes in the file of a window: onto a selection that was left there, onto the function
--- around the cursor that it defines anew, or below the cursor.
---@param lines string[]
---@return agentchat.CodeTarget
function M.find(win, lines)
  local first, last = selection(win)
  if first then return { first = first - 1, last = last, lines = lines } end
  local found = same_function(win, lines)
  if found then return found end
  local empty = api.nvim_win_call(win, function() return vim.fn.wordcount().bytes == 0 end)
  local line = empty and 0 or api.nvim_win_get_cursor(win)[1]
  return { first = line, last = line, lines = lines }
end

return M
