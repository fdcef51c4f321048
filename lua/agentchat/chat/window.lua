--- Windows that show a chat: set up, and kept at the end while the agent writes.
local settings = require('agentchat.config.settings')

local M = {}

local api = vim.api

local OPTIONS = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  list = false,
  spell = false,
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
function M.at_end(buf)
  local last, out = api.nvim_buf_line_count(buf), {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if api.nvim_win_get_cursor(win)[1] == last then
      local info = vim.fn.getwininfo(win)[1]
      table.insert(out, { win = win, top = info.topline, last = last })
    end
  end
  return out
end

--- The first line to show so that the last one is at the bottom.
---@param top integer no line before this one is looked at
local function bottom_top(win, top)
  local room, line = vim.fn.getwininfo(win)[1].height, vim.fn.line('$')
  while line >= top do
    local folded = vim.fn.foldclosed(line)
    if folded > 0 then line = folded end
    local range = { start_row = line - 1, end_row = line - 1 }
    room = room - (folded > 0 and 1 or api.nvim_win_text_height(win, range).all)
    if room < 0 then return line + 1 end
    line = line - 1
  end
  return top
end

--- Scrolls the windows that were at the end, no further than they need.
---@param header integer row of the prompt's header before the write
function M.follow(buf, views, header)
  local last = api.nvim_buf_line_count(buf)
  for _, view in ipairs(views) do
    if api.nvim_win_is_valid(view.win) and api.nvim_win_get_buf(view.win) == buf then
      local top = view.top > header + 1 and view.top + last - view.last or view.top
      api.nvim_win_call(
        view.win,
        function()
          vim.fn.winrestview({ topline = math.min(bottom_top(view.win, top), last), skipcol = 0 })
        end
      )
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
  end
  write()
  local added = api.nvim_buf_line_count(buf) - last
  for win, view in pairs(views) do
    local shows_all = view.topline == 1 and view.lnum == last
    api.nvim_win_call(win, function()
      local top = shows_all and bottom_top(win, 1) or view.topline + added
      vim.fn.winrestview({ topline = top, skipcol = shows_all and 0 or view.skipcol })
    end)
  end
end

return M
