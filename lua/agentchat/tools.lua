--- Tools that Lua registers: declared to Python, run here. Python never sees the functions.
local host = require('agentchat.host.process')
local registry = require('agentchat.chat.registry')
local schema = require('agentchat.config.schema')

local M = {}

---@class agentchat.ToolSpec
---@field name string
---@field description? string what it does, for the model; by default its name in words
---@field schema? table JSON Schema of the arguments, or a function definition that has one
---@field run agentchat.ToolFunction|agentchat.ToolFunction[] several run one after the other
---@field aliases? string[]
---@field label? string its name for people
---@field prompt_snippet? string one line in the system prompt's list of tools
---@field system_prompt? string
---@field guidelines? string[]
---@field search_hint? string
---@field always_load? boolean
---@field read_only? boolean
---@field concurrency_safe? boolean
---@field destructive? boolean
---@field permission_class? string
---@field audit_operation? string
---@field affected_resources? string[]
---@field setup_once? boolean consecutive calls share `setup` and `on_exit`
---@field reads? string[] arguments that are paths
---@field writes? string[]
---@field urls? string[] arguments that are web addresses
---@field require_approval_before? boolean|fun(args: table<string, any>): boolean
---@field setup? fun(args: table<string, any>) before the question
---@field on_exit? fun(args: table<string, any>) after the result
---@field prompt? fun(args: table<string, any>): string? the question in the tool's words
---@field dry_run? fun(args: table<string, any>): string? what a call would do
---@field on_success? agentchat.OutcomeFunction
---@field on_error? agentchat.OutcomeFunction
---@field on_rejected? fun(args: table<string, any>, reason: string): any
---@field on_cancelled? fun(args: table<string, any>): any
---@field min_confidence? number
---@field timeout? number seconds

---@alias agentchat.OutcomeFunction fun(args: table<string, any>, result: agentchat.ToolResult): any

---@class agentchat.ToolResult
---@field text string
---@field details? table
---@field is_error boolean

---@alias agentchat.ToolFunction fun(args: table<string, any>, ctx: agentchat.ToolContext): any

---@class agentchat.ToolContext
---@field last_output any what the function before this one returned
---@field chat? string uuid
---@field buf? integer of the chat
---@field call_id string
---@field cwd string the workspace
---@field done fun(result: any) ends a call whose `run` returned nil; later calls do nothing
---@field progress fun(text: string) shows a line while it runs
---@field on_cancel fun(callback: fun()) called when the call is stopped or times out

-- The functions beside `run` and `require_approval_before`.
local HOOKS = {
  'setup',
  'on_exit',
  'prompt',
  'dry_run',
  'on_success',
  'on_error',
  'on_rejected',
  'on_cancelled',
}

local KINDS = {
  string = {
    'name',
    'description',
    'label',
    'prompt_snippet',
    'system_prompt',
    'search_hint',
    'permission_class',
    'audit_operation',
  },
  boolean = { 'always_load', 'read_only', 'concurrency_safe', 'destructive', 'setup_once' },
  strings = { 'aliases', 'guidelines', 'reads', 'writes', 'urls', 'affected_resources' },
  number = { 'min_confidence', 'timeout' },
  table = { 'schema' },
  ['function'] = HOOKS,
  ['function or functions'] = { 'run' },
  ['boolean or function'] = { 'require_approval_before' },
}

---@type table<string, string> the kind of each field
local FIELDS = {}
for kind, names in pairs(KINDS) do
  for _, name in ipairs(names) do
    FIELDS[name] = kind
  end
end

local NAME = '^[%a_][%w_-]*$' -- names of functions that model servers accept
local LONGEST_NAME = 64

---@type table<string, { spec: agentchat.ToolSpec, revision: integer }>
local registered = {}
local revision = 0

---@class agentchat.ToolRun
---@field name string
---@field args table<string, any>
---@field about { chat: string, call_id: string, cwd: string }
---@field functions agentchat.ToolFunction[] that have not run yet
---@field over boolean
---@field on_cancel? fun()

---@type table<string, agentchat.ToolRun> calls that run, by id
local running = {}

