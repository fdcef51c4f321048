--- Where the window of a chat is: in the one the tab has for chats, else where the modifiers of the
--- command or `ui.position` say.
local lazy = require('agentchat.lazy')
local goto_file = lazy('agentchat.chat.goto_file')
local layout = require('agentchat.ui.layout')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')
local window = require('agentchat.chat.window')

local M = {}

local api = vim.api

local NARROW = 60 -- columns of a screen on which two windows side by side are of no use
local NARROW_HEIGHT = 2 / 3 -- of the screen, of a chat below the file
local FLOAT = { width = 0.8, height = 0.8 }
local FLOAT_Z = 40 -- below the floats of the chat

---@type table<string, vim.api.keyset.cmd.mods>
local MODS = {
  right = { vertical = true, split = 'botright' },
  left = { vertical = true, split = 'topleft' },
  bottom = { horizontal = true, split = 'botright' },
  top = { horizontal = true, split = 'topleft' },
}

local SIDES = { right = 'right', left = 'left', bottom = 'below', top = 'above' }

--- Whether the user said with modifiers where a window shall be.
function M.is_explicit(mods)
  mods = mods or {}
  local is_split = mods.split ~= nil and mods.split ~= ''
  return (mods.tab or -1) >= 0 or mods.vertical or mods.horizontal or is_split
end

--- Columns or rows: a number up to 1 is a share of the screen.
---@param size? number
local function cells(size, all)
  if not size then return nil end
  return math.max(1, math.min(all, math.floor(size <= 1 and size * all or size)))
end

--- Keeps the size that the user has set, whatever other windows are opened.
local function resize(win, ui, horizontal)
  local width, height = cells(ui.width, vim.o.columns), cells(ui.height, vim.o.lines)
  if horizontal and height then
    api.nvim_win_set_height(win, height)
    vim.wo[win].winfixheight = true
  elseif horizontal and vim.o.columns < NARROW then
    api.nvim_win_set_height(win, cells(NARROW_HEIGHT, vim.o.lines))
  elseif not horizontal and width then
    api.nvim_win_set_width(win, width)
    vim.wo[win].winfixwidth = true
  end
end

--- The windows of all tabs that show a chat, without floats.
local function chat_windows()
  return vim.tbl_filter(function(win)
    local chat = registry.of(api.nvim_win_get_buf(win))
    local is_split = api.nvim_win_get_config(win).relative == ''
    return is_split and chat ~= nil and chat.buf == api.nvim_win_get_buf(win)
  end, api.nvim_list_wins())
end

---@type { columns: integer, lines: integer } the screen for which the shares are
local screen_size

--- Remembers which part of the screen the windows of chats have.
local function remember_shares()
  local is_same = not screen_size
    or (screen_size.columns == vim.o.columns and screen_size.lines == vim.o.lines)
  if not is_same then return end
  screen_size = { columns = vim.o.columns, lines = vim.o.lines }
  for _, win in ipairs(chat_windows()) do
    local width, height = api.nvim_win_get_width(win), api.nvim_win_get_height(win)
    vim.w[win].agentchat_share = { width / vim.o.columns, height / vim.o.lines }
  end
end

--- Gives the windows their part of a screen of another size: Neovim takes the columns that are
--- missing from the last window alone.
local function restore_shares()
  for _, win in ipairs(chat_windows()) do
    local share, ui = vim.w[win].agentchat_share, settings.get(api.nvim_win_get_buf(win)).ui
    local function size(set, part, all)
      return cells(set, all) or math.max(1, math.floor(part * all + 0.5))
    end
    if share and share[1] < 1 then
      api.nvim_win_set_width(win, size(ui.width, share[1], vim.o.columns))
    end
    if share and share[1] == 1 then
      api.nvim_win_set_height(win, size(ui.height, share[2], vim.o.lines))
    end
  end
  screen_size = nil
  remember_shares()
end

--- Shows a file that came into the window of a chat in another window, and the chat again in its own.
local function give_back(win, chat_buf, file)
  local view = api.nvim_win_call(win, vim.fn.winsaveview)
  api.nvim_win_set_buf(win, chat_buf)
  local other = goto_file.other_window()
  if other and other ~= win then
    api.nvim_win_set_buf(other, file)
    api.nvim_set_current_win(other)
  else
    api.nvim_open_win(file, true, { split = 'left', win = win })
  end
  vim.fn.winrestview(view)
end

--- Whether a buffer is a file of the user's.
local function holds_file(buf) return vim.bo[buf].buftype == '' and api.nvim_buf_get_name(buf) ~= '' end

