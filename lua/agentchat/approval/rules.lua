-- Writing a rule: what it would be, what it would have matched, and one key that agrees to it.

local float = require('agentchat.ui.float')
local host = require('agentchat.host.process')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local layout = require('agentchat.ui.layout')
local registry = require('agentchat.chat.registry')
local render = require('agentchat.ui.render')
local settings = require('agentchat.config.settings')

local M = {}

---@class (exact) agentchat.Draft as Python sends it
---@field id string of exactly this text
---@field title string
---@field text string the rule as JSON
---@field facts [string, string][] label and value
---@field past string[] what the rule would have matched

---@class (exact) agentchat.Writing
---@field chat string
---@field draft agentchat.Draft
---@field float agentchat.Float
---@field field? agentchat.Float where the rule is typed
---@field drawn number when it was drawn, in ms

---@type table<string, agentchat.Writing>
local open = {}
---@type table<string, integer> the window a rule was asked for in, by chat
local wanted = {}

local Z = 65 -- above the question

---@type [string, string][] keys and what they do, the one that agrees first
local HINTS = {
  { 'W', 'write it' },
  { 'v', 'verdict' },
  { 's', 'scope' },
  { 'n', 'next wording' },
  { 'e', 'edit' },
  { 'q', 'close' },
}
-- What would answer the question below, and what would change the text, does nothing here.
local DEAD = '<CR> <Space> y 1 2 3 4 5 6 7 8 9 a A r R c C x X d D i I o O p P S J u U . ~ < > ='

-- Matches what comes before a value, so that the rest of it wraps behind that.
local LABELS = [[^\%(rule\|means\|kept for\|this call\)\s\{2,}]]

local function now() return vim.uv.hrtime() / 1e6 end

local function page(draft)
  local doc = { lines = {}, marks = {}, rows = {} }
  for _, fact in ipairs(draft.facts) do
    table.insert(doc.lines, ('%-11s%s'):format(fact[1], fact[2]))
    doc.marks[#doc.lines] = '0:11:AgentChatFact'
  end
  table.insert(doc.lines, '')
  for _, line in ipairs(draft.past) do
    table.insert(doc.lines, line)
    doc.marks[#doc.lines] = ('0:%d:AgentChatNote'):format(#line)
  end
  return doc
end

local function spec(writing)
  return {
    filetype = 'agentchat-rule',
    chat = writing.chat,
    zindex = Z,
    share = 0.8,
    least = 74,
    place = layout.centre,
    title = function(width) return layout.title(writing.draft.title, width) end,
    footer = function(width, part)
      local lefts = { layout.hints(HINTS, #HINTS), layout.hints(HINTS, 1) }
      return layout.fitting_edge(lefts, layout.parts(part), width)
    end,
    closed = function()
      key_guard.ignore()
      float.close(writing.field)
      if open[writing.chat] == writing then open[writing.chat] = nil end
    end,
  }
end

local function revise(writing, change, text)
  host.send(
    'rule_revise',
    { chat = writing.chat, draft = writing.draft.id, change = change, text = text }
  )
end

local function write(writing)
  host.send('rule_write', { chat = writing.chat, draft = writing.draft.id })
  float.close(writing.float)
  key_guard.drain()
end

local function edit(writing)
  writing.field = input.edit({
    chat = writing.chat,
    title = 'The rule',
    text = writing.draft.text,
    filetype = 'json',
    share = 0.5,
    name = 'rule',
    use = 'use this',
    problem = function(text)
      if pcall(vim.json.decode, text) then return nil end
      return 'A rule is one JSON object: { "action": "allow", … }.'
    end,
    send = function(text) revise(writing, 'text', text) end,
  })
end

---@type table<string, fun(it: agentchat.Writing)>
local KEYS = {
  W = write,
  v = function(writing) revise(writing, 'action') end,
  s = function(writing) revise(writing, 'scope') end,
  n = function(writing) revise(writing, 'words') end,
  e = edit,
}

---@param action fun(it: agentchat.Writing)
local function gate(writing, action)
  local settled = now() - writing.drawn
    >= settings.get(registry.buffer(writing.chat)).ui.prompt_delay_ms
  if open[writing.chat] == writing and settled and key_guard.deliberate() then action(writing) end
end

local function map_keys(writing)
  local buf = writing.float.buf
  render.disable_keys(buf, DEAD)
  for key, action in pairs(KEYS) do
    render.map(buf, { key }, function() gate(writing, action) end)
  end
  render.map(buf, { 'q', '<Esc>' }, function() float.close(writing.float) end, 'Close')
end

local function draw(writing)
  float.draw(writing.float, page(writing.draft))
  vim.cmd.redraw()
  writing.drawn = now()
end

local function begin(chat, draft)
  local writing = { chat = chat, draft = draft, drawn = now() }
  writing.float = float.open(spec(writing))
  if not writing.float then return nil end
  open[chat] = writing
  key_guard.listen()
  map_keys(writing)
  vim.bo[writing.float.buf].formatlistpat = LABELS
  return writing
end

--- Asks Python for a rule about a call, or about what is being asked.
---@param chat string
---@param call? string a tool and what it would get, like `bash git status`
function M.propose(chat, call)
  M.close_all(chat)
  wanted[chat] = vim.api.nvim_get_current_win()
  host.send('rule', { chat = chat, text = call })
end

--- Shows a rule. The user is moved there, unless they went elsewhere meanwhile.
---@param chat string
function M.show(chat, draft)
  if not registry.get(chat) then return end
  local writing = open[chat]
  if writing then
    writing.draft = draft
    return draw(writing)
  end
  writing = begin(chat, draft)
  if not writing then return end
  draw(writing)
  local stayed = wanted[chat] == vim.api.nvim_get_current_win()
  if stayed and vim.api.nvim_get_mode().mode == 'n' then float.enter(writing.float) end
end

--- Closes what is being written in a chat; nothing is kept of it.
---@param chat string
function M.close_all(chat)
  wanted[chat] = nil
  if open[chat] then float.close(open[chat].float) end
end

registry.listen({ ended = function(chat) M.close_all(chat.id) end })

return M