local function is_list_of(kind, value)
  if not vim.islist(value) or #value == 0 then return false end
  return vim.iter(value):all(function(item) return type(item) == kind end)
end

local function fits(kind, value)
  if kind == 'strings' then return #value == 0 or is_list_of('string', value) end
  if kind == 'function or functions' and is_list_of('function', value) then return true end
  return vim.list_contains(vim.split(kind, ' or ', { plain = true }), type(value))
end

local function refuse(text, ...) error(('register_tool: ' .. text):format(...), 0) end

local function check_field(name, value)
  local kind = FIELDS[name]
  if not kind then
    local near = schema.nearest(tostring(name), vim.tbl_keys(FIELDS))
    refuse('unknown field %s%s', name, near and (': did you mean %s?'):format(near) or '')
  end
  if not fits(kind, value) then
    local wanted = kind == 'strings' and 'list of strings' or kind
    refuse('%s must be a %s, got %s', name, wanted, type(value))
  end
end

--- The fields of a function definition, `{ type = 'function', ['function'] = { … } }`.
local function unwrapped(spec)
  local inner = type(spec.schema) == 'table' and spec.schema['function']
  if type(inner) ~= 'table' then return spec end
  return vim.tbl_extend('force', spec, {
    name = spec.name or inner.name,
    description = spec.description or inner.description,
    schema = inner.parameters or {},
  })
end

local function check(spec)
  if type(spec) ~= 'table' then refuse('the tool must be a table, got %s', type(spec)) end
  spec = unwrapped(spec)
  for name, value in vim.spairs(spec) do
    check_field(name, value)
  end
  if not spec.name then refuse('name is missing') end
  if not spec.run then refuse('run is missing: function(args, ctx) … end') end
  if not spec.name:match(NAME) or #spec.name > LONGEST_NAME then
    local rule = 'letters, digits, _ and -, at most %d, and begins with a letter'
    refuse('%q is no name for a tool: a name has ' .. rule, spec.name, LONGEST_NAME)
  end
  if spec.read_only and spec.destructive then
    refuse('a tool is read_only or destructive, not both')
  end
  return spec
end

--- What Python is told of a tool.
local function declaration(entry)
  local has = function(name) return entry.spec[name] ~= nil end
  local out = { revision = entry.revision, hooks = vim.tbl_filter(has, HOOKS) }
  for name, value in pairs(entry.spec) do
    if name ~= 'run' and type(value) ~= 'function' then out[name] = value end
  end
  if type(entry.spec.require_approval_before) == 'function' then
    out.require_approval_before = 'function'
  end
  return out
end

local function declare_all()
  local entries = vim.tbl_values(registered)
  table.sort(entries, function(a, b) return a.revision < b.revision end)
  host.send('lua_tools', { tools = vim.tbl_map(declaration, entries) })
end

--- Registers a tool, or replaces the one of this name. It is there for open chats, too.
---@param spec agentchat.ToolSpec
function M.register(spec)
  spec = check(spec)
  revision = revision + 1
  registered[spec.name] = { spec = spec, revision = revision }
  if host.is_ready() then declare_all() end
end

---@return boolean whether there was such a tool
function M.unregister(name)
  local known = registered[name] ~= nil
  registered[name] = nil
  if known and host.is_ready() then declare_all() end
  return known
end

--- Without the place in a file that `error` puts before a message.
local function plain_error(problem)
  if type(problem) ~= 'string' then return vim.inspect(problem) end
  return (problem:gsub('^[^\n]-%.lua:%d+: ', ''):gsub('^%[string .-%]:%d+: ', ''))
end

---@return { text: string, is_error: boolean, shown?: string, details?: string }
local function plain_result(value)
  local out = { is_error = false }
  local kind = type(value)
  if kind == 'table' and (value.text ~= nil or value.data ~= nil) and not vim.islist(value) then
    out.is_error = value.is_error == true or value.status == 'error'
    if value.shown ~= nil then out.shown = tostring(value.shown) end
    if value.details ~= nil then out.details = vim.json.encode(value.details) end
    value = value.text == nil and value.data or value.text
    kind = type(value)
  end
  out.text = kind == 'string' and value or vim.json.encode(value)
  return out
