--- Where a link of an answer leads, compared with the place that its text names.
local M = {}

--- The name of a host in lower case, without user, port and `www.`.
local function plain_host(authority)
  local host = authority:gsub('^.*@', ''):gsub(':%d*$', ''):gsub('%.$', '')
  return (host:lower():gsub('^www%.', ''))
end

--- The host of an address; browsers take a backslash for a slash.
---@return string? host, string? scheme
local function split_url(url)
  local scheme, rest = url:match('^(%a[%w+.-]*):(.*)$')
  if scheme and scheme:lower() == 'file' then return nil, scheme end
  local authority = (rest or url):match('^[/\\][/\\]+([^/\\?#]*)')
  return authority and plain_host(authority), scheme
end

--- The host that a text names, as an address or alone; a reader takes both for the place it leads to.
local function named_host(text)
  text = text:gsub('[*_~`]', '')
  local found = text:match('://([^/\\?#%s]+)')
  local first = vim.trim(text):match('^[^/\\?#%s]+')
  local is_host = first and first:find('^[%w\128-\255@:.-]+%.[%a\128-\255-]+:?%d*$')
  if not found and is_host then found = first end
  return found and plain_host(found)
end

--- Where a link leads, if its text names another host.
---@param text string what is shown
---@param url string its address
---@return string? place a host, or a scheme with a colon
function M.another_place(text, url)
  local named, host, scheme = named_host(text), split_url(url)
  if not named or not (host or scheme) or named == host then return nil end
  if not host and named == url:lower():match('^mailto:.*@(.*)$') then return nil end
  return host and host ~= '' and host or scheme and scheme .. ':' or nil
end

return M
