-- Files that are named in a chat: `gf` opens them beside it, never in its place.

local notify = require('agentchat.notify')
local remote = require('agentchat.remote')

local M = {}

local api = vim.api

-- How a block names the file with all of a result; that path may hold blanks.
local STORED = { 'full output: (.-) %.%.%.%]', 'full output: (/.+)$' }

local function result_path(line)
  for _, pattern in ipairs(STORED) do
    local path = line:match(pattern)
    if path then return path end
  end
end

--- Where the link under the cursor leads.
local function link_target()
  local at = { vim.fn.line('.') - 1, vim.fn.col('.') - 1 }
  local found = api.nvim_buf_get_extmarks(0, -1, at, at, { details = true, overlap = true })
  local mark = vim.iter(found):find(function(mark) return mark[4].url ~= nil end)
  return mark and mark[4].url
end

---@return string? path, integer? row of a link to a file, like `src/shop.py#L12` or `shop.py:12`
local function linked_file()
  local target = link_target()
  local path, row = (target or ''):match('^(.-)[#:]L?(%d+)[-L%d]*$')
  return path or target, tonumber(row)
end

---@return string? path of a file that is there
local function existing_file(path, folder)
  local full = vim.startswith(path, '/') and path or vim.fs.joinpath(folder, path)
  local stat = vim.uv.fs_stat(full)
  return stat and stat.type == 'file' and full or nil
end

--- The number that follows the name under the cursor, as in `shop.py:12`.
---@return integer?
local function row_after(line, name)
  local column, last = vim.fn.col('.'), 0
  while last and last < column do
    last = select(2, line:find(name, last + 1, true))
  end
  return last and tonumber(line:match('^[:%-](%d+)', last + 1))
end

---@return string? path, integer? row, string named
local function file_under_cursor(chat)
  local line = api.nvim_get_current_line()
  local linked, row = linked_file()
  local named = result_path(line) or linked or vim.fn.expand('<cfile>')
  -- What a chat on another machine names is there, but for results that are kept here.
  local here = not chat.remote or result_path(line)
  local path = named ~= '' and here and existing_file(named, chat.cwd) or nil
  return path, linked and row or path and row_after(line, named), named
end

--- A window of this tab for a file: the last one the user was in, else any other.
function M.other_window()
  local all = api.nvim_tabpage_list_wins(0)
  table.insert(all, 1, vim.fn.win_getid(vim.fn.winnr('#')))
  return vim.iter(all):find(function(win)
    local buf = win > 0 and api.nvim_win_get_buf(win)
    return buf
      and api.nvim_win_get_config(win).relative == ''
      and vim.bo[buf].buftype == ''
      and not vim.wo[win].winfixbuf
  end)
end

--- Opens a file in another window, at a line.
---@param row? integer from 1
function M.edit(path, row)
  local win = M.other_window()
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd.new({ mods = { vertical = true, split = 'topleft' } })
  end
  local ok, problem = pcall(vim.cmd.edit, vim.fn.fnameescape(vim.fn.fnamemodify(path, ':.')))
  if not ok then return notify.warn(vim.split(tostring(problem), '\n')[1]) end
  if not row then return end
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { math.min(row, api.nvim_buf_line_count(0)), 0 })
end

function M.open(chat)
  local target = link_target()
  if target and target:find('^%a+://') then return vim.ui.open(target) end
  local path, row, named = file_under_cursor(chat)
  if named == '' then return notify.warn('no file under the cursor') end
  if not path and chat.remote then
    return notify.warn(
      ('"%s" is on %s and cannot be opened here'):format(named, (remote.display_names(chat.remote)))
    )
  end
  if not path then
    return notify.warn(('no file "%s" in %s'):format(named, vim.fn.fnamemodify(chat.cwd, ':~')))
  end
  M.edit(path, row)
end

return M
