--- Highlights of Markdown and of the languages in its blocks of code, by Tree-sitter.
local M = {}

local LARGEST = 100 * 1024 -- bytes; a longer text stays plain

local function highlights(lang)
  local ok, query = pcall(vim.treesitter.query.get, lang, 'highlights')
  return ok and query or nil
end

--- Whether this Neovim has a parser and highlights of a language, named as after a fence.
---@param name string
function M.knows(name)
  local lang = vim.treesitter.language.get_lang(name) or name
  local ok, added = pcall(vim.treesitter.language.add, lang)
  return ok and added == true and highlights(lang) ~= nil
end

local function has_colour(name)
  return not (
    vim.startswith(name, '_')
    or name == 'spell'
    or name == 'nospell'
    or name == 'conceal'
  )
end

--- Adds a mark to each line of a node.
local function add(rows, lines, range, group, priority)
  local first, last = range[1], math.min(range[4], #lines - 1)
  for row = first, last do
    local start = row == first and range[2] or 0
    local finish = row == range[4] and range[5] or #lines[row + 1]
    if finish > start then
      table.insert(rows[row + 1], ('%d:%d:%s:%d'):format(start, finish, group, priority))
    end
  end
end

local function collect(rows, lines, text, tree, lang, pause)
  local query = highlights(lang)
  if not query then return end
  local above = lang == 'markdown' and 0 or 1
  for id, node, metadata in query:iter_captures(tree:root(), text) do
    local name = query.captures[id]
    if has_colour(name) then
      local range = vim.treesitter.get_range(node, text, metadata[id])
      local priority = (tonumber(metadata.priority) or 100) + above
      add(rows, lines, range, ('@%s.%s'):format(name, lang), priority)
    end
    pause()
  end
end

---@param parser vim.treesitter.LanguageTree
---@return boolean done
local function parse(parser, pause)
  local done, failed = false, false
  parser:parse(true, function(err)
    done, failed = true, err ~= nil
  end)
  while not done do
    pause(true)
  end
  return not failed
end

--- Finds the highlights of a text.
---@param lines string[]
---@param pause fun(now?: boolean): boolean see `in_slices`
---@return string[]? rows the marks of each line: `first:last:Group:priority` in bytes, divided by
---  blanks; nil if the text stays plain
function M.rows(lines, pause)
  local text = table.concat(lines, '\n') .. '\n'
  if #text > LARGEST then return nil end
  -- This Neovim may have no Markdown parser.
  local ok, parser = pcall(vim.treesitter.get_string_parser, text, 'markdown')
  pause(true) -- the parser takes up to 3 ms before it gives way
  if not ok or not parse(parser, pause) then return nil end
  local rows = vim.iter(lines):map(function() return {} end):totable()
  parser:for_each_tree(
    function(tree, inner) collect(rows, lines, text, tree, inner:lang(), pause) end
  )
  return vim.iter(rows):map(function(marks) return table.concat(marks, ' ') end):totable()
end

return M
