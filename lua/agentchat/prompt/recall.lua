--- Earlier prompts: recalled in an empty prompt, the newest first.
local prompt = require('agentchat.prompt.region')
local undo = require('agentchat.prompt.undo')

local M = {}

local api = vim.api
local MOST = 200

---@class agentchat.Recall
---@field texts string[] the prompts that were sent, the newest last
---@field at? integer index of the one that the prompt holds

function M.new() return { texts = {} } end

--- Keeps a prompt that was sent.
function M.add(chat, text)
  local texts = chat.recall.texts
  if texts[#texts] == text then return end
  table.insert(texts, text)
  if #texts > MOST then table.remove(texts, 1) end
  chat.recall.at = nil
end

--- Keeps the prompts of a chat that is resumed, before those sent since.
function M.restore(chat, texts)
  local since = chat.recall.texts
  chat.recall = M.new()
  for _, text in ipairs(vim.list_extend(texts, since)) do
    M.add(chat, text)
  end
end

--- Whether the prompt is empty, or holds a recalled text that was not changed.
local function may_recall(chat)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  if vim.fn.pumvisible() == 1 or vim.v.count > 0 or not prompt.holds(chat, row) then
    return false
  end
  local text, at = prompt.text(chat), chat.recall.at
  if text == '' then
    chat.recall.at = nil
    return true
  end
  return at ~= nil and text == vim.trim(chat.recall.texts[at])
end

--- Puts the next older or newer prompt into the prompt.
---@param step -1|1 older or newer
---@return boolean whether it did, or there is none that way
function M.go(chat, step)
  if not may_recall(chat) then return false end
  local texts, at = chat.recall.texts, chat.recall.at
  if not at and step > 0 then return false end
  local to = math.max((at or #texts + 1) + step, 1)
  if #texts == 0 then return false end
  chat.recall.at = to <= #texts and to or nil
  undo.keep(chat)
  prompt.set(chat, texts[to] or '')
  return true
end

return M
