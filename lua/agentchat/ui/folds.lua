--- Folds of tool blocks. They are made by hand: an expression is not evaluated in insert mode, where
--- the user is while the agent works.
local M = {}

local api = vim.api

---@class agentchat.Fold
---@field first integer 1-based line
---@field last integer
---@field closed boolean

local function in_windows(buf, run)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].foldmethod == 'manual' then api.nvim_win_call(win, function() run(win) end) end
  end
end

local function make(fold)
  pcall(vim.cmd, ('%d,%dfold'):format(fold.first, fold.last))
  if not fold.closed then pcall(vim.cmd, ('%dfoldopen'):format(fold.first)) end
end

--- Makes folds in all windows of a buffer, the outer ones first.
function M.make(buf, folds)
  if #folds == 0 then return end
  in_windows(buf, function() vim.iter(folds):each(make) end)
end

--- Makes the folds of one window again, for a buffer it did not show before.
function M.restore(win, folds)
  if #folds == 0 then return end
  api.nvim_win_call(win, function()
    if vim.wo.foldmethod ~= 'manual' then return end
    vim.cmd('silent! normal! zE')
    vim.iter(folds):each(make)
  end)
end

function M.text()
  local first, last = vim.v.foldstart, vim.v.foldend
  local count = last - first + 1
  local line = vim.fn.getline(first)
  if vim.v.foldlevel > 1 or vim.startswith(line, '    ') then
    local what = count == 1 and 'line' or 'lines'
    return { { ('    … %d more %s'):format(count, what), 'AgentChatReasoning' } }
  end
  local hidden = (' (%d %s)'):format(count - 1, count == 2 and 'line' or 'lines')
  return { { line, 'AgentChatBlock' }, { hidden, 'AgentChatReasoning' } }
end

return M
