-- What the user decides about the hunks of a diff: rejected or not, and a comment. It holds for a hunk
-- in every diff about the same thing, also when that is shown again or in another window.

local M = {}

---@class (exact) agentchat.Hunk a place of a diff; rows from 0, lines of the file from 1
---@field row integer of its header
---@field rows integer how many rows it has with its header
---@field path string
---@field index integer from 0
---@field first integer
---@field last integer
---@field key string the same in every diff of the file
---@field digits? integer of its line numbers; none where it has no lines
---@field parts? agentchat.HunkPart[] what it can be split into
---@field part? integer from 0, of a hunk that is a part of one
---@field left_out? boolean rejected unless the user takes it in

---@class (exact) agentchat.Decision
---@field rejected boolean
---@field comment string
---@field split? boolean into its parts, which are decided instead

---@alias agentchat.Decisions table<string, agentchat.Decision>

---@type table<string, table<string, agentchat.Decisions>> by chat and by what the diff is about
local kept = {}

--- What was decided so far about a diff of this chat.
function M.of(chat_id, subject)
  local all = kept[chat_id] or {}
  kept[chat_id], all[subject] = all, all[subject] or {}
  return all[subject]
end

--- Forgets what was decided in a chat, but for some diffs.
---@param wanted? table<string, true> subjects that stay
function M.forget(chat_id, wanted)
  for subject in pairs(wanted and kept[chat_id] or {}) do
    if not wanted[subject] then kept[chat_id][subject] = nil end
  end
  if not wanted then kept[chat_id] = nil end
end

local function name(hunk) return hunk.path .. '\n' .. hunk.key end

---@type agentchat.Decision of a hunk about which nothing was decided
local KEPT = { rejected = false, comment = '' }
local LEFT_OUT = { rejected = true, comment = '' }

function M.get(decisions, hunk)
  local default = hunk.left_out and LEFT_OUT or KEPT
  -- The names of thousands of hunks take a while.
  return next(decisions) and decisions[name(hunk)] or default
end

---@param decision { rejected?: boolean, comment?: string, split?: boolean } what is left out stays
function M.set(decisions, hunk, decision)
  local new = vim.tbl_extend('force', M.get(decisions, hunk), decision)
  local is_default = new.rejected == (hunk.left_out or false)
  decisions[name(hunk)] = (not is_default or new.comment ~= '' or new.split) and new or nil
end

--- Rejects hunks; those that are all rejected are kept again.
function M.toggle(decisions, hunks)
  local rejected = vim.iter(hunks):any(function(it) return not M.get(decisions, it).rejected end)
  for _, hunk in ipairs(hunks) do
    M.set(decisions, hunk, { rejected = rejected })
  end
end

function M.count(decisions, hunks)
  return #vim.tbl_filter(function(it) return not M.get(decisions, it).rejected end, hunks)
end

return M
