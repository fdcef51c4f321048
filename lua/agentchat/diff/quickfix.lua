-- The hunks of a diff in the quickfix list.

local verdicts = require('agentchat.diff.decisions')

local M = {}

---@param hunk agentchat.Hunk
---@param verdict agentchat.Verdict
---@return string
local function text(hunk, verdict)
  local words = { ('hunk %d'):format(hunk.index + 1) }
  if verdict.rejected then table.insert(words, 'rejected') end
  local comment = vim.trim((verdict.comment:gsub('%s+', ' ')))
  if comment ~= '' then table.insert(words, comment) end
  return table.concat(words, ': ')
end

--- Puts the hunks into a new quickfix list and takes the user there.
---@param title string
---@param hunks agentchat.Hunk[]
---@param said agentchat.Verdicts
function M.open(title, hunks, said)
  local chat = require('agentchat.chat.actions').of(vim.api.nvim_get_current_buf())
  local url = chat and chat.place
  local items = vim.tbl_map(
    function(hunk)
      return {
        filename = url and require('agentchat.remote').file(url, hunk.path) or hunk.path,
        lnum = hunk.first,
        end_lnum = hunk.last,
        text = text(hunk, verdicts.get(said, hunk)),
      }
    end,
    hunks
  )
  vim.fn.setqflist({}, ' ', { title = title, items = items })
  vim.cmd('botright copen')
end

return M
