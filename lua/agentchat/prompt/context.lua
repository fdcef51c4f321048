--- `#buffer`, `#file:PATH` and the like in the prompt: where they are, and what the editor has for
--- them when the prompt is sent.
local host = require('agentchat.host.process')

local M = {}

local api = vim.api

---@class agentchat.Captured one of `path`, `text` and `problem`; `name` is what the model reads
---@field name? string
---@field path? string
---@field text? string
---@field problem? string

---@type agentchat.Name[]
M.KINDS = {
  { name = 'buffer', kind = 'context', about = 'The current file, with unsaved changes' },
  { name = 'diagnostics', kind = 'context', about = 'Diagnostics of language servers and linters' },
  { name = 'diff', kind = 'context', about = 'Changes since the last commit' },
  { name = 'dir:', kind = 'context', about = 'The names of the files in a directory' },
  { name = 'file:', kind = 'context', about = 'A file or image by its path; PATH:10-40 for lines' },
  { name = 'selection', kind = 'context', about = 'The last selection in the current file' },
  { name = 'symbol:', kind = 'context', about = 'The definition of a function, class or the like' },
  { name = 'url:', kind = 'context', about = 'A page of the web; asks for its host' },
}

local SIMPLE = { buffer = true, selection = true, diagnostics = true, diff = true }
local VALUED = { file = true, dir = true, symbol = true, url = true }
local MOST = 100 -- files that completion offers

---@class agentchat.McpServer
---@field state 'stopped'|'starting'|'running'|'failed'
---@field tools integer how many it has
---@field problem string why it failed, or empty

---@class agentchat.OfferedServers
---@field servers table<string, agentchat.McpServer> the MCP servers of a project by name
---@field resources agentchat.Name[] theirs, each named `server:uri`

---@type table<string, agentchat.OfferedServers> by project
local offered = {}

--- Takes the MCP servers of a project, at each change.
---@param servers table<string, agentchat.McpServer>
---@param resources agentchat.Name[]
function M.offer(project, servers, resources)
  offered[project] = { servers = servers, resources = resources }
end

---@param cwd string
---@return agentchat.OfferedServers
function M.offered(cwd)
  return offered[vim.uv.fs_realpath(cwd) or cwd] or { servers = {}, resources = {} }
end

