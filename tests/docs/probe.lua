-- `nvim -l tests/docs/probe.lua CHECKOUT`: what the Lua side offers its users, as JSON. Nothing is
-- started: the chat that is made here never talks to a host.
local checkout = arg[1]
vim.opt.runtimepath:prepend(checkout)
vim.cmd.source(checkout .. '/plugin/agentchat.lua')

local agentchat = require('agentchat')
local chats = require('agentchat.chat.actions')

local function sorted(list)
  table.sort(list)
  return list
end

--- Keys a buffer maps to something of the plugin's own, but for scrolling and keys that are dead.
---@param buf integer
---@param modes string[]
---@return string[]
local function keys(buf, modes)
  local found = {}
  for _, mode in ipairs(modes) do
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(buf, mode)) do
      local does = map.callback and map.callback ~= require('agentchat.ui.key_guard').nothing
      if does or vim.startswith(map.rhs or '', '<Plug>') then found[map.lhs] = true end
    end
  end
  return sorted(vim.tbl_keys(found))
end

local function plugs()
  local found = {}
  for _, mode in ipairs({ 'n', 'i', 'x', 'o' }) do
    for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
      local name = map.lhs:match('^<Plug>%((%a+)')
      local is_ours = name and vim.startswith(name:lower(), 'agentchat')
      if is_ours then found[map.lhs] = true end
    end
  end
  return sorted(vim.tbl_keys(found))
end

---@param buf integer
local function commands(buf)
  local found = vim.tbl_keys(vim.api.nvim_get_commands({}))
  vim.list_extend(found, vim.tbl_keys(vim.api.nvim_buf_get_commands(buf, {})))
  return sorted(vim.tbl_filter(function(name) return vim.startswith(name, 'Agent') end, found))
end

---@param value any
---@return string
local function as_lua(value)
  if type(value) == 'table' and next(value) == nil then return '{}' end
  return vim.inspect(value)
end

--- Settings by path, with what they must be and their default as Lua.
-- How the help names the kinds of numbers and of rules.
local KINDS = {
  ms = 'number',
  temperature = 'number',
  dollars = 'number',
  size = 'number',
  count = 'integer',
  positive = 'integer',
  window = 'integer',
  rules = 'list',
  named = 'table',
}

local function settings()
  local found, inner = {}, {}
  local defaults = require('agentchat.config.settings').get()
  local function walk(shapes, path, default)
    for name, shape in pairs(shapes) do
      local below = path == '' and name or path .. '.' .. name
      local value = type(default) == 'table' and default[name] or nil
      local one_of = type(shape) == 'table' and vim.islist(shape) and shape or nil
      local each = type(shape) == 'table' and shape['*']
      local kind = one_of and 'string' or each and 'tables' or 'table'
      if type(shape) == 'string' then kind = KINDS[shape] or shape end
      local leaf = type(shape) == 'string' or one_of or each
      found[below] = { kind = kind, one_of = one_of, default = leaf and as_lua(value) or nil }
      if each then inner[below] = sorted(vim.tbl_keys(each)) end
      if not leaf then walk(shape, below, value) end
    end
  end
  walk(require('agentchat.config.schema').settings, '', defaults)
  return found, inner
end

local function highlights()
  local found = {}
  for name, group in pairs(vim.api.nvim_get_hl(0, {})) do
    if vim.startswith(name, 'AgentChat') then found[name] = group.link or '' end
  end
  return found
end

---@param chat agentchat.Chat
---@return string[] approval, string[] review
local function float_keys(chat)
  local hunk = { row = 0, rows = 1, path = '/a', index = 0, first = 1, last = 1, key = 'k' }
  local doc = { lines = { 'true' }, marks = {}, rows = {}, hunks = { hunk } }
  local function buffer(filetype)
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      local buf = vim.api.nvim_win_get_buf(win)
      if vim.bo[buf].filetype == filetype then return buf end
    end
    error('no window shows ' .. filetype)
  end
  local preview = { id = 'v', label = 'AST Edit: 1', source = 'ast_edit', files = 1, doc = doc }
  require('agentchat.review.list').show(chat.id, preview)
  local review = keys(buffer('agentchat-review'), { 'n' })
  require('agentchat.approval.requests').show(chat.id, {
    id = 'p',
    tool = 'bash',
    title = 'bash wants to run a command',
    facts = {},
    doc = doc,
    safety = 0,
    place = 1,
    total = 1,
    always = true,
    arguments = '{}',
    kind = 'diff',
  })
  return keys(buffer('agentchat-question'), { 'n' }), review
end

local chat = chats.new()
chats.show(chat)
local found, inner = settings()
local approval, review = float_keys(chat)
io.stdout:write(vim.json.encode({
  commands = commands(chat.buf),
  plugs = plugs(),
  chat_keys = keys(chat.buf, { 'n', 'i', 'x', 'o' }),
  approval_keys = approval,
  review_keys = review,
  settings = found,
  inner = inner,
  highlights = highlights(),
  functions = sorted(vim.tbl_keys(agentchat)),
}))
