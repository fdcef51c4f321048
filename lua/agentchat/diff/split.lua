-- Hunks that the user splits into their single changes: the same diff with more hunks in it. Pure.

local decisions = require('agentchat.diff.decisions')

local M = {}

---@class (exact) agentchat.HunkPart a single change in a hunk
---@field header string
---@field rows integer without the header
---@field first integer
---@field last integer

--- The parts of a hunk as hunks of their own.
---@param hunk agentchat.Hunk
---@return agentchat.Hunk[]
local function parts_of(hunk)
  local row, found = hunk.row, {}
  for i, part in ipairs(hunk.parts) do
    found[i] = vim.tbl_extend('force', hunk, {
      row = row,
      rows = part.rows + 1,
      first = part.first,
      last = part.last,
      part = i - 1,
      key = ('%s/%d'):format(hunk.key, i),
    })
    found[i].parts = nil
    row = row + part.rows + 1
  end
  return found
end

local function is_split(given, hunk) return hunk.parts ~= nil and decisions.get(given, hunk).split end

--- All hunks of a diff as the user has split them; their rows are those of the diff as it came.
---@param given agentchat.Decisions
---@param doc agentchat.Doc
---@return agentchat.Hunk[]
function M.hunks(given, doc)
  if not next(given) then return doc.hunks or {} end
  return vim
    .iter(doc.hunks or {})
    :map(function(hunk) return is_split(given, hunk) and parts_of(hunk) or { hunk } end)
    :flatten(1)
    :totable()
end

--- Copies rows of a document to the end of another; `moved` says where each of them is now.
local function copy(out, doc, first, last, moved)
  for row = first, last do
    table.insert(out.lines, doc.lines[row + 1])
    moved[row] = #out.lines - 1
    out.marks[#out.lines] = doc.marks and doc.marks[row + 1] or nil
  end
end

--- Adds the parts of a hunk, each below a header; the first one takes the hunk's.
local function add_parts(out, doc, hunk, moved)
  local row = hunk.row
  for i, part in ipairs(hunk.parts) do
    table.insert(out.lines, part.header)
    if i == 1 then
      moved[row] = #out.lines - 1
      row = row + 1
    else
      table.insert(out.rows, { #out.lines - 1, 'AgentChatHunk' })
    end
    copy(out, doc, row, row + part.rows - 1, moved)
    row = row + part.rows
  end
end

--- A diff as the user has split its hunks.
---@param given agentchat.Decisions
---@param doc agentchat.Doc
---@return agentchat.Doc
function M.document(given, doc)
  local chosen = vim.tbl_filter(function(hunk) return is_split(given, hunk) end, doc.hunks or {})
  if #chosen == 0 then return doc end
  local out, moved, next_row = { lines = {}, marks = {}, rows = {}, hunks = {} }, {}, 0
  for _, hunk in ipairs(chosen) do
    copy(out, doc, next_row, hunk.row - 1, moved)
    add_parts(out, doc, hunk, moved)
    next_row = hunk.row + hunk.rows
  end
  copy(out, doc, next_row, #doc.lines - 1, moved)
  for _, it in ipairs(doc.rows) do
    table.insert(out.rows, { moved[it[1]], it[2], it[3], it[4] })
  end
  table.sort(out.rows, function(a, b) return a[1] < b[1] end)
  for _, hunk in ipairs(doc.hunks) do
    local here = vim.tbl_extend('force', hunk, { row = moved[hunk.row] })
    vim.list_extend(out.hunks, is_split(given, hunk) and parts_of(here) or { here })
  end
  return out
end

--- Splits a hunk; what was decided about it holds for its parts.
---@param given agentchat.Decisions
---@param hunk agentchat.Hunk
---@return boolean whether it could be split
function M.split(given, hunk)
  if not hunk.parts then return false end
  local decision = decisions.get(given, hunk)
  for _, part in ipairs(parts_of(hunk)) do
    decisions.set(given, part, { rejected = decision.rejected, comment = decision.comment })
  end
  decisions.set(given, hunk, { rejected = false, comment = '', split = true })
  return true
end

--- What Python gets with a response: the hunks that are rejected or have a comment.
---@param chat string
---@param subject string
---@param doc agentchat.Doc
---@return { path: string, index: integer, part?: integer, keep: boolean, comment: string }[]? none if there are none
function M.report(chat, subject, doc)
  local given, found = decisions.of(chat, subject), {}
  for _, hunk in ipairs(M.hunks(given, doc)) do
    local decision = decisions.get(given, hunk)
    if decision.rejected or hunk.left_out or decision.comment ~= '' then
      table.insert(found, {
        path = hunk.path,
        index = hunk.index,
        part = hunk.part,
        keep = not decision.rejected,
        comment = decision.comment,
      })
    end
  end
  return #found > 0 and found or nil
end

return M
