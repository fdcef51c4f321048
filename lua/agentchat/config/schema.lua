--- What the settings may hold, and the check of a value against it.
local remote = require('agentchat.remote')

local M = {}

---@alias agentchat.Kind 'string'|'boolean'|'switch'|'ms'|'temperature'|'count'|'positive'|'dollars'|'window'
---  |'size'|'strings'|'rules'|'named'|'command'|'place'|'condition'|'text'

---@alias agentchat.Shape agentchat.Kind|string[]|table<string, agentchat.Shape> a kind, the values to
---  choose from, or named settings; `*` stands for every name

local GROUP = {
  tools = 'strings',
  prompt = 'string',
  system_prompt = 'string',
  replace_system_prompt = 'boolean',
  collapse = 'boolean',
  ignore_tool_prompts = 'boolean',
}

local TOOL = {
  enabled = 'condition',
  system_prompt = 'text',
  require_approval_before = 'condition',
  allowed_in_yolo_mode = 'condition',
}

local AGENT = {
  command = 'command',
  env = 'named',
  env_pass = 'strings',
  modes = { ask = 'string' },
  timeout_s = 'positive',
}

---@type agentchat.Shape
M.settings = {
  python = 'string',
  model = {
    provider = 'string',
    name = 'string',
    base_url = 'string',
    api_key_env = 'string',
    api_key_cmd = 'command',
    -- Python checks the names: it knows the nearest right one.
    protocol = 'string',
    effort = 'string',
    temperature = 'temperature',
    max_tokens = 'positive',
    context = 'window',
    params = 'named',
  },
  tools = {
    default = 'strings',
    paths = 'strings',
    edits = { 'ask', 'stage' },
    deferred_threshold = 'count',
    always_load = 'strings',
    max_parallel = 'positive',
    groups = { ['*'] = GROUP },
    opts = { ['*'] = TOOL },
  },
  -- Python checks the servers: their files have the same shape.
  mcp = { servers = 'named', serve = 'boolean' },
  agent = 'string',
  agents = { ['*'] = AGENT },
  rules = 'rules',
  mode = { 'ask', 'edit', 'plan', 'stage', 'yolo' },
  max_rounds = 'positive',
  budget = { turn = 'dollars', chat = 'dollars', day = 'dollars' },
  compact = { 'ask', 'auto', 'off' },
  save = { 'vim', 'plain' },
  workspace = 'place',
  ssh = { command = 'strings', python = 'string' },
  sandbox = { 'off', 'auto', 'required' },
  commands = {
    unasked = { 'isolated', 'readers', 'none' },
    limits = { processes = 'positive', memory_mb = 'positive' },
  },
  stage = {
    network = { 'ask', 'allow', 'deny' },
    quota_mb = 'positive',
    visible = 'strings',
    ignored = { 'drop', 'ask', 'apply' },
  },
  ui = {
    prompt_delay_ms = 'ms',
    side_by_side = 'switch',
    conceal = 'boolean',
    position = { 'right', 'left', 'top', 'bottom', 'tab', 'float' },
    terminal_notify = { 'off', 'osc9', 'osc777' },
    width = 'size',
    height = 'size',
  },
}

local function is_strings(value)
  if not vim.islist(value) then return false end
  return vim.iter(value):all(function(item) return type(item) == 'string' end)
end

local function is_number(value) return type(value) == 'number' and value == value end

local function is_whole(value) return type(value) == 'number' and value % 1 == 0 end

---@class agentchat.KindRule
---@field name string
---@field fits fun(value: any): boolean
---@field min? integer
---@field max? integer
---@field above? integer what a value must be more than
---@field default? string what leaving such a value out means

