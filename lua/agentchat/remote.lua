--- A workspace on another machine, as `ssh://[user@]host[:port]/path`.
local M = {}

M.FORM = 'ssh://[user@]host[:port]/path'

---@class agentchat.Remote
---@field host string with user and port, as it was written
---@field path string

--- Takes a URL apart; nil if it names no workspace.
---@return agentchat.Remote?
function M.parse(url)
  if type(url) ~= 'string' then return nil end
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
  return it.host .. ':' .. (path ~= '' and path or '~'), it.host .. ':' .. (base or '')
end

--- The name under which Neovim itself opens a file of the workspace.
function M.file(url, path)
  local it = assert(M.parse(url))
  return ('scp://%s/%s'):format(it.host, path)
end

return M
