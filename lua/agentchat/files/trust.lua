--- The project's files of rules and tools, and Neovim's list of what is trusted.
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')

local M = {}

local RULES = '.agentchat/rules.json'
local FOLDERS = { '.agentchat/tools', '.agentchat/skills', '.agents/skills', '.claude/skills' }

--- Asks the user, with Neovim's own question, whether a project's rules are trusted.
function M.rules(root)
  local file = vim.fs.joinpath(root, RULES)
  if not vim.uv.fs_stat(file) then return notify.warn(('no rules in %s'):format(file)) end
  if vim.secure.read(file) then
    return notify.info(('%s is trusted with its current content'):format(file))
  end
  notify.warn(('%s is not trusted: its "allow" rules are ignored'):format(file))
end

local function loaded_buffer(file)
  return vim.iter(vim.api.nvim_list_bufs()):find(
    function(buf) return vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == file end
  )
end

local function trust_buffer(buf, sha256)
  local ends = vim.bo[buf].fileformat == 'unix' and '\n' or '\r\n'
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), ends)
  if vim.bo[buf].endofline then text = text .. ends end
  return vim.fn.sha256(text) == sha256 and (vim.secure.trust({ action = 'allow', bufnr = buf }))
end

---@return integer buf that holds exactly this text under the name of the file
local function buffer_of(file, text)
  local buf = vim.api.nvim_create_buf(false, true)
  local ended = vim.endswith(text, '\n')
  local lines = vim.split(ended and text:sub(1, -2) or text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].fileformat, vim.bo[buf].endofline = 'unix', ended
  vim.api.nvim_buf_set_name(buf, file)
  return buf
end

--- Trusts a file that the user has just agreed to. Only a buffer can be trusted, not a name.
---@param sha256 string of what the user agreed to
---@return boolean whether the file is trusted now
function M.agreed(file, sha256)
  local buf = loaded_buffer(file)
  if buf then
    -- Neovim would ask about a buffer with unsaved changes; that one is left alone.
    if vim.bo[buf].modified then return false end
    vim.bo[buf].autoread = true
    vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
    return trust_buffer(buf, sha256)
  end
  local source = io.open(file, 'rb')
  if not source then return false end
  buf = buffer_of(file, source:read('*a'))
  source:close()
  local ok, trusted = pcall(trust_buffer, buf, sha256)
  vim.api.nvim_buf_delete(buf, { force = true })
  return ok and trusted
end

---@type string[] files and folders, as Python names them
local watched = {}

local function real_path(path) return vim.uv.fs_realpath(path) or vim.fs.normalize(path) end

local function is_watched(file)
  local path = real_path(file)
  return vim.iter(watched):any(function(place)
    local there = real_path(place)
    return path == there or vim.startswith(path, there .. '/')
  end)
end

--- Sets the files and folders that hold tools, which are loaded again when one is saved.
function M.watch_tools(places)
  watched = places
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = vim.api.nvim_create_augroup('agentchat.toolfiles', {}),
    pattern = '*.py',
    desc = 'Load the tools of a file that was saved',
    callback = function(event)
      if host.is_ready() and is_watched(event.match) then host.send('reload', { anew = false }) end
    end,
  })
end

function M.reload_tools() host.send('reload', { anew = true }) end

local function folders(root)
  local found = vim.tbl_map(function(name) return vim.fs.joinpath(root, name) end, FOLDERS)
  return vim.tbl_filter(function(folder) return vim.fn.isdirectory(folder) == 1 end, found)
end

--- Asks the user, with Neovim's own question, whether tools and skills of a project are trusted.
function M.tools(root)
  local found = folders(root)
  if #found == 0 then return notify.warn(('no tools or skills in %s'):format(root)) end
  for _, folder in ipairs(found) do
    if not vim.secure.read(folder) then
      notify.warn(('%s is not trusted: what is in it was not loaded'):format(folder))
    end
  end
  M.reload_tools()
end

return M
