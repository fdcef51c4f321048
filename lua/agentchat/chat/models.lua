--- The models a chat can ask: listed by Python, chosen here.
local host = require('agentchat.host.process')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')

local M = {}

--- How long a list counts as new, in milliseconds.
local FRESH = 60000

---@class agentchat.KnownModels
---@field names string[] for `:AgentModel`
---@field asked integer when Python was asked for them, in milliseconds

---@type table<agentchat.Chat, agentchat.KnownModels>
local known = setmetatable({}, { __mode = 'k' })

local function ask(chat, quiet)
  local names = known[chat] and known[chat].names or {}
  known[chat] = { names = names, asked = vim.uv.now() }
  host.send('models', { chat = chat.id, quiet = quiet, settings = settings.get(chat.buf).model })
end

--- Lets the user choose a model, once the servers have said which they have.
function M.select(chat) ask(chat, false) end

--- Asks this model from the next request on: a name, or `provider/name`.
function M.choose(chat, name)
  host.send('model', { chat = chat.id, name = name, settings = settings.get(chat.buf).model })
end

--- Takes over the names that servers have, and offers them unless it is `quiet`.
---@param about { current: string, quiet: boolean }
function M.offer(id, names, about)
  local chat = registry.get(id)
  if not chat then return end
  known[chat] = { names = names, asked = vim.uv.now() }
  if about.quiet then return end
  local function line(name)
    local is_current = name == about.current or vim.endswith(name, '/' .. about.current)
    return (is_current and '● ' or '  ') .. name
  end
  local opts = {
    prompt = ('Model (now %s):'):format(about.current),
    kind = 'agentchat.model',
    format_item = line,
  }
  vim.ui.select(names, opts, function(name)
    if name then M.choose(chat, name) end
  end)
end

--- The names for completion: what is known now, and asked for again if it is old.
---@param chat? agentchat.Chat
function M.names(chat)
  local seen = { offline = true }
  local model = settings.get().model or {}
  for _, name in pairs({ model.name or '', vim.env.AGENTCHAT_MODEL or '' }) do
    seen[name] = true
  end
  if chat then
    seen[chat.status.model] = true
    local models = known[chat]
    for _, name in ipairs(models and models.names or {}) do
      seen[name] = true
    end
    local is_old = not models or vim.uv.now() - models.asked > FRESH
    if is_old and host.is_ready() then ask(chat, true) end
  end
  seen[''] = nil
  return vim.fn.sort(vim.tbl_keys(seen))
end

return M
