-- What the review of staged previews shows: title, key hints and help.

local float = require('agentchat.ui.float')
local hunks = require('agentchat.diff.hunks')
local layout = require('agentchat.ui.layout')

local M = {}

---@class (exact) agentchat.Preview as Python sends it
---@field id string
---@field label string
---@field source string the tool that staged it
---@field files integer
---@field stamp? string of the change that is shown
---@field doc agentchat.Doc

local DECIDE = { ':AgentResolve', 'apply|discard' }
local ENTER = { 'gr', 'enter' }
local MOVE = {
  { 'a', 'apply' },
  { 'r', 'reject' },
  { 'x', 'hunk' },
  { 'C', 'comment' },
  { 'E', 'edit text' },
  { 's', 'split' },
  { '?', 'keys' },
  { 'q', 'hide' },
}
local HELP = {
  { 'a', 'apply what is kept, like :AgentResolve apply' },
  { 'r', 'discard it and say why, like :AgentResolve discard' },
  { '<Esc>', 'back to where you came from' },
  { 'q', 'hide the review: nothing is decided' },
  { 'g? ?', 'these keys' },
}

---@param previews agentchat.Preview[] the oldest first
---@return string what is shown, string where it comes from
local function headings(previews)
  local newest = previews[#previews]
  local files = ('%d %s'):format(newest.files, newest.files == 1 and 'file' or 'files')
  local more = #previews > 1 and (' · newest of %d'):format(#previews) or ''
  return newest.label, newest.source .. ' · ' .. files .. more
end

---@param previews agentchat.Preview[] the oldest first
---@return agentchat.Chunk[]
function M.title(previews, width)
  local label, source = headings(previews)
  local fits = vim.api.nvim_strwidth(source) + 3 <= width / 2
  return layout.title(label, width, fits and source or nil, 'AgentChatFact')
end

local function tally(preview, chat) return hunks.tally(chat, preview.id, preview.doc) end

--- The same for a window that is no float.
---@param previews agentchat.Preview[] the oldest first
---@param chat string
function M.heading(previews, chat)
  local label, source = headings(previews)
  local kept = tally(previews[#previews], chat)
  return (' %s  (%s)  %s'):format(label, source, kept and kept.text or '')
end

--- The keys, how many hunks are kept, and which rows are visible.
---@param chat string
---@param at agentchat.Edge
---@return agentchat.Chunk[]
function M.footer(preview, chat, at)
  local all = at.inside and MOVE or { DECIDE, ENTER }
  local lefts = vim.tbl_map(function(words) return layout.hints(all, words) end, { #all, 2, 1, 0 })
  return layout.fitting_edge(lefts, hunks.parts(tally(preview, chat), at.part), at.width)
end

function M.help()
  local lines = { 'In the review of a preview', '' }
  for _, key in ipairs(vim.list_extend(vim.list_extend({}, hunks.HELP), HELP)) do
    table.insert(lines, ('  %-6s %s'):format(key[1], key[2]))
  end
  vim.list_extend(lines, { '', '  :AgentResolve apply|discard [reason] works here, too.' })
  float.page('Keys', lines)
end

return M
