-- What the user sees of a buffer stays where it is while the text around it changes.

local M = {}

local ns = vim.api.nvim_create_namespace('agentchat.views')

---@class (exact) agentchat.KeptView
---@field win integer
---@field view vim.fn.winsaveview.ret
---@field cursor integer extmark where the cursor is
---@field top integer extmark on the first line shown

---@param buf integer
---@param row integer
---@param col integer
---@return integer extmark
local function mark(buf, row, col)
  return vim.api.nvim_buf_set_extmark(buf, ns, row, col, { strict = false, undo_restore = false })
end

---@param buf integer
---@return agentchat.KeptView[]
local function save(buf)
  return vim.tbl_map(function(win)
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    return {
      win = win,
      view = view,
      cursor = mark(buf, view.lnum - 1, view.col),
      top = mark(buf, view.topline - 1, 0),
    }
  end, vim.fn.win_findbuf(buf))
end

---@param buf integer
---@param kept agentchat.KeptView
local function restore(buf, kept)
  local cursor = vim.api.nvim_buf_get_extmark_by_id(buf, ns, kept.cursor, {})
  local top = vim.api.nvim_buf_get_extmark_by_id(buf, ns, kept.top, {})
  kept.view.lnum, kept.view.col, kept.view.topline = cursor[1] + 1, cursor[2], top[1] + 1
  vim.api.nvim_win_call(kept.win, function() vim.fn.winrestview(kept.view) end)
end

--- Calls `change`, which changes the text of a buffer; cursors and scroll positions of all its
--- windows stay at their text. An error of `change` is raised again after that.
---@param buf integer
---@param change fun()
function M.keep(buf, change)
  local all = save(buf)
  local ok, problem = pcall(change)
  for _, kept in ipairs(all) do
    restore(buf, kept)
  end
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  if not ok then error(problem, 0) end
end

return M