end

local function answer(id, result)
  result.run = id
  host.send('lua_tool_done', result)
end

--- Takes the result of a call, once.
local function finish(id, value)
  local run = running[id]
  if not run or run.over then return end
  run.over, running[id] = true, nil
  local ok, result = pcall(plain_result, value)
  if ok then return answer(id, result) end
  answer(id, { error = ('it returned a %s that is no text and no JSON'):format(type(value)) })
end

local function fail(id, name, problem, trace)
  local run = running[id]
  if not run or run.over then return end
  run.over, running[id] = true, nil
  host.send('failed', { text = ('the tool %s: %s'):format(name, trace) })
  answer(id, { error = plain_error(problem) })
end

--- Calls a function from anywhere: in a fast event, as soon as that is possible.
local function whenever(callback)
  if vim.in_fast_event() then return vim.schedule(callback) end
  callback()
end

---@param done fun(value: any)
---@return agentchat.ToolContext
local function context(id, run, last_output, done)
  local chat = registry.get(run.about.chat)
  return {
    chat = chat and chat.id,
    buf = chat and chat.buf,
    call_id = run.about.call_id,
    cwd = run.about.cwd,
    last_output = last_output,
    done = function(value)
      whenever(function() done(value) end)
    end,
    progress = function(text)
      whenever(function()
        if not run.over then host.send('lua_tool_progress', { run = id, text = tostring(text) }) end
      end)
    end,
    on_cancel = function(callback)
      vim.validate('callback', callback, 'function')
      run.on_cancel = callback
    end,
  }
end

local function is_error(value)
  return type(value) == 'table' and (value.is_error == true or value.status == 'error')
end

--- Runs the next function of a call; the value of the last one, or an error, is the result.
local function step(id, last_output)
  local run = running[id]
  if not run then return end
  local call = table.remove(run.functions, 1)
  if not call or is_error(last_output) then return finish(id, last_output) end
  local is_done = false
  local function done(value)
    if is_done then return end
    is_done = true
    step(id, value)
  end
  local problem
  local function handler(err)
    problem = err
    return debug.traceback(tostring(err), 2)
  end
  local ok, value = xpcall(call, handler, run.args, context(id, run, last_output, done))
  if not ok then return fail(id, run.name, problem, value) end
  if value ~= nil then done(value) end
end

--- Runs a call. Its result is sent when it is there, as an event.
---@param id string of this run
---@param about { chat: string, call_id: string, cwd: string }
function M.run(id, name, args, about)
  local entry = registered[name]
  local run = { name = name, args = args, about = about, over = false, functions = {} }
  running[id] = run
  if not entry then return fail(id, name, 'it is not registered any more', 'not registered') end
  local functions = entry.spec.run
  run.functions = type(functions) == 'table' and vim.list_slice(functions) or { functions }
  step(id, nil)
end

--- Ends a call that nobody waits for any more.
function M.cancel(id)
  local run = running[id]
  if not run then return end
  run.over, running[id] = true, nil
  if run.on_cancel then run.on_cancel() end
end

--- Whether a call needs approval, as the tool's function says. An error is raised in Python.
function M.asks(name, args)
  local entry = registered[name]
  local asks = entry and entry.spec.require_approval_before
  if type(asks) ~= 'function' then return true end
  return asks(args) and true or false
end

--- Calls a function of a tool, which is to return at once.
---@param value? any the result or the reason that it is about
---@return { text?: string, shown?: string, details?: string, error?: string }? answer nil: it says nothing
function M.hook(name, role, args, value)
  local entry = registered[name]
  local hook = entry and entry.spec[role]
  if not hook then return nil end
  local ok, said = pcall(hook, args, value)
  if ok and said ~= nil then
    ok, said = pcall(plain_result, said)
  end
  if ok then return said end
  return { error = plain_error(said) }
end

local function cancel_all()
  for _, id in ipairs(vim.tbl_keys(running)) do
    M.cancel(id)
  end
end

host.listen({
  ready = function()
    if next(registered) then declare_all() end
  end,
  lost = cancel_all,
})

return M
