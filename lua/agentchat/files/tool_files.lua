--- Files with tools of the user's own: Python is told when one is saved, and the user is asked
--- whether a project's are trusted.
local bridge = require('agentchat.host.rpc')
local notice = require('agentchat.notify')

local M = {}

local PROJECT_FOLDER = '.agentchat/tools'

---@type string[] files and folders, as Python names them
local watched = {}

local function real(path) return vim.uv.fs_realpath(path) or vim.fs.normalize(path) end

--- Whether a file is one of those that are watched, or in a folder that is.
---@param file string
---@return boolean
local function is_watched(file)
  local path = real(file)
  return vim.iter(watched):any(function(place)
    local there = real(place)
    return path == there or vim.startswith(path, there .. '/')
  end)
end

--- Says which files and folders hold tools; Python calls it whenever a chat is opened.
---@param places string[]
function M.watch(places)
  watched = places
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = vim.api.nvim_create_augroup('agentchat.toolfiles', {}),
    pattern = '*.py',
    desc = 'Load the tools of a file that was saved',
    callback = function(event)
      local host = require('agentchat.host.process')
      if host.is_ready() and is_watched(event.match) then host.send('reload', { anew = false }) end
    end,
  })
end

--- Reads all files with tools again.
function M.reload() bridge.send('reload', { anew = true }) end

--- Asks the user, with Neovim's own question, whether the tools of a project are trusted.
---@param root string the project
function M.trust(root)
  local folder = vim.fs.joinpath(root, PROJECT_FOLDER)
  if vim.fn.isdirectory(folder) == 0 then
    return notice.warn(('there are no tools in %s'):format(folder))
  end
  if vim.secure.read(folder) then return M.reload() end
  notice.warn(('the tools in %s are not trusted, and not loaded'):format(folder))
end

return M
