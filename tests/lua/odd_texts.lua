-- Calls the functions that measure, cut and place text with odd texts and odd widths. Each call may
-- take so many instructions; one that never ends is an error that names its arguments.

local columns = require('agentchat.diff.columns')
local context = require('agentchat.prompt.context')
local document = require('agentchat.approval.document')
local layout = require('agentchat.ui.layout')
local mentions = require('agentchat.prompt.mentions')
local paste = require('agentchat.prompt.paste')
local registry = require('agentchat.chat.registry')
local sections = require('agentchat.transcript.sections')
local slash = require('agentchat.prompt.slash')
local tables = require('agentchat.transcript.tables')
local text = require('agentchat.transcript.text')
local todo = require('agentchat.prompt.todo')
local winbar = require('agentchat.chat.winbar')

local BUDGET = 1e8 -- instructions of a call

local PIECES =
  vim.split('a|word|/tmp/x|file:///x|shop.py:3|@bash|@{|#file:|#{|```|~~~|-|+|:-|%|%%|[|"|', '|')
vim.list_extend(PIECES, { "'", '\\', '|', ' ', '  ', '\t', '\1', '\27[31m', '\127', '\r', '\0' })
-- A combining character, two cells, a joined picture, a flag, right to left, an override, C1 control
-- characters, the widest, and bytes that are no characters.
vim.list_extend(
  PIECES,
  { 'e\204\129', '漢', '👩‍🚀', '🇩🇪', 'שלום', '\226\128\174', '\194\133' }
)
vim.list_extend(PIECES, { '﷽', '\255', '\228\184', '\240\159' })

