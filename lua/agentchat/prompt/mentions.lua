--- `@name` and `@{name}` in the prompt: where they are, which names there are.
local M = {}

---@class agentchat.Name
---@field name string
---@field kind 'tool'|'group'|'context'|'file'|'buffer'|'builtin'|'prompt'|'skill'|'mcp'
---@field about? string
---@field menu? string what a menu shows beside it, if not its kind
---@field given? boolean the chat has it

-- What a new chat can name before Python reports it.
---@type agentchat.Name[]
M.BUILTIN = {
  { name = 'read', kind = 'tool', about = 'Read a file' },
  { name = 'ls', kind = 'tool', about = 'List a directory' },
  { name = 'find', kind = 'tool', about = 'Find files by name' },
  { name = 'grep', kind = 'tool', about = 'Search in files' },
  { name = 'edit', kind = 'tool', about = 'Replace text in a file' },
  { name = 'write', kind = 'tool', about = 'Create or overwrite a file' },
  { name = 'bash', kind = 'tool', about = 'Run a shell command' },
  { name = 'ast_edit', kind = 'tool', about = 'Rewrite code by its structure' },
  { name = 'fetch', kind = 'tool', about = 'Fetch a page of the web' },
  { name = 'agent', kind = 'group', about = 'All tools' },
  { name = 'files', kind = 'group', about = 'Tools for files' },
  { name = 'readonly', kind = 'group', about = 'Tools that only read' },
  { name = 'web', kind = 'group', about = 'Tools for the web' },
}

---@class agentchat.Mention
---@field name string
---@field first integer byte column of the `@`
---@field last integer byte column after the end
---@field hint? string what arguments it takes, of a slash command

--- Whether the character that ends at byte `at` belongs to a word.
local function word_before(line, at)
  if at < 1 or line:byte(at) == 0 then return false end
  local char = line:sub(at + vim.str_utf_start(line, at), at)
  return char == '@' or char == '_' or vim.fn.charclass(char) >= 2
end

--- The name that begins after the `@` at byte `at`, and the byte it ends on.
local function name_at(line, at)
  local braced = line:match('^{([%w_.%-\128-\255]+)}', at + 1)
  if braced then return braced, at + #braced + 2 end
  local bare = line:match('^[%w_\128-\255][%w_.%-\128-\255]*', at + 1)
  if not bare then return nil end
  bare = bare:gsub('[.%-]+$', '')
  return bare, at + #bare
end

--- All mentions of a line, of known and unknown names.
---@return agentchat.Mention[]
function M.find(line)
  local out, at = {}, line:find('@', 1, true)
  while at do
    local name, last = name_at(line, at)
    if name and not word_before(line, at - 1) then
      table.insert(out, { name = name, first = at - 1, last = last })
    end
    at = line:find('@', math.max(at, last or 0) + 1, true)
  end
  return out
end

---@return table<string, agentchat.Name>
function M.known(chat)
  local known = {}
  for _, item in ipairs(chat.names) do
    known[item.name] = item
  end
  return known
end

---@class agentchat.Started
---@field first integer byte column of the `@`
---@field base string what is typed of the name
---@field braced boolean

--- The mention that is being typed before a column.
---@param column integer bytes before the cursor
---@return agentchat.Started?
function M.started(line, column)
  local before = line:sub(1, column)
  local at, brace, base = before:match('()@({?)([%w_.%-]*)$')
  if not at or word_before(before, at - 1) then return nil end
  return { first = at - 1, base = base, braced = brace ~= '' }
end

--- The names that fit what is typed, as the words to insert.
---@return { word: string, item: agentchat.Name }[]
function M.candidates(chat, started)
  local out = {}
  for _, item in ipairs(chat.names) do
    if vim.startswith(item.name, started.base) then
      local word = started.braced and ('@{%s}'):format(item.name) or '@' .. item.name
      table.insert(out, { word = word, item = item })
    end
  end
  return out
end

return M
