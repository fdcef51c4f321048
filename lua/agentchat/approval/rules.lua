-- Writing a rule: its text, its meaning, the calls it would have matched, and one key that agrees to it.

local document = require('agentchat.approval.document')
local host = require('agentchat.host.process')
local input = require('agentchat.ui.input')
local key_guard = require('agentchat.ui.key_guard')
local layout = require('agentchat.ui.layout')
local panels = require('agentchat.ui.panel')
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

---@class (exact) agentchat.RuleEditor
---@field chat string uuid
---@field draft agentchat.Draft
---@field panel agentchat.Panel

---@type table<string, agentchat.RuleEditor>
local editors = {}
---@type table<string, integer> the window in which a rule was asked for, by chat
local origins = {}

local Z = 65 -- above the approval request

---@type [string, string][] keys and what they do, the one that agrees first
local HINTS = {
  { 'W', 'write' },
  { 'v', 'verdict' },
  { 's', 'scope' },
  { 'n', 'next wording' },
  { 'e', 'edit' },
  { 'q', 'close' },
}
-- Keys that would answer the request below, or change the text.
local DISABLED =
  '<CR> <Space> y 1 2 3 4 5 6 7 8 9 a A r R c C x X d D i I o O p P S J u U . ~ < > ='

local function page(draft)
  local doc = { lines = {}, marks = {}, rows = {} }
  document.add_facts(doc, draft.facts)
  document.add_notes(doc, draft.past)
  return doc
end

local function revise(editor, change, text)
  local payload = { chat = editor.chat, draft = editor.draft.id, change = change, text = text }
  host.send('rule_revise', payload)
end

local function write(editor)
  host.send('rule_write', { chat = editor.chat, draft = editor.draft.id })
  panels.hide(editor.panel)
  -- The next part of a command may get a rule, too: it is shown where the user is.
  origins[editor.chat] = vim.api.nvim_get_current_win()
  key_guard.drain()
end

local function edit(editor)
  editor.panel.field = input.edit({
    chat = editor.chat,
    title = 'Rule',
    text = editor.draft.text,
    filetype = 'json',
    share = 0.5,
    name = 'rule',
    use = 'use this rule',
    problem = function(text)
      if pcall(vim.json.decode, text) then return nil end
      return 'A rule must be one JSON object: { "action": "allow", … }.'
    end,
    send = function(text) revise(editor, 'text', text) end,
  })
end

---@type table<string, fun(editor: agentchat.RuleEditor)>
local KEYS = {
  W = write,
  v = function(editor) revise(editor, 'action') end,
  s = function(editor) revise(editor, 'scope') end,
  n = function(editor) revise(editor, 'words') end,
  e = edit,
}

local function map_keys(editor, buf)
  render.disable_keys(buf, DISABLED)
  for key, act in pairs(KEYS) do
    render.map(buf, { key }, function()
      panels.gate(editor.panel, function() act(editor) end)
    end)
  end
  render.map(buf, { 'q', '<Esc>' }, function() panels.hide(editor.panel) end, 'Close')
end

local function panel_spec(editor)
  return {
    filetype = 'agentchat-rule',
    chat = editor.chat,
    zindex = Z,
    place = layout.centre,
    title = function(width) return layout.title(editor.draft.title, width) end,
    footer = function(edge)
      local lefts = { layout.hints(HINTS, #HINTS), layout.hints(HINTS, 1) }
      return layout.fitting_edge(lefts, layout.parts(edge.part), edge.width)
    end,
    draw = function(panel)
      vim.wo[panel.view.win].linebreak = true
      panel.page = page(editor.draft)
      panels.window(panel).draw(panel.view, panel.page)
    end,
    resized = function() end,
    lead = function() return document.label_pattern(editor.draft.facts) end,
    delay = function() return settings.get(registry.buffer(editor.chat)).ui.prompt_delay_ms end,
    map = function(buf) map_keys(editor, buf) end,
    closed = function() M.close_all(editor.chat) end,
  }
end

--- Asks Python for a rule about a call, or about the pending approval request.
---@param call? string a tool and what it would get, like `bash git status`
function M.propose(chat_id, call)
  M.close_all(chat_id)
  origins[chat_id] = vim.api.nvim_get_current_win()
  host.send('rule', { chat = chat_id, text = call })
end

--- Shows a rule. The user is moved there, unless they went elsewhere in the meantime.
function M.show(chat_id, draft)
  if not registry.get(chat_id) then return end
  local editor = editors[chat_id]
  if editor then
    editor.draft = draft
    return panels.draw_new(editor.panel)
  end
  editor = { chat = chat_id, draft = draft }
  editor.panel = panels.new(panel_spec(editor))
  if not panels.show(editor.panel) then return end
  editors[chat_id] = editor
  local stayed = origins[chat_id] == vim.api.nvim_get_current_win()
  if stayed and vim.api.nvim_get_mode().mode == 'n' then panels.enter(editor.panel) end
end

function M.close_all(chat_id)
  local editor = editors[chat_id]
  editors[chat_id], origins[chat_id] = nil, nil
  if editor then panels.discard(editor.panel) end
end

registry.listen({ ended = function(chat) M.close_all(chat.id) end })

return M
