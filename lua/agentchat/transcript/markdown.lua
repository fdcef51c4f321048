--- Decorations of Markdown and of the languages in its blocks of code, by Tree-sitter.
local decorations = require('agentchat.transcript.decorations')

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

-- Captures that most colour schemes leave plain.
local GROUPS = { ['markup.quote'] = 'AgentChatQuote' }

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
      table.insert(rows[row + 1], decorations.highlight(start, finish, group, priority))
    end
  end
end

--- The parts of a line that marks of Markdown are shown as, by the type of the node.
---@type table<string, fun(node: TSNode, text: string, first: integer, last: integer): string?>
local SHAPES = {}

function SHAPES.block_quote_marker(node, text, first)
  local out = {}
  for at in vim.treesitter.get_node_text(node, text):gmatch('()>') do
    table.insert(out, decorations.conceal(first + at - 1, first + at, '▎'))
  end
  return table.concat(out, ' ')
end

SHAPES.block_continuation = SHAPES.block_quote_marker

function SHAPES.list_marker_minus(node, text, first)
  local at = vim.treesitter.get_node_text(node, text):find('%S') or 1
  return decorations.show(first + at - 1, first + at, '•')
end

SHAPES.list_marker_plus = SHAPES.list_marker_minus
SHAPES.list_marker_star = SHAPES.list_marker_minus

function SHAPES.task_list_marker_checked(_, _, first, last)
  return decorations.show(first, last, '✓')
end

function SHAPES.task_list_marker_unchecked(_, _, first, last)
  return decorations.show(first, last, '○')
end

function SHAPES.thematic_break(_, _, first, last)
  return decorations.replace(first, last, '─') .. ' ' .. decorations.rule(last)
end

--- The name of a host in lower case, without user, port and `www.`.
local function plain_host(authority)
  local host = authority:gsub('^.*@', ''):gsub(':%d*$', ''):gsub('%.$', '')
  return (host:lower():gsub('^www%.', ''))
end

--- The host of an address; browsers take a backslash for a slash.
---@return string? host, string? scheme
local function split_url(url)
  local scheme, rest = url:match('^(%a[%w+.-]*):(.*)$')
  if scheme and scheme:lower() == 'file' then return nil, scheme end
  local authority = (rest or url):match('^[/\\][/\\]+([^/\\?#]*)')
  return authority and plain_host(authority), scheme
end

--- The host that a text names, as an address or alone; a reader takes both for the place it leads to.
local function named_host(text)
  text = text:gsub('[*_~`]', '')
  local found = text:match('://([^/\\?#%s]+)')
  local first = vim.trim(text):match('^[^/\\?#%s]+')
  local is_host = first and first:find('^[%w\128-\255@:.-]+%.[%a\128-\255-]+:?%d*$')
  if not found and is_host then found = first end
  return found and plain_host(found)
end

--- Where a link leads, if its text names another host.
---@param text string what is shown
---@param url string its address
---@return string? place a host, or a scheme with a colon
local function another_place(text, url)
  local named, host, scheme = named_host(text), split_url(url)
  if not named or not (host or scheme) or named == host then return nil end
  if not host and named == url:lower():match('^mailto:.*@(.*)$') then return nil end
  return host and host ~= '' and host or scheme and scheme .. ':' or nil
end

function SHAPES.link_text(node, text, first, last)
  for other in node:parent():iter_children() do
    local url = other:type() == 'link_destination' and vim.treesitter.get_node_text(other, text)
    if url and not url:find('%s') then
      local link = decorations.url(first, last, url)
      local place = another_place(vim.treesitter.get_node_text(node, text), url)
      local row, _, last_row, last_column = node:parent():range()
      if not place or row ~= last_row then return link end
      return link .. ' ' .. decorations.leads(last_column, place)
    end
  end
end

SHAPES.image_description = SHAPES.link_text

--- Adds what is concealed of a node, and what it is shown as.
local function add_shape(rows, lines, text, node, range, concealed)
  local first, last = range[2], range[5]
  if range[1] + 1 == range[4] and last == 0 then
    last = #lines[range[1] + 1]
  elseif range[1] ~= range[4] then
    return
  end
  local shape = SHAPES[node:type()]
  local part = shape and shape(node, text, first, last)
    or concealed
      and (concealed == '' and decorations.conceal or decorations.show)(first, last, concealed)
  if part and part ~= '' then table.insert(rows[range[1] + 1], part) end
end

local function collect(rows, lines, text, tree, lang, pause)
  local query = highlights(lang)
  if not query then return end
  local above = lang == 'markdown' and 0 or 1
  local is_markdown = vim.startswith(lang, 'markdown')
  for id, node, metadata in query:iter_captures(tree:root(), text) do
    local name = query.captures[id]
    local range = vim.treesitter.get_range(node, text, metadata[id])
    if has_colour(name) then
      local priority = (tonumber(metadata.priority) or 100) + above
      local group = GROUPS[name] or ('@%s.%s'):format(name, lang)
      add(rows, lines, range, group, priority)
    end
    if is_markdown then
      -- Fences have a decoration of their own.
      local concealed = lang == 'markdown_inline' and metadata.conceal or nil
      add_shape(rows, lines, text, node, range, concealed)
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

--- Hides all but one of several blank lines.
local function fold_blanks(lines, rows)
  for i = 2, #lines do
    if not (lines[i]:find('%S') or lines[i - 1]:find('%S')) then rows[i] = decorations.FOLDED end
  end
end

--- Finds the decorations of a text.
---@param lines string[]
---@param is_code boolean whether they are one block of code
---@param pause fun(now?: boolean): boolean see `in_slices`
---@return string[]? rows the decorations of each line; nil if the text stays plain
function M.rows(lines, is_code, pause)
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
  rows = vim.iter(rows):map(function(marks) return table.concat(marks, ' ') end):totable()
  if not is_code then fold_blanks(lines, rows) end
  return rows
end

return M
