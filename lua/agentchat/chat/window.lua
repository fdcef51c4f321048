--- Windows that show a chat: set up, and kept at the end while the agent writes.
local settings = require('agentchat.config.settings')

local M = {}

local api = vim.api

local OPTIONS = {
  wrap = true,
  smoothscroll = true, -- a paragraph may be longer than the window
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  list = false,
  spell = false,
  colorcolumn = '',
  cursorline = false,
  cursorcolumn = false,
  statuscolumn = '',
  scrollbind = false,
  cursorbind = false,
  virtualedit = '',
  concealcursor = 'nc',
  foldenable = true,
  foldmethod = 'manual',
  foldlevel = 99,
  foldtext = "v:lua.require'agentchat.ui.folds'.text()",
  fillchars = 'fold: ',
  winbar = "%{%v:lua.require'agentchat.chat.winbar'.render()%}",
}

--- Sets the options of a window, for the chat only: another buffer shown in it has its own.
function M.set_options(win)
  local conceals = settings.get(api.nvim_win_get_buf(win)).ui.conceal
  for name, value in pairs(OPTIONS) do
    api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
  vim.wo[win][0].conceallevel = conceals and 2 or 0
end

--- The window of this tab that shows a buffer.
---@return integer?
function M.find(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf then return win end
  end
end

--- Windows whose cursor is on the last line: the only ones that scroll.
---@return integer[]
function M.at_end(buf)
  local last = api.nvim_buf_line_count(buf)
  return vim.tbl_filter(
    function(win) return api.nvim_win_get_cursor(win)[1] == last end,
    vim.fn.win_findbuf(buf)
  )
end

local FOLDED = { all = 1, fill = 0 } -- rows of a closed fold

--- The view of the current window in which the last line is at the bottom; of the line at the top, its
--- first rows may be hidden.
local function bottom_view(win)
  local info, line = vim.fn.getwininfo(win)[1], vim.fn.line('$')
  local room, view = info.height, { topline = line, topfill = 0, skipcol = 0 }
  while line >= 1 and room > 0 do
    local first, row = vim.fn.foldclosed(line), line - 1
    local rows = first > 0 and FOLDED
      or api.nvim_win_text_height(win, { start_row = row, end_row = row })
    view.topline = first > 0 and first or line
    room = room - rows.all
    view.topfill = math.max(0, rows.fill + math.min(room, 0))
    view.skipcol = math.max(0, -room - rows.fill) * (info.width - info.textoff)
    line = view.topline - 1
  end
  return view
end

--- Scrolls windows to the end.
---@param wins integer[]
function M.follow(buf, wins)
  for _, win in ipairs(wins) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
      api.nvim_win_call(win, function() vim.fn.winrestview(bottom_view(win)) end)
    end
  end
end

--- Writes lines above all others: what is in view stays where it is, and a window with room for more
--- than there was shows some of them.
---@param write fun()
function M.write_above(buf, write)
  local last, views = api.nvim_buf_line_count(buf), {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = api.nvim_win_call(win, vim.fn.winsaveview)
    views[win].has_room = vim.fn.line('w0', win) == 1 and vim.fn.line('w$', win) == last
  end
  write()
  local added = api.nvim_buf_line_count(buf) - last
  for win, view in pairs(views) do
    local moved = { topline = view.topline + added, skipcol = view.skipcol }
    api.nvim_win_call(
      win,
      function() vim.fn.winrestview(view.has_room and bottom_view(win) or moved) end
    )
  end
end

return M
