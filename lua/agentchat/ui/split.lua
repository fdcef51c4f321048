-- A doc in an ordinary window: a split or a tab of its own. What `float` does, without the float.

local float = require('agentchat.ui.float')
local render = require('agentchat.ui.render')

local M = {}

---@class (exact) agentchat.SplitSpec
---@field form 'split'|'tab'
---@field filetype string
---@field name string what the user reads in the status line
---@field chat? string uuid of the chat it belongs to
---@field title fun(width: integer): string of the window
---@field resized? fun() the window has another size
---@field closed fun() called once, however the window went

---@class (exact) agentchat.Split
---@field buf integer
---@field win integer
---@field spec agentchat.SplitSpec

M.is_open, M.is_visible, M.is_focused = float.is_open, float.is_visible, float.is_focused

local function open_win(buf, form)
  vim.cmd.sbuffer({
    args = { tostring(buf) },
    mods = form == 'tab' and { tab = vim.api.nvim_get_current_tabpage() } or { split = 'botright' },
  })
  return vim.api.nvim_get_current_win()
end

function M.columns(split)
  return vim.api.nvim_win_get_width(split.win) - vim.fn.getwininfo(split.win)[1].textoff
end

local function follow(split, resized)
  local width = M.columns(split)
  vim.api.nvim_create_autocmd('WinResized', {
    callback = function()
      if not M.is_open(split) then return true end
      local now = M.columns(split)
      if now == width then return end
      width = now
      resized()
    end,
  })
end

--- Opens an empty split and takes the user there; `draw` gives it its text.
function M.open(spec)
  local buf = render.create(spec.filetype, spec.chat)
  vim.api.nvim_buf_set_name(buf, ('agentchat://%s/%d'):format(spec.name, buf))
  local split = { buf = buf, win = open_win(buf, spec.form), spec = spec }
  render.set_options(split.win)
  vim.wo[split.win][0].winhighlight = 'FoldColumn:Normal'
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, once = true, callback = spec.closed })
  if spec.resized then follow(split, spec.resized) end
  return split
end

function M.refit(split)
  if not M.is_open(split) then return end
  local title = split.spec.title(vim.api.nvim_win_get_width(split.win)):gsub('%%', '%%%%')
  vim.api.nvim_set_option_value('winbar', title, { win = split.win, scope = 'local' })
end

function M.draw(split, doc)
  render.draw(split.buf, doc, split.win)
  M.refit(split)
end

--- Takes the user back to where they came from; the split stays.
function M.leave(split)
  if M.is_focused(split) then vim.cmd.wincmd('p') end
end

function M.enter(split) vim.api.nvim_set_current_win(split.win) end

--- Closes the split. The last window of all stays, with an empty buffer.
function M.close(split)
  if not (split and M.is_open(split)) then return end
  if not pcall(vim.api.nvim_win_close, split.win, true) then
    vim.wo[split.win].winfixbuf = false
    vim.api.nvim_win_call(split.win, vim.cmd.enew)
  end
end

return M
