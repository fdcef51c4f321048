--- Consecutive calls that only read are one line once they have ended: `read 5 files, searched 2×`.
local folds = require('agentchat.ui.folds')
local marks = require('agentchat.transcript.marks')
local results = require('agentchat.transcript.results')
local tool_block = require('agentchat.transcript.tool_block')

local M = {}

local function plural(number, one, many)
  return ('%d %s'):format(number, number == 1 and one or many)
end

--- What was read: one file, or how many there are.
---@param paths string[]
---@param times integer
local function read_of(paths, times)
  if #paths > 1 or times == 1 then return 'read ' .. plural(#paths, 'file', 'files') end
  return ('read %s %d×'):format(vim.fs.basename(paths[1]), times)
end

---@param blocks agentchat.ToolBlock[]
local function summary(blocks)
  local counts, parts, files = { read = 0, search = 0, list = 0 }, {}, {}
  for _, block in ipairs(blocks) do
    local kind = tool_block.reading(block)
    counts[kind] = counts[kind] + 1
    if kind == 'read' then files[results.path(block) or block.title] = true end
  end
  if counts.read > 0 then table.insert(parts, read_of(vim.tbl_keys(files), counts.read)) end
  if counts.search > 0 then table.insert(parts, ('searched %d×'):format(counts.search)) end
  if counts.list > 0 then
    table.insert(parts, 'listed ' .. plural(counts.list, 'directory', 'directories'))
  end
  return table.concat(parts, ', ')
end

--- The fold of blocks that follow one another; nil if the user deleted one at an end.
---@return agentchat.Fold?
local function fold_of(buf, blocks)
  local first = marks.find(buf, blocks[1].mark)
  local _, _, details = marks.find(buf, blocks[#blocks].mark)
  if #blocks < 2 or not first or not details then return nil end
  return { first = first + 1, last = details.end_row, closed = true, label = summary(blocks) }
end

--- Folds for the calls of a run: an error stays in sight.
---@param run agentchat.ToolBlock[]
---@return agentchat.Fold[]
function M.folds(buf, run)
  local out, blocks = {}, {}
  local function take()
    if #blocks > 1 then table.insert(out, fold_of(buf, blocks)) end
    blocks = {}
  end
  for _, block in ipairs(run) do
    if block.state == 'done' then
      table.insert(blocks, block)
    else
      take()
    end
  end
  take()
  return out
end

--- Folds a run that has ended, where nobody reads it: closing a fold moves what is below.
---@param unseen boolean the run is above all windows
function M.fold(buf, run, unseen)
  local function follows(win)
    return vim.api.nvim_win_get_cursor(win)[1] == vim.api.nvim_buf_line_count(buf)
  end
  folds.make(buf, M.folds(buf, run), not unseen and follows or nil)
end

return M
