-- The screen as it is now, and the border the user likes.

local M = {}

local LINES = { double = '═', bold = '━', solid = ' ' }
local INSTEAD = { [''] = 'rounded', none = 'solid', shadow = 'solid' } -- those carry no title

--- The user's 'winborder', or the nearest one that can carry a title.
---@return string|string[] border, string line the character of its edges
function M.border()
  local set = vim.o.winborder
  local parts = vim.split(set, ',')
  if #parts > 1 then return parts, parts[2] or ' ' end
  local name = INSTEAD[set] or set
  return name, LINES[name] or '─'
end

---@return integer
local function status_rows()
  local wins = #vim.api.nvim_tabpage_list_wins(0)
  local shown = vim.o.laststatus > 1 or (vim.o.laststatus == 1 and wins > 1)
  return shown and 1 or 0
end

---@return integer? row on the screen, from 0; none if the user is in a float
local function cursor_row()
  if vim.api.nvim_win_get_config(0).relative ~= '' then return nil end
  return vim.fn.win_screenpos(0)[1] + vim.fn.winline() - 2
end

--- The screen as it is now, with the row the user works in.
---@return agentchat.Screen
function M.now()
  local tabs = #vim.api.nvim_list_tabpages()
  local top = (vim.o.showtabline == 2 or (vim.o.showtabline == 1 and tabs > 1)) and 1 or 0
  local rows = vim.o.lines - top - vim.o.cmdheight - status_rows()
  return {
    top = top,
    rows = math.max(1, rows),
    columns = vim.o.columns,
    cursor = cursor_row(),
    typing = vim.api.nvim_get_current_line() ~= '',
  }
end

return M
