--- Files of `:mksession`: which chat each `agentchat://N` in them was. Neovim can keep only the name of
--- the buffer there, so the chats are noted in the state folder, and resumed when the file is read.
local actions = require('agentchat.chat.actions')
local buffer = require('agentchat.chat.buffer')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')
local remote = require('agentchat.remote')

local M = {}

local api = vim.api
local FOLDER_MODE = tonumber('700', 8)

local function folder()
  return vim.fs.joinpath(vim.fn.stdpath('state'), 'agentchat', 'session_files')
end

---@return string path of what is noted about the session file that was written or read last
local function note_path()
  return vim.fs.joinpath(folder(), vim.fn.sha256(vim.v.this_session) .. '.json')
end

local function is_on_disk(chat) return chat.resumed or chat.status.turn > 0 end

--- Notes the chats of a session file that was written just now.
function M.save()
  local saved = {}
  for _, chat in ipairs(vim.tbl_filter(is_on_disk, registry.all())) do
    saved[tostring(chat.number)] =
      { chat = chat.id, cwd = chat.remote or chat.cwd, title = chat.title }
  end
  vim.fn.mkdir(folder(), 'p', FOLDER_MODE)
  local text = vim.json.encode(next(saved) and saved or vim.empty_dict())
  if pcall(vim.fn.writefile, { text }, note_path()) then return end
  notify.warn('the chats of the session could not be noted: :AgentHistory lists them')
end

---@return table<string, agentchat.Saved> by the number of the chat
local function read()
  local ok, lines = pcall(vim.fn.readfile, note_path())
  local decoded, saved = pcall(vim.json.decode, ok and table.concat(lines) or '{}')
  return decoded and type(saved) == 'table' and saved or {}
end

local function is_saved(saved)
  return type(saved) == 'table' and type(saved.chat) == 'string' and type(saved.cwd) == 'string'
end

---@param buf integer which a session file has opened under the name of a chat
---@param saved? agentchat.Saved
local function restore(buf, number, saved)
  saved = is_saved(saved) and saved or nil
  local open = saved and registry.get(saved.chat)
  if open then
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      api.nvim_win_set_buf(win, open.buf)
    end
    return
  end
  local url = saved and remote.parse(saved.cwd) and saved.cwd or nil
  local chat = actions.adopt(saved, url, number)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      buffer.set_up_window(chat)
      vim.t.agentchat_chat = chat.id
    end)
  end
end

--- Makes the windows that a session file has opened show their chats again.
function M.load()
  local saved
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local number = api.nvim_buf_get_name(buf):match('^agentchat://(%d+)$')
    if number and not registry.of(buf) then
      saved = saved or read()
      restore(buf, assert(tonumber(number)), saved[number])
    end
  end
end

return M
