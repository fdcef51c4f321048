--- What the settings may hold, and the check of a value against it.
local remote = require('agentchat.remote')

local M = {}

---@class agentchat.Leaf
---@field kind 'string'|'boolean'|'switch'|'number'|'integer'|'strings'|'list'|'command'|'place'|'any'
---@field min? number
---@field max? number
---@field one_of? string[]
---@field keep? boolean keep a value that does not fit, for Python to judge

---@class agentchat.Shape a table of named settings; `each` describes the values under names the user chose
---@field fields? table<string, agentchat.Leaf|agentchat.Shape>
---@field each? agentchat.Shape

local STRING, BOOLEAN = { kind = 'string' }, { kind = 'boolean' }
local STRINGS = { kind = 'strings' }

local GROUP = {
  fields = {
    tools = STRINGS,
    prompt = STRING,
    system_prompt = STRING,
    replace_system_prompt = BOOLEAN,
    collapse = BOOLEAN,
    ignore_tool_prompts = BOOLEAN,
  },
}

---@type agentchat.Shape
M.settings = {
  fields = {
    python = STRING,
    model = {
      fields = {
        provider = STRING,
        name = STRING,
        base_url = STRING,
        api_key_env = STRING,
        api_key_cmd = { kind = 'command' },
      },
    },
    tools = {
      fields = {
        default = STRINGS,
        paths = STRINGS,
        edits = { kind = 'string', one_of = { 'ask', 'stage' } },
        deferred_threshold = { kind = 'integer', min = 0 },
        always_load = STRINGS,
        max_parallel = { kind = 'integer', min = 1 },
        groups = { each = GROUP },
      },
    },
    -- A value that is no list is passed to Python, which then asks about everything.
    rules = { kind = 'list', keep = true },
    mode = { kind = 'string', one_of = { 'ask', 'edit', 'plan', 'yolo' } },
    save = { kind = 'string', one_of = { 'vim', 'plain' } },
    workspace = { kind = 'place' },
    ssh = { fields = { command = STRINGS, python = STRING } },
    sandbox = { kind = 'string', one_of = { 'off', 'auto', 'required' } },
    ui = {
      fields = {
        prompt_delay_ms = { kind = 'number', min = 0 },
        side_by_side = { kind = 'switch' },
      },
    },
  },
}

local function is_strings(value)
  if not vim.islist(value) then return false end
  return vim.iter(value):all(function(item) return type(item) == 'string' end)
end

---@type table<string, { name: string, fits: fun(value: any): boolean }>
local KINDS = {
  string = { name = 'a string', fits = function(v) return type(v) == 'string' end },
  boolean = { name = 'true or false', fits = function(v) return type(v) == 'boolean' end },
  switch = {
    name = "true, false or 'auto'",
    fits = function(v) return type(v) == 'boolean' or v == 'auto' end,
  },
  number = { name = 'a number', fits = function(v) return type(v) == 'number' and v == v end },
  integer = {
    name = 'a whole number',
    fits = function(v) return type(v) == 'number' and v % 1 == 0 end,
  },
  strings = { name = 'a list of strings', fits = is_strings },
  list = { name = 'a list', fits = function(v) return vim.islist(v) end },
  command = {
    name = 'a string or a list of strings',
    fits = function(v) return type(v) == 'string' or is_strings(v) end,
  },
  place = { name = remote.FORM, fits = function(v) return remote.parse(v) ~= nil end },
}

local function got(value)
  if type(value) == 'string' then return ('%q'):format(value) end
  if type(value) == 'number' then return tostring(value) end
  return type(value)
end

---@return string? problem what the value must be, or nil if it fits
local function misfit(leaf, value)
  local kind = KINDS[leaf.kind]
  if not kind.fits(value) then
    local what = leaf.kind == 'place' and got(value) or type(value)
    return ('must be %s, got %s'):format(kind.name, what)
  end
  if leaf.one_of and not vim.list_contains(leaf.one_of, value) then
    return ('must be one of %s, got %s'):format(table.concat(leaf.one_of, ', '), got(value))
  end
  if leaf.min and value < leaf.min then
    return ('must be at least %d, got %s'):format(leaf.min, got(value))
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
  local inner = shape.each or (shape.fields and shape.fields[key])
  if inner then return check(inner, value, path .. '.' .. key, problems) end
  local keys = vim.tbl_keys(shape.fields)
  table.sort(keys)
  local near = M.nearest(tostring(key), keys)
  local hint = near and ('did you mean %s?'):format(near)
    or ('known are %s'):format(table.concat(keys, ', '))
  table.insert(problems, ('unknown setting %s.%s: %s'):format(path, key, hint))
end

---@return any kept the value without what does not fit
check = function(shape, value, path, problems)
  if shape.kind then
    local problem = misfit(shape, value)
    if not problem then return value end
    table.insert(problems, ('%s %s'):format(path, problem))
    return shape.keep and value or nil
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
