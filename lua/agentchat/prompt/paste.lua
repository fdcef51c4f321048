--- Pasting into the prompt: paths of files that are dropped on it, images of the clipboard.
local notify = require('agentchat.notify')
local programs = require('agentchat.host.programs')
local prompt = require('agentchat.prompt.region')

local M = {}

local api = vim.api
local FOLDER_MODE, FILE_MODE = tonumber('700', 8), tonumber('600', 8)
local SECONDS = 5

--- The byte after the first word of a text: before a blank that no backslash escapes.
local function end_of_word(text)
  for stop in text:gmatch('()%s') do
    if text:sub(stop - 1, stop - 1) ~= '\\' then return stop end
  end
  return #text + 1
end

--- The words of what a terminal sends for dropped files: quoted, escaped, or as URLs.
local function words(text)
  local out, rest = {}, vim.trim(text)
  while rest ~= '' do
    local word, after = rest:match("^'([^']*)'%s*(.*)$")
    if not word then
      word, after = rest:match('^"([^"]*)"%s*(.*)$')
    end
    if not word then
      local stop = end_of_word(rest)
      word, after = rest:sub(1, stop - 1):gsub('\\(.)', '%1'), vim.trim(rest:sub(stop))
    end
    table.insert(out, word)
    rest = after
  end
  return out
end

--- The mention of a file; nil if there is no such file.
local function mention(chat, path)
  if vim.startswith(path, 'file://') then path = vim.uri_to_fname(path) end
  local stat = vim.startswith(path, '/') and vim.uv.fs_stat(path)
  if not stat then return nil end
  path = vim.fs.relpath(chat.cwd, path) or path
  if path:find('[%s{}.,;:!?)%]]$') or path:find('[%s]') then path = '{' .. path .. '}' end
  return ('#%s:%s'):format(stat.type == 'directory' and 'dir' or 'file', path)
end

--- The mentions that a pasted text stands for, if it is nothing but paths of files there are.
---@return string?
function M.mentions(chat, text)
  if chat.remote or not text:find('^%s*[\'"/f]') then return nil end
  local found = {}
  for _, word in ipairs(words(text)) do
    local name = mention(chat, word)
    if not name then return nil end
    table.insert(found, name)
  end
  return #found > 0 and table.concat(found, ' ') .. ' ' or nil
end

---@param current fun(): agentchat.Chat? the chat of this window
local function chat_at_cursor(current)
  local chat = current()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  return chat and chat.buf == api.nvim_get_current_buf() and prompt.holds(chat, row) and chat or nil
end

local is_set_up = false

--- Lets a path that is pasted or dropped on a prompt become a mention.
---@param current fun(): agentchat.Chat? the chat of this window
function M.setup(current)
  if is_set_up then return end
  is_set_up = true
  local paste = vim.paste
  vim.paste = function(lines, phase) ---@diagnostic disable-line: duplicate-set-field
    local chat = #lines == 1 and phase <= 1 and chat_at_cursor(current)
    local found = chat and M.mentions(chat, lines[1])
    return paste(found and { found } or lines, phase)
  end
end

---@class agentchat.ClipboardProgram
---@field argv string[]
---@field package string what to install if it is missing

--- The program that writes the clipboard's image to its output here.
---@return agentchat.ClipboardProgram
local function program()
  if vim.fn.has('mac') == 1 then return { argv = { 'pngpaste', '-' }, package = 'pngpaste' } end
  if vim.env.WAYLAND_DISPLAY then
    return { argv = { 'wl-paste', '--type', 'image/png' }, package = 'wl-clipboard' }
  end
  local argv = { 'xclip', '-selection', 'clipboard', '-target', 'image/png', '-out' }
  return { argv = argv, package = 'xclip' }
end

--- Keeps an image for the model in the state folder.
---@return string? path
local function keep(data)
  local folder = vim.fs.joinpath(vim.fn.stdpath('state'), 'agentchat', 'images')
  vim.fn.mkdir(folder, 'p', FOLDER_MODE)
  local path = vim.fs.joinpath(folder, ('%s.png'):format(os.date('%Y%m%d-%H%M%S')))
  local file = vim.uv.fs_open(path, 'w', FILE_MODE)
  if not file then return nil end
  local written = vim.uv.fs_write(file, data) == #data
  vim.uv.fs_close(file)
  return written and path or nil
end

local function attach(chat, result)
  if result.code ~= 0 or result.stdout == '' then
    return notify.warn('the clipboard has no image')
  end
  local path = keep(result.stdout)
  if not path then return notify.error('the image of the clipboard could not be kept') end
  prompt.attach(chat, mention(chat, path))
end

--- Attaches the image in the clipboard to the prompt of a chat.
function M.image(chat)
  local wanted = program()
  local on_exit = vim.schedule_wrap(function(result)
    if api.nvim_buf_is_loaded(chat.buf) then attach(chat, result) end
  end)
  if not programs.run(wanted.argv, { timeout = SECONDS * 1000 }, on_exit) then
    local line = 'to paste an image, install %s, which has the program %s'
    notify.warn(line:format(wanted.package, wanted.argv[1]))
  end
end

return M
