--- The project's file of rules and Neovim's list of what is trusted.
local notice = require('agentchat.notify')

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

--- The buffer in which the user has the file open, if there is one.
---@param file string
---@return integer?
local function opened(file)
  return vim.iter(vim.api.nvim_list_bufs()):find(
    function(buf) return vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == file end
  )
end

--- Trusts what stands in a buffer, if it is what the user agreed to.
---@param buf integer
---@param sha256 string
---@return boolean
local function trust_buffer(buf, sha256)
  local ends = vim.bo[buf].fileformat == 'unix' and '\n' or '\r\n'
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), ends)
  if vim.bo[buf].endofline then text = text .. ends end
  return vim.fn.sha256(text) == sha256 and (vim.secure.trust({ action = 'allow', bufnr = buf }))
end

---@param file string
---@param text string
---@return integer buf that holds exactly this text under the name of the file
local function stand_in(file, text)
  local buf = vim.api.nvim_create_buf(false, true)
  local ended = vim.endswith(text, '\n')
  local lines = vim.split(ended and text:sub(1, -2) or text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].fileformat, vim.bo[buf].endofline = 'unix', ended
  vim.api.nvim_buf_set_name(buf, file)
  return buf
end

--- Trusts a file that the user has just agreed to. Only a buffer can be trusted, not a name.
---@param file string
---@param sha256 string of what the user agreed to
---@return boolean whether the file is trusted now
function M.agreed(file, sha256)
  local buf = opened(file)
  if buf then
    -- Neovim would ask about a buffer with unsaved changes; that one is left alone.
    if vim.bo[buf].modified then return false end
    vim.bo[buf].autoread = true
    vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
    return trust_buffer(buf, sha256)
  end
  local source = io.open(file, 'rb')
  if not source then return false end
  buf = stand_in(file, source:read('*a'))
  source:close()
  local ok, trusted = pcall(trust_buffer, buf, sha256)
  vim.api.nvim_buf_delete(buf, { force = true })
  return ok and trusted
end

return M
