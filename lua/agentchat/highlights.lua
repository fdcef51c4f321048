--- Highlight groups, which a colour scheme or the user may set.
local M = {}

--- How much lighter the lighter of two colours should be: what accessibility guidelines ask of large
--- letters.
local ENOUGH = 3
local LEAST = 2 -- of code in several colours, one of which may be pale
local MOST = 21 -- black on white

---@param colour integer 0xRRGGBB
---@return number from 0, black, to 1, white, as an eye sees it
local function luminance(colour)
  local sum = 0
  for shift, weight in pairs({ [16] = 0.2126, [8] = 0.7152, [0] = 0.0722 }) do
    local part = bit.band(bit.rshift(colour, shift), 0xff) / 255
    sum = sum + weight * (part <= 0.03928 and part / 12.92 or ((part + 0.055) / 1.055) ^ 2.4)
  end
  return sum
end

--- The ratio of two colours, from 1 for equal ones to 21 for black and white.
local function ratio(one, other)
  local light, dark = luminance(one), luminance(other)
  if light < dark then
    light, dark = dark, light
  end
  return (light + 0.05) / (dark + 0.05)
end

local function colours(name) return vim.api.nvim_get_hl(0, { name = name, link = false }) end

--- How well text of the least legible of some groups is seen on a background.
---@param background? integer 0xRRGGBB; nil for one that nobody knows
---@return number ratio from 1 for not at all
function M.contrast(groups, background)
  local least = MOST
  for _, name in ipairs(groups) do
    local fg = colours(name).fg
    if fg and background then least = math.min(least, ratio(fg, background)) end
  end
  return least
end

--- The first of some groups with enough contrast, else the one that has most.
---@param contrast fun(name: string): number
local function most_legible(names, contrast)
  local best
  for _, name in ipairs(names) do
    if contrast(name) >= ENOUGH then return name end
    if not best or contrast(name) > contrast(best) then best = name end
  end
  return best
end

local LINKS = {
  Hunk = 'Special',
  Rejected = 'NonText',
  Filler = 'NonText',
  File = 'Directory',
  Summary = 'Title',
  LineNr = 'LineNr',
  Escape = 'WarningMsg',
  Warning = 'DiagnosticWarn',
  Key = 'Special',
  Title = 'Title',
  Fact = 'Comment',
  User = 'Title',
  Agent = 'Function',
  Note = 'DiagnosticInfo',
  Error = 'DiagnosticError',
  Block = 'Identifier',
  BlockBody = 'Comment',
  Done = 'DiagnosticOk',
  Failed = 'DiagnosticError',
  Running = 'DiagnosticInfo',
  Waiting = 'DiagnosticWarn',
  Mention = 'Special',
  Reasoning = 'Comment',
  Placeholder = 'Comment',
  Rule = 'NonText',
  Quote = 'Comment',
  CodeKeyword = 'Statement',
  CodeString = 'String',
  CodeComment = 'Comment',
  CodeNumber = 'Number',
  CodeFunction = 'Function',
  CodeType = 'Type',
  CodeOperator = 'Operator',
  CodeName = 'Identifier',
  CodeConstant = 'Constant',
  CodeAdded = 'Added',
  CodeDeleted = 'Removed',
}

-- What is linked instead where it is not legible: light schemes of Vim's have pale diagnostics.
local INSTEAD = {
  DiagnosticOk = 'Added',
  DiagnosticInfo = 'Changed',
  DiagnosticWarn = 'WarningMsg',
  DiagnosticError = 'Removed',
  NonText = 'LineNr',
}

--- Links a group of ours, unless the user has set it.
local function define_link(name, link)
  local groups = { link, INSTEAD[link] }
  local now = vim.api.nvim_get_hl(0, { name = name })
  if next(now) and not vim.list_contains(groups, now.link) then return end
  local background = colours('Normal').bg
  local best = most_legible(groups, function(group) return M.contrast({ group }, background) end)
  vim.api.nvim_set_hl(0, name, { link = best })
end

-- For schemes that mark a changed line by its foreground only, which the colours of code cover, by
-- `reverse`, which makes the words inside the line look changed, or by a background that hides code.
local CHANGED = {
  Add = {
    dark = { line = { bg = '#1d3a28', ctermbg = 22 }, word = { bg = '#2c6642', ctermbg = 28 } },
    light = { line = { bg = '#d3f0da', ctermbg = 194 }, word = { bg = '#9fdcae', ctermbg = 151 } },
  },
  Delete = {
    dark = { line = { bg = '#45202a', ctermbg = 52 }, word = { bg = '#7d2f3d', ctermbg = 88 } },
    light = { line = { bg = '#f7d5d8', ctermbg = 224 }, word = { bg = '#eea5ad', ctermbg = 217 } },
  },
}

local CODE = { 'Normal', 'Comment', 'Statement', 'String', 'Function', 'Identifier', 'Constant' }

--- Whether the scheme gives a background to the lines of a group, or to the words in them, on which code
--- can be read.
local function is_background(name)
  local look = colours(name)
  return look.bg ~= nil and not look.reverse and M.contrast(CODE, look.bg) >= LEAST
end

---@param kind 'Add'|'Delete'
local function define_changed(kind)
  local own = CHANGED[kind][vim.o.background]
  local themed = is_background('Diff' .. kind) and is_background('DiffText')
  local line = themed and { link = 'Diff' .. kind } or own.line
  local word = themed and { link = 'DiffText' } or own.word
  local name = 'AgentChat' .. kind
  vim.api.nvim_set_hl(0, name, vim.tbl_extend('force', line, { default = true }))
  vim.api.nvim_set_hl(0, name .. 'Word', vim.tbl_extend('force', word, { default = true }))
end

-- What is written into floats and their borders.
local WORDS = { 'Normal', 'AgentChatTitle', 'AgentChatFact', 'AgentChatKey', 'AgentChatWarning' }

--- Some schemes fill floats or their borders with a colour in which our text would not be legible.
local function define_floats()
  local inner = most_legible(
    { 'NormalFloat', 'Normal' },
    function(name) return M.contrast(WORDS, colours(name).bg) end
  )
  local back, line = colours(inner), colours('Comment')
  local edge = most_legible({ 'FloatBorder', inner }, function(name)
    local words = name == inner and WORDS or vim.list_extend({ name }, WORDS)
    return M.contrast(words, colours(name).bg or back.bg)
  end)
  local border = { link = 'FloatBorder', default = true }
  if edge == inner then
    border = { fg = line.fg, bg = back.bg, ctermfg = line.ctermfg, ctermbg = back.ctermbg }
    border.default = true
  end
  vim.api.nvim_set_hl(0, 'AgentChatFloat', { link = inner, default = true })
  vim.api.nvim_set_hl(0, 'AgentChatBorder', border)
end

--- Defines the groups. Calling it again after a colour scheme has cleared them brings them back.
function M.define()
  for name, link in pairs(LINKS) do
    define_link('AgentChat' .. name, link)
  end
  define_changed('Add')
  define_changed('Delete')
  define_floats()
end

function M.setup()
  M.define()
  local group = vim.api.nvim_create_augroup('agentchat.highlights', {})
  vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = M.define })
end

return M
