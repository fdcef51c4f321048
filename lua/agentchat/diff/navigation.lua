-- Moving about in a diff that is drawn: hunk by hunk, file by file.

local paper = require('agentchat.ui.render')

local M = {}

--- What stands before the code in a line of a diff: line numbers and sign.
M.GUTTER = [[^[ 0-9]\+ [-+ ] ]]

local KEYS = {
  { '[c', ']c', 'AgentChatHunk', 'hunk' },
  { '[f', ']f', 'AgentChatFile', 'file' },
}

---@param rows integer[] in order
---@param row integer
---@param steps integer how many rows to go on, or back where negative
---@return integer? none if there is no row in that direction
local function reached(rows, row, steps)
  local ahead = vim.tbl_filter(function(it)
    if steps > 0 then return it > row end
    return it < row
  end, rows)
  if steps > 0 then return ahead[math.min(steps, #ahead)] end
  return ahead[math.max(#ahead + steps + 1, 1)]
end

---@param rows integer[] to choose from
---@param steps integer
local function go(rows, steps)
  local found = reached(rows, vim.api.nvim_win_get_cursor(0)[1] - 1, steps)
  if not found then return end
  vim.api.nvim_win_set_cursor(0, { found + 1, 0 })
  vim.cmd('normal! zvzt')
end

--- Maps the keys in a buffer that shows a diff.
---@param buf integer
---@param doc fun(): agentchat.Doc? as it is drawn now
function M.map(buf, doc)
  for _, key in ipairs(KEYS) do
    for i, direction in ipairs({ -1, 1 }) do
      local opts = { buffer = buf, nowait = true, desc = 'Go to the other ' .. key[4] }
      local function move()
        local drawn = doc()
        if drawn then go(paper.rows(drawn, key[3]), direction * vim.v.count1) end
      end
      vim.keymap.set('n', key[i], move, opts)
    end
  end
end

return M