--- A command like `:edit` has replaced what a window shows: the chat stays in its window.
local function on_shown(event)
  local win, file = api.nvim_get_current_win(), event.buf
  local chat_buf = vim.w[win].agentchat_buf
  if not chat_buf or chat_buf == file or not holds_file(file) then return end
  vim.w[win].agentchat_buf = nil
  vim.schedule(function()
    local there = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == file
    if there and api.nvim_buf_is_loaded(chat_buf) then give_back(win, chat_buf, file) end
  end)
end

local function follow_screen()
  local group = api.nvim_create_augroup('agentchat.placement', {})
  api.nvim_create_autocmd('WinResized', { group = group, callback = remember_shares })
  api.nvim_create_autocmd('BufWinEnter', { group = group, callback = on_shown })
  api.nvim_create_autocmd('VimResized', { group = group, callback = restore_shares })
  remember_shares()
end

local function split(buf, mods, ui)
  mods = vim.tbl_extend('force', {}, mods)
  local is_tab = (mods.tab or -1) >= 0
  if not is_tab and not mods.horizontal then mods.vertical = true end
  if not mods.split or mods.split == '' then mods.split = 'botright' end
  -- A window of another tab that shows the buffer is not the one that is wanted.
  local switchbuf = vim.o.switchbuf
  vim.o.switchbuf = ''
  local ok, problem = pcall(vim.cmd.sbuffer, { args = { tostring(buf) }, mods = mods })
  vim.o.switchbuf = switchbuf
  if not ok then error(problem, 0) end
  if not is_tab then resize(api.nvim_get_current_win(), ui, mods.horizontal) end
  follow_screen()
end

local function float_config(ui)
  local screen = layout.screen()
  local want = {
    width = cells(ui.width or FLOAT.width, vim.o.columns),
    height = cells(ui.height or FLOAT.height, vim.o.lines),
    share = 1,
  }
  return vim.tbl_extend('error', layout.centre(screen, want), {
    relative = 'editor',
    border = (layout.border()),
    zindex = FLOAT_Z,
  })
end

local function float(buf, ui)
  local win = api.nvim_open_win(buf, true, float_config(ui))
  api.nvim_create_autocmd('VimResized', {
    callback = function()
      if not api.nvim_win_is_valid(win) then return true end
      api.nvim_win_set_config(win, float_config(ui))
    end,
  })
end

--- The window of this tab that shows a chat, unless the user has fixed its buffer.
local function chat_window()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local chat = registry.of(api.nvim_win_get_buf(win))
    if chat and chat.buf == api.nvim_win_get_buf(win) and not vim.wo[win].winfixbuf then
      return win
    end
  end
end

local function position_of(ui)
  return ui.position or (vim.o.columns < NARROW and 'bottom' or 'right')
end

local function open(buf, ui)
  local position = position_of(ui)
  if position == 'float' then
    float(buf, ui)
    return follow_screen()
  end
  local tab = position == 'tab' and { tab = api.nvim_get_current_tabpage() } or nil
  split(buf, tab or MODS[position], ui)
end

--- Goes to the window of a chat in this tab. Without one the chat replaces the one that is shown, or
--- gets a window. Modifiers give it a window of its own in any case.
---@param mods? vim.api.keyset.cmd.mods of the command, e.g. `:tab` or `:topleft`
function M.show(buf, mods)
  local ui, old = settings.get(buf).ui, window.find(buf)
  if M.is_explicit(mods) then
    split(buf, mods, ui)
    local is_moved = old and api.nvim_win_get_tabpage(old) == api.nvim_get_current_tabpage()
    return is_moved and api.nvim_win_close(old, false)
  end
  if old then return api.nvim_set_current_win(old) end
  local reused = chat_window()
  if not reused then return open(buf, ui) end
  api.nvim_set_current_win(reused)
  api.nvim_win_set_buf(reused, buf)
end

--- Shows a chat that the user did not ask for, in a window of its own. They stay where they are.
---@return boolean shown not while the command-line window is open
function M.show_beside(buf)
  local ui = settings.get(buf).ui
  local side = SIDES[position_of(ui)] or SIDES.right
  local ok, win = pcall(api.nvim_open_win, buf, false, { split = side, win = -1 })
  if ok then resize(win, ui, side == 'below' or side == 'above') end
  follow_screen()
  return ok
end

--- Closes the current window. The last one of all shows the buffer before the chat, or an empty one.
function M.hide()
  if pcall(api.nvim_win_close, 0, false) then return end
  vim.wo.winfixbuf = false
  vim.w.agentchat_buf = nil
  local before = vim.fn.bufnr('#')
  local is_file = before > 0 and vim.bo[before].buflisted and before ~= api.nvim_get_current_buf()
  if is_file then return vim.cmd.buffer(before) end
  vim.cmd.enew()
end

return M
