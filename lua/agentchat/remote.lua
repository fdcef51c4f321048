--- Workspaces elsewhere: `ssh://[user@]host[:port]/path`, behind a command of the user's, or the
--- operations in a file of the user's.
local M = {}

local COMMAND, OPERATIONS = 'command:', 'operations:'

M.FORM = 'ssh://[user@]host[:port]/path'

---@class agentchat.Remote
---@field host string with user and port, as it was written; the command
---@field path string
---@field short? string the host in few cells
---@field is_command? boolean

---@class agentchat.OperationsWorkspace the setting
---@field kind 'operations'
---@field file string the absolute path of a Python file, or one that begins with `~`
---@field cwd? string the directory there

---@class agentchat.CommandWorkspace the setting
---@field kind 'command'
---@field run string[] what runs the words after it in that place, like `{ 'docker', 'exec', '-i', 'box' }`
---@field cwd? string the directory there

--- Takes the name of a workspace behind a command apart: a list in JSON, then the path.
---@return agentchat.Remote?
local function parse_command(place)
  local list, path = place:match('^command:(%b[])(.*)$')
  local ok, run = pcall(vim.json.decode, list or '')
  if not ok or not run[1] then return nil end
  -- Not an option, nor the `--` that may end them.
  local named = vim.iter(run):rfind(function(word) return not vim.startswith(word, '-') end)
  local short = named or run[#run]
  return { host = table.concat(run, ' '), path = path, short = short, is_command = true }
end

---@param value any a setting
---@return string? place the name of the workspace; nil if it names none
local function command_place(value)
  local run, cwd = value.run, value.cwd or ''
  if value.kind ~= 'command' or not vim.islist(run) or not run[1] or type(cwd) ~= 'string' then
    return nil
  end
  if cwd ~= '' and not cwd:find('^[/~]') then return nil end
  -- A bracket in a word would end the list for `%b[]`.
  local fits = function(word)
    return type(word) == 'string' and word ~= '' and not word:find('[%[%]]')
  end
  return vim.iter(run):all(fits) and COMMAND .. vim.json.encode(run) .. cwd or nil
end

--- Takes the name of a workspace of operations apart: a list of one file in JSON, then the path.
---@return agentchat.Remote?
local function parse_operations(place)
  local parsed = parse_command(COMMAND .. place:sub(#OPERATIONS + 1))
  if parsed then parsed.short = vim.fs.basename(parsed.host) end
  return parsed
end

---@param value any a setting
---@return string? place the name of the workspace; nil if it names none
local function operations_place(value)
  local file, cwd = value.file, value.cwd or ''
  if type(file) ~= 'string' or type(cwd) ~= 'string' or file:find('[%[%]]') then return nil end
  file = vim.fs.normalize(file)
  if not vim.startswith(file, '/') or (cwd ~= '' and not vim.startswith(cwd, '/')) then
    return nil
  end
  return OPERATIONS .. vim.json.encode({ file }) .. cwd
end

--- The name of the workspace that a setting means, as it is kept in journals; nil if it means none.
---@param value string|agentchat.CommandWorkspace|agentchat.OperationsWorkspace|nil
---@return string?
function M.place(value)
  if type(value) == 'table' then
    local read = value.kind == 'operations' and operations_place or command_place
    return read(value)
  end
  return M.parse(value) and value or nil
end

--- Takes the name of a workspace apart; nil if it names none.
---@return agentchat.Remote?
function M.parse(url)
  if type(url) ~= 'string' then return nil end
  if vim.startswith(url, COMMAND) then return parse_command(url) end
  if vim.startswith(url, OPERATIONS) then return parse_operations(url) end
  local authority, path = url:match('^ssh://([^/%s]+)(/?%S*)$')
  if not authority then return nil end
  local user, rest = authority:match('^([%w_][%w_.+-]*)@(.+)$')
  local host = user and rest or authority
  local name, port = host:match('^(.-):(%d+)$')
  if port and not host:find('%]$') then
    host = name
    if tonumber(port) < 1 or tonumber(port) > 65535 then return nil end
  end
  if not host:find('^[%w_][%w_.+-]*$') and not host:find('^%[[%x:.]+%]$') then return nil end
  return { host = authority, path = path }
end

--- The URL an argument of `:AgentChat` begins with, and the prompt behind it.
---@return string? url, string prompt
function M.split(text)
  local url, prompt = text:match('^%s*(ssh:%S*)%s*(.*)$')
  if not url then return nil, text end
  return url, prompt
end

--- How a workspace is shown: in full, and in few cells.
---@return string long, string short
function M.display_names(url)
  local it = M.parse(url) or { host = url, path = '' }
  local path = it.path:gsub('^/~', '~')
  local base = vim.fs.basename((path:gsub('/+$', '')))
  if it.is_command and path == '' then return it.host, it.short end
  local short = (it.short or it.host) .. ':' .. (base or '')
  return it.host .. ':' .. (path ~= '' and path or '~'), short
end

--- The name under which Neovim itself opens a file of the workspace; just the path if it cannot.
function M.file(url, path)
  local it = assert(M.parse(url))
  if it.is_command then return path end
  return ('scp://%s/%s'):format(it.host, path)
end

return M