--- Whether `name:uri` at byte `at` names a resource of an MCP server.
local function is_resource(line, at, name)
  if not line:find('^:%a[%w+.-]*:', at + #name) then return false end
  return vim.iter(offered):any(function(_, each) return each.servers[name] ~= nil end)
end

--- Whether the `#` at byte `at` is within a word.
local function follows_word(line, at)
  return at > 1 and line:sub(at - 1, at - 1):find('[%w_#\128-\255]') ~= nil
end

--- The mention that begins after the `#` at byte `at`: the byte it ends on.
local function mention_end(line, at)
  local kind = line:match('^([%w_][%w_.-]*):', at + 1)
  if kind and (VALUED[kind] or is_resource(line, at + 1, kind)) then
    local braced = select(2, line:find('^:{[^{}]+}', at + 1 + #kind))
    if braced then return braced end
    local value = line:match('^:([^%s{}]+)', at + 1 + #kind) or ''
    local plain = value:gsub('[,;:!?%)%]\'"]+$', '')
    if kind == 'dir' and plain:find('^[./]+$') then
      value = plain:gsub('%.%.%.+$', '..')
    else
      value = value:gsub('[.,;:!?%)%]\'"]+$', '')
    end
    return value ~= '' and at + #kind + 1 + #value or nil
  end
  local word = line:match('^%l+', at + 1) or ''
  local number = word == 'buffer' and line:match('^:%d+', at + 1 + #word) or ''
  local after = line:sub(at + 1 + #word + #number):sub(1, 1)
  if SIMPLE[word] and not after:find('[%w_:%-\128-\255]') then return at + #word + #number end
end

---@return agentchat.Mention[]
function M.find(line)
  local out, at = {}, line:find('#', 1, true)
  while at do
    local last = not follows_word(line, at) and mention_end(line, at) or nil
    if last then table.insert(out, { name = line:sub(at, last), first = at - 1, last = last }) end
    at = line:find('#', math.max(at, last or 0) + 1, true)
  end
  return out
end

--- Whether a window shows text of the user's rather than something of a plugin's.
local function shows_file(win)
  local buf = api.nvim_win_get_buf(win)
  return vim.bo[buf].buftype == '' and api.nvim_win_get_config(win).relative == ''
end

--- The buffer the user works in: this window's, else the last one's, else any of this tab.
local function work_buffer()
  local wins = { api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(wins, api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(wins) do
    if win ~= 0 and shows_file(win) then return api.nvim_win_get_buf(win) end
  end
  local other = vim.fn.bufnr('#')
  if other > 0 and api.nvim_buf_is_loaded(other) and vim.bo[other].buftype == '' then
    return other
  end
end

local function name_of(chat, buf)
  local name = api.nvim_buf_get_name(buf)
  if name == '' then return ('buffer %d'):format(buf) end
  return vim.fs.relpath(chat.cwd, name) or name
end

--- Why nothing of a buffer can be attached.
local function buffer_problem(buf)
  if not buf then return 'no file is open' end
  if not api.nvim_buf_is_loaded(buf) then return ('buffer %d is not loaded'):format(buf) end
end

local function capture_buffer(chat, buf)
  local problem = buffer_problem(buf)
  if problem then return { problem = problem } end
  local path = api.nvim_buf_get_name(buf)
  -- A remote workspace has no local files: there the text itself is sent.
  if path ~= '' and vim.bo[buf].buftype == '' and not chat.remote then
    return { name = name_of(chat, buf), path = path }
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, 2000, false), '\n')
  return { name = name_of(chat, buf), text = text }
end

---@class agentchat.Selection positions as of marks
---@field buf integer
---@field from [integer, integer]
---@field to [integer, integer]

---@return agentchat.Selection? selection nil if nothing was selected yet
local function last_selection(buf)
  local from, to = api.nvim_buf_get_mark(buf, '<'), api.nvim_buf_get_mark(buf, '>')
  return from[1] > 0 and { buf = buf, from = from, to = to } or nil
end

--- What the range of a command selects in the current buffer: the last selection, if it is the same
--- lines, else whole lines.
---@return agentchat.Selection
function M.range(first, last)
  local buf = api.nvim_get_current_buf()
  local selected = last_selection(buf)
  local same = selected and selected.from[1] == first and selected.to[1] == last
  return same and selected or { buf = buf, from = { first, 0 }, to = { last, vim.v.maxcol } }
end

local NO_SELECTION = 'there is no selection'

---@class agentchat.SelectedText what `#selection` means now
---@field buf integer
---@field from [integer, integer] line from 1 and byte column
---@field to [integer, integer] the same, the last column excluded
---@field lines string which lines, in words

---@return agentchat.SelectedText?
local function selected_text(chat)
  local given = chat.selection
  if given and not api.nvim_buf_is_loaded(given.buf) then given = nil end
  local work = not given and work_buffer() or nil
  local selected = given or (work and last_selection(work))
  if not selected then return nil end
  local buf, from, to = selected.buf, selected.from, selected.to
  local last = api.nvim_buf_get_lines(buf, to[1] - 1, to[1], false)[1] or ''
  -- The mark is on the first byte of the last character; a line-wise one beyond the line.
  local stop = to[2] < #last and to[2] + vim.str_utf_end(last, to[2] + 1) + 1 or #last
  local lines = from[1] == to[1] and ('line %d'):format(from[1])
    or ('lines %d-%d'):format(from[1], to[1])
  return { buf = buf, from = from, to = { to[1], stop }, lines = lines }
end

local function capture_selection(chat)
  local selected = selected_text(chat)
  if not selected then return { problem = NO_SELECTION } end
  local buf, from, to = selected.buf, selected.from, selected.to
  local text = api.nvim_buf_get_text(buf, from[1] - 1, from[2], to[1] - 1, to[2], {})
  return {
    name = ('the selection in %s (%s)'):format(name_of(chat, buf), selected.lines),
    text = table.concat(text, '\n'),
  }
end

local UNITS = { 'B', 'KiB', 'MiB', 'GiB' }

local function format_size(bytes)
  local unit = 1
  while bytes >= 1024 and unit < #UNITS do
    bytes, unit = bytes / 1024, unit + 1
  end
  return (bytes < 10 and unit > 1 and '%.1f %s' or '%.0f %s'):format(bytes, UNITS[unit])
end

local function plural(count, noun) return ('%d %s%s'):format(count, noun, count == 1 and '' or 's') end

local OUTSIDE, SECRET = 'outside, asks · ', 'secret, asks · '

local function is_secret(path)
  local info = host.state().info
  return info ~= nil
    and vim
      .iter(info.secrets)
      :any(function(glob) return vim.glob.to_lpeg(glob):match(path:lower()) ~= nil end)
end

--- What makes a path ask before it is read; empty if nothing does.
local function caution(chat, path)
  local real, root = vim.uv.fs_realpath(path), vim.uv.fs_realpath(chat.cwd)
  if not real or not root then return '' end
  if is_secret(real) then return SECRET end
  local is_inside = real == root or vim.startswith(real, (root:gsub('/$', '')) .. '/')
  return is_inside and '' or OUTSIDE
end

---@type table<string, fun(chat: agentchat.Chat, value: string): string, boolean?> by the kind of a
--- mention: its size or the like, and whether there is nothing to attach
local DESCRIPTIONS = {}

function DESCRIPTIONS.buffer(chat, value)
  local buf = value ~= '' and tonumber(value) or work_buffer()
  local problem = buffer_problem(buf)
  if problem then return problem, true end
  local size = math.max(api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf)), 0)
  local path = api.nvim_buf_get_name(buf)
  local warning = path ~= '' and not chat.remote and caution(chat, path) or ''
  return ('%s%s · %s'):format(warning, format_size(size), name_of(chat, buf))
end

function DESCRIPTIONS.selection(chat)
  local selected = selected_text(chat)
  if not selected then return NO_SELECTION, true end
  local function offset(at) return api.nvim_buf_get_offset(selected.buf, at[1] - 1) + at[2] end
  local size = format_size(offset(selected.to) - offset(selected.from))
  return ('%s · %s, %s'):format(size, name_of(chat, selected.buf), selected.lines)
end

--- The file or folder of a mention and what the disk says of it; nil if there is none.
local function find_path(chat, path)
  path = vim.startswith(path, '/') and path or vim.fs.joinpath(chat.cwd, path)
  return path, vim.uv.fs_stat(path)
end

function DESCRIPTIONS.file(chat, value)
  local name, first, last = value:match('^(.-):(%d+)%-?(%d*)$')
  local path, stat = find_path(chat, name or value)
  if not stat then return 'not found', true end
  local size = first and plural((tonumber(last) or first) - first + 1, 'line')
    or format_size(stat.size)
  return caution(chat, path) .. size
end

DESCRIPTIONS.dir = function(chat, value)
  local path, stat = find_path(chat, value)
  if not stat then return 'not found', true end
  return caution(chat, path) .. 'the names of its files'
end

function DESCRIPTIONS.diagnostics() return plural(#vim.diagnostic.get(), 'diagnostic') end

--- What is known of a mention before it is sent.
---@return string text, boolean? is_missing whether there is nothing to attach
function M.describe(chat, name)
  local kind, value = name:match('^#(%l+):?{?([^{}]*)}?$')
  local is_far = chat.remote and (kind == 'file' or kind == 'dir')
  local describe = not is_far and DESCRIPTIONS[kind]
  if describe then return describe(chat, value) end
  return 'read when it is sent'
end

--- What the editor has for one mention; nil if Python finds it.
---@return agentchat.Captured?
local function capture(chat, name)
  local number = name:match('^#buffer:(%d+)$')
  if number or name == '#buffer' then
    return capture_buffer(chat, number and tonumber(number) or work_buffer())
  end
  return name == '#selection' and capture_selection(chat) or nil
end

--- What the editor has for the mentions in a text, by mention; Python finds the rest.
---@return table<string, agentchat.Captured>
function M.capture(chat, text)
  local out = vim.empty_dict()
  for _, found in ipairs(M.find((text:gsub('\n', ' ')))) do
    if not out[found.name] then out[found.name] = capture(chat, found.name) end
  end
  return out
end

--- The context mention that is being typed before a column.
---@param column integer bytes before the cursor
---@return agentchat.Started?
function M.started(line, column)
  local before = line:sub(1, column)
  local at, base = before:match('()#([^%s#{}]*)$')
  if not at or before:sub(1, at - 1):find('[%w_#\128-\255]$') then return nil end
  return { first = at - 1, base = base, braced = false }
end

---@param prefix 'file'|'dir'
local function files(chat, prefix, base)
  if chat.remote then return {} end
  local folder, start = base:match('^(.-)([^/]*)$')
  local out = {}
  for name, kind in vim.fs.dir(vim.fs.joinpath(chat.cwd, folder)) do
    local fits = vim.startswith(name, start) and (prefix == 'file' or kind == 'directory')
    if fits and #out < MOST then
      local path = folder .. name .. (kind == 'directory' and '/' or '')
      if path:find('[%s{}]') then path = '{' .. path .. '}' end
      table.insert(
        out,
        { word = ('#%s:%s'):format(prefix, path), item = { name = path, kind = 'file' } }
      )
    end
  end
  table.sort(out, function(a, b) return a.word < b.word end)
  return out
end

-- How the lines of most languages begin that define a name.
local DEFINITIONS = {
  '^%s*%l*%s*def%s+([%w_]+)',
  '^%s*class%s+([%w_]+)',
  '^%s*%l*%s*function%s+[%w_.]-([%w_]+)%s*%(',
  '^%s*%l*%s*fn%s+([%w_]+)',
  '^%s*func%s+%b()%s*([%w_]+)',
  '^%s*func%s+([%w_]+)',
  '^%s*%l*%s*struct%s+([%w_]+)',
  '^%s*%l*%s*enum%s+([%w_]+)',
  '^%s*%l*%s*interface%s+([%w_]+)',
  '^%s*type%s+([%w_]+)',
}
local SCANNED = 3000 -- lines of a buffer

local function definition_in(line)
  for _, pattern in ipairs(DEFINITIONS) do
    local name = line:match(pattern)
    if name then return name end
  end
end

--- The names that the loaded buffers define.
local function symbols(chat, base)
  local seen, out = {}, {}
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1, bufloaded = 1 })) do
    local lines = vim.bo[info.bufnr].buftype == ''
        and api.nvim_buf_get_lines(info.bufnr, 0, SCANNED, false)
      or {}
    for _, line in ipairs(lines) do
      local name = definition_in(line)
      if name and not seen[name] and vim.startswith(name, base) and #out < MOST then
        seen[name] = true
        local about = ('%s\n\n%s'):format(vim.trim(line), name_of(chat, info.bufnr))
        local item = { name = name, kind = 'context', about = about }
        table.insert(out, { word = '#symbol:' .. name, item = item })
      end
    end
  end
  table.sort(out, function(a, b) return a.word < b.word end)
  return out
end

local function buffers(chat)
  local out = {}
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1, bufloaded = 1 })) do
    if vim.bo[info.bufnr].buftype == '' then
      local item = { name = 'buffer', kind = 'buffer', about = name_of(chat, info.bufnr) }
      table.insert(out, { word = ('#buffer:%d'):format(info.bufnr), item = item })
    end
  end
  return out
end

local function add_resources(chat, base, out)
  for _, item in ipairs(M.offered(chat.cwd).resources) do
    if vim.startswith(item.name, base) and #out < MOST then
      table.insert(out, { word = '#' .. item.name, item = item })
    end
  end
end

--- The context mentions that fit what is typed.
---@return { word: string, item: agentchat.Name }[]
function M.candidates(chat, started)
  local kind, value = started.base:match('^(%l+):(.*)$')
  if kind == 'file' or kind == 'dir' then return files(chat, kind, value) end
  if kind == 'symbol' then return symbols(chat, value) end
  if vim.startswith(started.base, 'buffer:') then return buffers(chat) end
  local out = {}
  for _, item in ipairs(M.KINDS) do
    if vim.startswith(item.name, started.base) then
      table.insert(out, { word = '#' .. item.name, item = item })
    end
  end
  add_resources(chat, started.base, out)
  return out
end

return M
