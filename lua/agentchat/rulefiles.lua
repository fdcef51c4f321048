--- The project's file of rules and Neovim's list of what is trusted.
local notice = require('agentchat.notice')

local M = {}

local PROJECT_FILE = '.agentchat/rules.json'

--- Asks the user, with Neovim's own question, whether a project's rules are trusted.
---@param root string the project
function M.trust(root)
  local file = vim.fs.joinpath(root, PROJECT_FILE)
  if not vim.uv.fs_stat(file) then return notice.warn(('there are no rules in %s'):format(file)) end
  if vim.secure.read(file) then return notice.info(('%s is trusted as it is now'):format(file)) end
  notice.warn(('%s is not trusted: its rules that allow do not count'):format(file))
end

---@param text string
---@param file string
---@return integer buf one that holds exactly this text under the name of the file
---@return boolean ours whether it was made for this
local function buffer_of(text, file)
  local buf = vim.fn.bufnr(vim.fn.fnameescape(file))
  if buf ~= -1 and vim.api.nvim_buf_is_loaded(buf) then
    vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
    return buf, false
  end
  buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].swapfile = false
  local ended = vim.endswith(text, '\n')
  local lines = vim.split(ended and text:sub(1, -2) or text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].fileformat, vim.bo[buf].endofline = 'unix', ended
  vim.api.nvim_buf_set_name(buf, file)
  return buf, true
end

--- Trusts a file that the user has just agreed to. Only a buffer can be trusted, not a name.
---@param file string
---@param sha256 string of what the user agreed to
---@return boolean whether the file is trusted now
function M.agreed(file, sha256)
  local source = io.open(file, 'rb')
  local text = source and source:read('*a')
  if source then source:close() end
  if not text or vim.fn.sha256(text) ~= sha256 then return false end
  local buf, ours = buffer_of(text, file)
  local ok, trusted = pcall(vim.secure.trust, { action = 'allow', bufnr = buf })
  if ours then vim.api.nvim_buf_delete(buf, { force = true }) end
  return ok and trusted
end

return M
