-- A doc in an ordinary window: a split or a tab of its own. What `float` does, without the float.

local paper = require('agentchat.ui.render')

local M = {}

---@class (exact) agentchat.SheetSpec
---@field form 'split'|'tab'
---@field filetype string
---@field chat? string uuid of the chat it belongs to
---@field title fun(width: integer): string of the window
---@field resized? fun() the window has another size
---@field closed fun() called once, however the window went

---@class (exact) agentchat.Sheet
---@field buf integer
---@field win integer
---@field spec agentchat.SheetSpec

---@param sheet? agentchat.Sheet
---@return boolean
local function open_now(sheet) return sheet ~= nil and vim.api.nvim_win_is_valid(sheet.win) end

--- Whether the user sees the sheet: it is open in this tab.
---@param sheet? agentchat.Sheet
---@return boolean
function M.visible(sheet)
  return open_now(sheet)
    and vim.api.nvim_win_get_tabpage(sheet.win) == vim.api.nvim_get_current_tabpage()
end

---@param buf integer
---@param form 'split'|'tab'
---@return integer win
local function open_win(buf, form)
  vim.cmd.sbuffer({
    args = { tostring(buf) },
    mods = form == 'tab' and { tab = vim.api.nvim_get_current_tabpage() } or { split = 'botright' },
  })
  return vim.api.nvim_get_current_win()
end

--- The columns that its text has.
---@param sheet agentchat.Sheet
---@return integer
function M.columns(sheet)
  return vim.api.nvim_win_get_width(sheet.win) - vim.fn.getwininfo(sheet.win)[1].textoff
end

---Calls `resized` once the window has another width.
---@param sheet agentchat.Sheet
---@param resized fun()
local function follow(sheet, resized)
  local width = M.columns(sheet)
  vim.api.nvim_create_autocmd('WinResized', {
    callback = function()
      if not open_now(sheet) then return true end
      local now = M.columns(sheet)
      if now == width then return end
      width = now
      resized()
    end,
  })
end

--- Opens an empty sheet and takes the user there; `draw` gives it its text.
---@param spec agentchat.SheetSpec
---@return agentchat.Sheet
function M.open(spec)
  local buf = paper.create(spec.filetype, spec.chat)
  local sheet = { buf = buf, win = open_win(buf, spec.form), spec = spec }
  paper.dress(sheet.win)
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, once = true, callback = spec.closed })
  if spec.resized then follow(sheet, spec.resized) end
  return sheet
end

--- Whether the user is in the sheet.
---@param sheet? agentchat.Sheet
---@return boolean
function M.focused(sheet) return sheet ~= nil and sheet.win == vim.api.nvim_get_current_win() end

--- Whether the sheet's window is still there, in whatever tab.
---@param sheet? agentchat.Sheet
---@return boolean
function M.open_now(sheet) return open_now(sheet) end

--- Tells the title again.
---@param sheet agentchat.Sheet
function M.refit(sheet)
  if not open_now(sheet) then return end
  local title = sheet.spec.title(vim.api.nvim_win_get_width(sheet.win)):gsub('%%', '%%%%')
  vim.api.nvim_set_option_value('winbar', title, { win = sheet.win, scope = 'local' })
end

--- Shows `doc` in place of what the sheet showed.
---@param sheet agentchat.Sheet
---@param doc agentchat.Doc
function M.draw(sheet, doc)
  paper.draw(sheet.buf, doc)
  paper.fold(sheet.win, doc)
  M.refit(sheet)
end

--- Takes the user back to where they came from; the sheet stays.
---@param sheet agentchat.Sheet
function M.leave(sheet)
  if M.focused(sheet) then vim.cmd.wincmd('p') end
end

--- Takes the user there.
---@param sheet agentchat.Sheet
function M.enter(sheet) vim.api.nvim_set_current_win(sheet.win) end

--- Closes the sheet. The last window of all stays, with an empty buffer.
---@param sheet? agentchat.Sheet
function M.close(sheet)
  if not (sheet and open_now(sheet)) then return end
  if not pcall(vim.api.nvim_win_close, sheet.win, true) then
    vim.wo[sheet.win].winfixbuf = false
    vim.api.nvim_win_call(sheet.win, vim.cmd.enew)
  end
end

return M
