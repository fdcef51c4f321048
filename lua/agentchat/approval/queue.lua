-- The approval requests of all chats: those of a chat wait in the order they came, the first is shown.

local M = {}

---@class (exact) agentchat.ResponseDetails
---@field reason? string
---@field arguments? string JSON
---@field replaced? { path: string, text: string }[] files and their new text

---@class (exact) agentchat.WaitingRequest
---@field chat string uuid
---@field request agentchat.ApprovalRequest
---@field panel agentchat.Panel
---@field detailed boolean
---@field reason string typed so far
---@field arguments string as the user left them
---@field draft? string likewise, if the request is about a text
---@field hidden boolean by the user
---@field reported boolean the user was notified, as the chat was not visible
---@field docked? boolean drawn for a place in the window of the chat
---@field state? string where everything was when it was put in its place
---@field words? agentchat.Words what the model had said when it was answered; the float of an answered
---  request keeps the focus until the next one of the reply

---@type table<string, agentchat.WaitingRequest[]> by chat
local waiting = {}

---@type table<string, agentchat.WaitingRequest> answered ones whose floats keep the focus, by chat
local held = {}

---@return agentchat.WaitingRequest? the request of a chat that can be answered now
function M.first(chat_id) return chat_id and waiting[chat_id] and waiting[chat_id][1] end

---@return agentchat.WaitingRequest[] those of all chats that can be answered now
function M.all_first()
  return vim.iter(waiting):map(function(_, queue) return queue[1] end):totable()
end

---@return agentchat.WaitingRequest[] those of a chat
function M.all(chat_id) return vim.list_slice(waiting[chat_id] or {}) end

function M.holds(entry) return vim.list_contains(waiting[entry.chat] or {}, entry) end

function M.add(entry)
  waiting[entry.chat] = waiting[entry.chat] or {}
  table.insert(waiting[entry.chat], entry)
end

function M.remove(entry)
  local left = vim.tbl_filter(function(other) return other ~= entry end, M.all(entry.chat))
  waiting[entry.chat] = #left > 0 and left or nil
end

--- The answered request of a chat whose float waits for the next one.
---@return agentchat.WaitingRequest?
function M.held(chat_id) return held[chat_id] end

function M.is_held(entry) return held[entry.chat] == entry end

---@return agentchat.WaitingRequest[]
function M.all_held() return vim.tbl_values(held) end

---@param entry? agentchat.WaitingRequest
function M.hold(chat_id, entry) held[chat_id] = entry end

function M.is_empty() return next(waiting) == nil and next(held) == nil end

return M
