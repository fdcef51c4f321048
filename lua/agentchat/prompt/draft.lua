--- What was typed in the prompt of a chat and not sent, kept on disk while the chat is closed.
local M = {}

local FOLDER_MODE, FILE_MODE = tonumber('700', 8), tonumber('600', 8)

local NEW = 'new-'

local function folder() return vim.fs.joinpath(vim.fn.stdpath('state'), 'agentchat', 'drafts') end

---@param id string of `id_of`
local function path(id) return vim.fs.joinpath(folder(), id) end

--- Under which name the draft of a chat is kept: its uuid, or that of its workspace before its first
--- turn, because such a chat cannot be resumed. The next new chat there gets it.
---@return string
function M.id_of(chat)
  if chat.status.turn > 0 or chat.resumed then return chat.id end
  return NEW .. vim.fn.sha256(chat.remote or chat.cwd):sub(1, 32)
end

--- Keeps a text for the next time a chat is opened; an empty one removes what was kept.
---@param id string of `id_of`
---@param text string
---@return boolean whether there is nothing to keep, or it is kept
function M.save(id, text)
  if not text:find('%S') then
    if vim.startswith(id, NEW) then return true end -- it is another chat's
    vim.uv.fs_unlink(path(id))
    return true
  end
  vim.fn.mkdir(folder(), 'p', FOLDER_MODE)
  local file = vim.uv.fs_open(path(id), 'w', FILE_MODE)
  if not file then return false end
  local written = vim.uv.fs_write(file, text) == #text
  vim.uv.fs_close(file)
  return written
end

--- The text that was kept for a chat. It is not kept any longer.
---@param id string of `id_of`
---@return string? text nil if there is none
function M.take(id)
  local file = io.open(path(id), 'rb')
  if not file then return nil end
  local text = file:read('*a')
  file:close()
  vim.uv.fs_unlink(path(id))
  return text
end

return M