local function pick(list) return list[math.random(#list)] end

local function odd_text()
  local out = {}
  for _ = 1, math.random(0, math.random() < 0.1 and 300 or 12) do
    table.insert(out, pick(PIECES))
  end
  return table.concat(out)
end

local function odd_lines()
  local out = {}
  for i = 1, math.random(0, 8) do
    out[i] = odd_text()
  end
  return out
end

-- What Python sends for a float: it names hidden characters, as in `<U+0000>`.
local function drawn_text() return (odd_text():gsub('%z', '')) end

local function drawn_lines()
  return vim.tbl_map(function(line) return (line:gsub('%z', '')) end, odd_lines())
end

local function odd_width() return pick({ -10, -1, 0, 1, 2, 3, 5, 9, 10, 15, 40, 79, 200, 10000 }) end

local function nothing() end

---@type table<string, fun(...)> what must be true of each function
local CHECKS = {}

function CHECKS.cut(line, width)
  local cut = layout.cut(line, width)
  assert(layout.width({ { cut } }) <= math.max(width, 0), 'wider than asked for: ' .. cut)
end

function CHECKS.title(line, width, right)
  assert(
    layout.width(layout.title(line, width, right)) <= math.max(width, 1),
    'wider than its edge'
  )
end

function CHECKS.rects(width, height, cursor, top)
  local screen = { top = 1, rows = height, columns = width, cursor = cursor, typing = true }
  local want = { width = cursor, height = width, share = 0.8 }
  local area = { top = top, bottom = top + 3, left = 2, right = width }
  for _, rect in ipairs({
    layout.centre(screen, want),
    layout.bottom(screen, want),
    layout.lowest(screen, want, { area }),
    layout.clear_of(screen, want, { area }, { area }),
  }) do
    assert(rect.width >= 1 and rect.height >= 1, vim.inspect(rect))
  end
end

function CHECKS.split(line, column)
  local whole = table.concat(text.split(line, column), '\n')
  if column <= 200 and not line:find('\r') then assert(whole == line, 'text was lost') end
  for _, part in ipairs(text.split(line:rep(800), column)) do
    assert(#part <= text.WIDEST, 'a line is too long')
  end
  text.trim(text.to_lines(line))
  text.one_line(line)
end

function CHECKS.names(line)
  for _, found in ipairs({ mentions.find(line), context.find(line) }) do
    for _, mention in ipairs(found) do
      assert(mention.first < mention.last and mention.last <= #line, vim.inspect(mention))
    end
  end
  mentions.started(line, #line)
  slash.started(line, #line)
  paste.mentions({ cwd = '/' }, '/' .. line)
end

function CHECKS.sections(lines)
  local splitter = sections.new()
  vim.iter(lines):each(function(line) sections.step(splitter, line) end)
end

function CHECKS.tables(lines, width)
  local rows = vim.tbl_map(function(line) return '| ' .. line .. ' |' end, lines)
  rows = vim.list_extend({ '| head |', '|---|' }, rows)
  tables.align(rows, {}, width, nothing)
end

local function diff_of(lines)
  local out = { 'a.py', '@@ -1 +1 @@' }
  for _, line in ipairs(lines) do
    table.insert(out, ('1 1 %s %s'):format(pick({ '+', '-', ' ' }), line))
  end
  local hunk =
    { row = 1, rows = #lines + 1, path = 'a.py', index = 0, first = 1, last = 1, digits = 1 }
  return { lines = out, rows = {}, marks = {}, hunks = { hunk } }
end

function CHECKS.columns(lines, width)
  local out = columns.arrange(diff_of(lines), width, nothing)
  for row = 0, #out.lines - 1 do
    out.parts(row)
  end
end

local function question_of(line, lines)
  return {
    title = line,
    facts = { { 'in', line }, { line, 'value' } },
    doc = { lines = lines, rows = {}, marks = {} },
    kind = pick({ 'command', 'diff', 'arguments', 'text' }),
    always = true,
    always_text = line,
    same = { line },
    waiting = lines,
    rule = true,
    place = 1,
    total = 20,
    safety = 0,
  }
end

function CHECKS.question(line, lines, width, way_in)
  local request = question_of(line, lines)
  document.page(request, true)
  document.lead(request)
  document.heading(request, width)
  document.title(request, width, 1, way_in)
  local edge = { width = width, part = { first = 1, last = 2, rows = 30 }, inside = way_in == '' }
  local footer = document.footer(request, edge, way_in, { text = '1 of 2 kept', whole = false })
  assert(layout.width(footer) <= math.max(width, 1), 'the footer is cut')
  document.held_footer(request, edge)
end

function CHECKS.todo(lines)
  todo.lines(
    vim.tbl_map(
      function(line) return { text = line, status = pick({ 'pending', 'running', 'done' }) } end,
      lines
    )
  )
end

--- Draws the winbar of the chat in the current window with a title and a folder of any kind.
function CHECKS.winbar(line, width)
  local chat = assert(registry.current())
  local before = { title = chat.title, cwd = chat.cwd }
  chat.title, chat.cwd = line, '/' .. line:gsub('%z', '')
  vim.cmd('vertical resize ' .. math.max(width, 1))
  local ok, bar = pcall(winbar.render)
  chat.title, chat.cwd = before.title, before.cwd
  assert(ok, bar)
  vim.api.nvim_eval_statusline(bar, { use_winbar = true })
end

---@type table<string, fun(): ...>
local ARGUMENTS = {
  cut = function() return odd_text(), odd_width() end,
  title = function() return odd_text(), odd_width(), pick({ '1 of 2', '' }) end,
  rects = function() return odd_width(), odd_width(), odd_width(), odd_width() end,
  split = function() return odd_text(), math.max(odd_width(), 0) end,
  names = odd_text,
  sections = odd_lines,
  tables = function() return odd_lines(), odd_width() end,
  columns = function() return drawn_lines(), odd_width() end,
  question = function() return drawn_text(), drawn_lines(), odd_width(), pick({ '', 'ga' }) end,
  todo = odd_lines,
  winbar = function() return odd_text(), odd_width() end,
}

--- Calls `check`; an error where it fails or takes too long.
---@return string? problem
local function problem_of(check, ...)
  debug.sethook(function() error('it does not end', 2) end, '', BUDGET)
  local ok, problem = pcall(check, ...)
  debug.sethook()
  if not ok then return ('%s\n%s'):format(problem, vim.inspect({ ... })) end
end

local seed, count = ...
jit.off() -- what is compiled calls no hook
math.randomseed(seed)
for name, check in vim.spairs(CHECKS) do
  for _ = 1, count do
    local problem = problem_of(check, ARGUMENTS[name]())
    if problem then
      jit.on()
      return ('%s: %s'):format(name, problem)
    end
  end
end
jit.on()
