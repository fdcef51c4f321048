-- What the user says of the hunks of a diff: rejected or not, and a comment. It holds for a hunk in
-- every diff about the same thing, also when that is shown anew or in another window.

local M = {}

---@class (exact) agentchat.Hunk a place of a diff; rows from 0, lines of the file from 1
---@field row integer where its header stands
---@field rows integer how many rows it has with its header
---@field path string
---@field index integer from 0
---@field first integer
---@field last integer
---@field key string the same in every diff of the file
---@field digits? integer of its line numbers; none where it has no lines

---@class (exact) agentchat.Verdict
---@field rejected boolean
---@field comment string

---@alias agentchat.Verdicts table<string, agentchat.Verdict>

---@type table<string, table<string, agentchat.Verdicts>> by chat and by what the diff is about
local kept = {}

--- What was said so far of a diff of this chat.
---@param chat string
---@param subject string
---@return agentchat.Verdicts
function M.of(chat, subject)
  kept[chat] = kept[chat] or {}
  kept[chat][subject] = kept[chat][subject] or {}
  return kept[chat][subject]
end

--- Forgets what was said of one diff, or of all of the chat.
---@param chat string
---@param subject? string
function M.forget(chat, subject)
  if not subject then
    kept[chat] = nil
  elseif kept[chat] then
    kept[chat][subject] = nil
  end
end

---@param hunk agentchat.Hunk
---@return string
local function name(hunk) return hunk.path .. '\n' .. hunk.key end

--- What was said of a hunk.
---@param verdicts agentchat.Verdicts
---@param hunk agentchat.Hunk
---@return agentchat.Verdict
function M.get(verdicts, hunk) return verdicts[name(hunk)] or { rejected = false, comment = '' } end

--- Says something of a hunk.
---@param verdicts agentchat.Verdicts
---@param hunk agentchat.Hunk
---@param verdict { rejected?: boolean, comment?: string } what is left out stays
function M.set(verdicts, hunk, verdict)
  local said = vim.tbl_extend('force', M.get(verdicts, hunk), verdict)
  verdicts[name(hunk)] = (said.rejected or said.comment ~= '') and said or nil
end

--- Rejects hunks; those that are all rejected are kept again.
---@param verdicts agentchat.Verdicts
---@param hunks agentchat.Hunk[]
function M.toggle(verdicts, hunks)
  local rejected = vim.iter(hunks):any(function(it) return not M.get(verdicts, it).rejected end)
  for _, hunk in ipairs(hunks) do
    M.set(verdicts, hunk, { rejected = rejected })
  end
end

--- How many of the hunks are kept.
---@param verdicts agentchat.Verdicts
---@param hunks agentchat.Hunk[]
---@return integer
function M.count(verdicts, hunks)
  return #vim.tbl_filter(function(it) return not M.get(verdicts, it).rejected end, hunks)
end

--- What Python is told: the hunks that are rejected or have a comment.
---@param verdicts agentchat.Verdicts
---@param hunks agentchat.Hunk[]
---@return { path: string, index: integer, keep: boolean, comment: string }[]
function M.told(verdicts, hunks)
  local told = {}
  for _, hunk in ipairs(hunks) do
    local said = verdicts[name(hunk)]
    if said then
      table.insert(told, {
        path = hunk.path,
        index = hunk.index,
        keep = not said.rejected,
        comment = said.comment,
      })
    end
  end
  return told
end

return M