---@type table<agentchat.Kind, agentchat.KindRule>
local KINDS = {
  string = { name = 'a string', fits = function(v) return type(v) == 'string' end },
  boolean = { name = 'true or false', fits = function(v) return type(v) == 'boolean' end },
  switch = {
    name = "true, false or 'auto'",
    fits = function(v) return type(v) == 'boolean' or v == 'auto' end,
  },
  ms = { name = 'a number', fits = is_number, min = 0 },
  temperature = { name = 'a number', fits = is_number, min = 0, max = 2 },
  count = { name = 'a whole number', fits = is_whole, min = 0 },
  positive = { name = 'a whole number', fits = is_whole, min = 1 },
  size = {
    name = 'a number of cells, or a share of the screen up to 1',
    fits = is_number,
    above = 0,
    default = 'half of the screen',
  },
  dollars = {
    name = 'a number of US dollars',
    fits = is_number,
    above = 0,
    default = 'no limit',
  },
  window = { name = 'a whole number', fits = is_whole, min = 512 },
  strings = { name = 'a list of strings', fits = is_strings },
  -- Python judges them, with those in files: where one cannot be read, it asks about everything.
  rules = { name = 'a list', fits = function() return true end },
  named = {
    name = 'a table of named values',
    fits = function(v) return type(v) == 'table' and (not vim.islist(v) or #v == 0) end,
  },
  command = {
    name = 'a string or a list of strings',
    fits = function(v) return type(v) == 'string' or is_strings(v) end,
  },
  condition = {
    name = 'true, false or a function',
    fits = function(v) return type(v) == 'boolean' or type(v) == 'function' end,
  },
  text = {
    name = 'a string or a function',
    fits = function(v) return type(v) == 'string' or type(v) == 'function' end,
  },
  place = {
    name = remote.FORM
      .. " or { kind = 'command', run = { 'docker', 'exec', '-i', 'box' } }"
      .. " or { kind = 'operations', file = '/path/of.py' }",
    fits = function(v) return remote.place(v) ~= nil end,
  },
}

local function got(value)
  if type(value) == 'string' then return ('%q'):format(value) end
  if type(value) == 'number' then return tostring(value) end
  return type(value)
end

---@return string? problem what the value must be, or nil if it fits
local function misfit(shape, value)
  local values = type(shape) == 'table' and shape or nil
  local kind = KINDS[values and 'string' or shape]
  if not kind.fits(value) then
    local what = shape == 'place' and type(value) == 'string' and got(value) or type(value)
    return ('must be %s, got %s'):format(kind.name, what)
  end
  if values and not vim.list_contains(values, value) then
    return ('must be one of %s, got %s'):format(table.concat(values, ', '), got(value))
  end
  if kind.min and value < kind.min then
    return ('must be at least %d, got %s'):format(kind.min, got(value))
  end
  if kind.above and value <= kind.above then
    local line = 'must be more than %d, got %s; leave it out for %s'
    return line:format(kind.above, got(value), kind.default)
  end
  if kind.max and value > kind.max then
    return ('must be at most %d, got %s'):format(kind.max, got(value))
  end
end

local function distance(a, b)
  local rows = { [0] = {} }
  for j = 0, #b do
    rows[0][j] = j
  end
  for i = 1, #a do
    rows[i] = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local steps = math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + cost)
      local swapped = i > 1 and j > 1 and a:sub(i - 1, i) == b:sub(j - 1, j):reverse()
      rows[i][j] = swapped and math.min(steps, rows[i - 2][j - 2] + 1) or steps
    end
  end
  return rows[#a][#b]
end

--- How unlike two keys are; of two that are as near, the one of the same length is meant.
local function unlikeness(key, known)
  local steps = distance(key, known)
  local begins = #key >= 3 and (vim.startswith(known, key) or vim.startswith(key, known))
  return (begins and math.min(steps, 2) or steps) + math.abs(#key - #known) / 100
end

--- The known key that is nearest to `key`, if one is near at all.
function M.nearest(key, keys)
  local best, least = nil, math.max(2, math.floor(#key / 2)) + 1
  for _, known in ipairs(keys) do
    local unlike = unlikeness(key, known)
    if unlike < least then
      best, least = known, unlike
    end
  end
  return best
end

local check

local function check_key(shape, key, value, path, problems)
  local inner = shape['*'] or shape[key]
  if inner then return check(inner, value, path .. '.' .. key, problems) end
  local keys = vim.tbl_keys(shape)
  table.sort(keys)
  local near = M.nearest(tostring(key), keys)
  local hint = near and ('did you mean %s?'):format(near)
    or ('known are %s'):format(table.concat(keys, ', '))
  table.insert(problems, ('unknown setting %s.%s: %s'):format(path, key, hint))
end

---@return any kept the value without what does not fit
check = function(shape, value, path, problems)
  if type(shape) == 'string' or vim.islist(shape) then
    local problem = misfit(shape, value)
    if not problem then return value end
    table.insert(problems, ('%s %s'):format(path, problem))
    return nil
  end
  if type(value) ~= 'table' or (#value > 0 and vim.islist(value)) then
    local name = type(value) == 'table' and 'list' or type(value)
    table.insert(problems, ('%s must be a table, got %s'):format(path, name))
    return nil
  end
  local kept = vim.empty_dict()
  for key, item in vim.spairs(value) do
    if item ~= vim.NIL then kept[key] = check_key(shape, key, item, path, problems) end
  end
  return kept
end

---@param path string what to call the whole, e.g. `g:agentchat`
---@return table kept what fits
---@return string[] problems a line for each key that does not
function M.check(value, path)
  local problems = {}
  return check(M.settings, value, path, problems) or vim.empty_dict(), problems
end

return M
