--- The functions that Python may call, by name: the only way from Python into the Lua half. Python
--- holds the same names (`LuaApi`); a test compares the two tables.
local lazy = require('agentchat.lazy')
local actions = require('agentchat.chat.actions')
local agents = lazy('agentchat.sessions.agents')
local ask_user = lazy('agentchat.ask_user')
local buffers = lazy('agentchat.files.buffers')
local changes = lazy('agentchat.review.changes')
local code = lazy('agentchat.transcript.code')
local context = require('agentchat.prompt.context')
local diagnostics = lazy('agentchat.files.diagnostics')
local float = require('agentchat.ui.float')
local grants = lazy('agentchat.approval.grants')
local history = lazy('agentchat.sessions.select')
local host = require('agentchat.host.process')
local models = lazy('agentchat.chat.models')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local requests = lazy('agentchat.approval.requests')
local review = lazy('agentchat.review.list')
local rules = lazy('agentchat.approval.rules')
local sessions = lazy('agentchat.sessions.list')
local slash = require('agentchat.prompt.slash')
local tool_options = lazy('agentchat.config.tool_options')
local tools = lazy('agentchat.tools')
local trust = lazy('agentchat.files.trust')

local M = {}

---@type table<string, any[]> those that came in parts, until a call names them
local lists = {}

--- Runs a function with the id of a chat, unless the chat was closed while the call was under way.
local function while_open(run)
  return function(id, ...)
    if registry.get(id) then return run(id, ...) end
  end
end

---@type table<string, function>
M.FUNCTIONS = {
  ['agents.offer'] = agents.offer,
  ['approval.close'] = requests.close,
  ['approval.edit_proposal'] = requests.edit_proposal,
  ['approval.show'] = while_open(requests.show),
  ['ask_user.ask'] = while_open(ask_user.ask),
  ['ask_user.close'] = ask_user.close,
  ['buffers.look'] = buffers.look,
  ['buffers.refresh'] = buffers.refresh,
  ['buffers.reload'] = buffers.reload,
  ['buffers.rename'] = buffers.rename,
  ['buffers.replace'] = buffers.replace,
  ['buffers.save'] = buffers.save,
  ['buffers.undo'] = buffers.undo,
  ['buffers.unsaved'] = buffers.unsaved,
  ['changes.show'] = while_open(changes.show),
  ['chat.apply'] = actions.apply,
  ['chat.discard'] = actions.discard,
  ['chat.open_for_agent'] = actions.open_for_agent,
  ['chat.prepend'] = actions.prepend,
  ['chat.refuse'] = actions.refuse,
  ['code.answer'] = code.answer,
  ['context.offer'] = context.offer,
  ['diagnostics.list'] = diagnostics.list,
  ['grants.list'] = grants.list,
  ['history.choose'] = history.choose,
  ['host.places'] = host.places,
  ['host.ready'] = host.ready,
  ['list.add'] = function(name, items)
    lists[name] = lists[name] or {}
    vim.list_extend(lists[name], items)
  end,
  ['models.offer'] = models.offer,
  ['notify.error'] = notify.error,
  ['notify.info'] = notify.info,
  ['notify.warn'] = notify.warn,
  ['notify.warn_of_settings'] = notify.warn_of_settings,
  ['notify.warn_once'] = notify.warn_once,
  ['page.show'] = float.page,
  ['page.update'] = float.update_page,
  ['prompt.set_commands'] = while_open(
    function(id, items) slash.set_commands(registry.get(id), items) end
  ),
  ['review.close'] = review.close,
  ['review.show'] = while_open(review.show),
  ['rules.show'] = rules.show,
  ['sessions.deleted'] = sessions.deleted,
  ['sessions.describe'] = sessions.describe,
  ['sessions.renamed'] = sessions.renamed,
  ['sessions.preview'] = sessions.preview,
  ['sessions.show'] = sessions.show,
  ['tool_options.decide'] = function(id, ...) return tool_options.decide(registry.get(id), ...) end,
  ['tools.asks'] = tools.asks,
  ['tools.cancel'] = tools.cancel,
  ['tools.hook'] = tools.hook,
  ['tools.run'] = tools.run,
  ['trust.agreed'] = trust.agreed,
  ['trust.watch_tools'] = trust.watch_tools,
}

local function take_list(name)
  local list = name and lists[name]
  if not list then return nil end
  lists[name] = nil
  return list
end

-- JSON of others, which goes on to others as it is.
local FOREIGN = { details = true, extra = true }

--- Removes `vim.NIL`, as which Python's None arrives: what is not known is absent. Puts the lists
--- that came in parts in the place of their names.
local function known(value)
  for key, item in pairs(value) do
    if item == vim.NIL then
      value[key] = nil
    elseif type(item) == 'table' and not FOREIGN[key] then
      value[key] = take_list(item['$list']) or known(item)
    end
  end
  return value
end

--- Calls a function and returns what it returns; an error in it is raised in Python.
function M.request(name, ...)
  local count, args = select('#', ...), known({ ... })
  return M.FUNCTIONS[name](unpack(args, 1, count))
end

--- Calls a function nobody waits for: an error in it is one line for the user and an entry in the log.
function M.call(name, ...)
  local ok, problem = xpcall(M.request, debug.traceback, name, ...)
  if ok then return end
  host.send('failed', { text = tostring(problem) })
  local line = vim.split(tostring(problem), '\n')[1]
  notify.error(('%s failed: %s'):format(name, line))
end

return M
