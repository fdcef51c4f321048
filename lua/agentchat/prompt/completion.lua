--- Completion of mentions: an 'omnifunc' and a language server that lives in this process.
local context = require('agentchat.prompt.context')
local mentions = require('agentchat.prompt.mentions')
local prompt = require('agentchat.prompt.region')
local slash = require('agentchat.prompt.slash')

local M = {}

-- lsp.CompletionItemKind. A tool is no function: completion plugins put parentheses behind one.
local INTERFACE, MODULE, KEYWORD, FILE, REFERENCE = 8, 9, 14, 17, 18
local KINDS = {
  tool = INTERFACE,
  group = MODULE,
  file = FILE,
  buffer = FILE,
  context = REFERENCE,
  builtin = KEYWORD,
  prompt = KEYWORD,
  skill = KEYWORD,
  mcp = KEYWORD,
}
local PLAIN_TEXT = 1 -- lsp.InsertTextFormat

---@type table<integer, agentchat.Chat> by buffer
local chats = setmetatable({}, { __mode = 'v' })

function M.register(chat) chats[chat.buf] = chat end

---@return agentchat.Chat? chat if the row is in its prompt
local function prompt_at(buf, row)
  local chat = chats[buf]
  if chat and prompt.holds(chat, row) then return chat end
end

--- The mention that is being typed before a column, and what it may become.
---@return agentchat.Started? started, fun(): { word: string, item: agentchat.Name }[]
local function started_at(chat, row, line, column)
  local command = prompt.is_first(chat, row) and slash.started(line, column)
  if command then
    return command, function() return slash.candidates(chat, command) end
  end
  local started = mentions.started(line, column)
  if started then
    return started, function() return mentions.candidates(chat, started) end
  end
  started = context.started(line, column)
  return started, function() return started and context.candidates(chat, started) or {} end
end

local WIDEST = 50

--- What the menu shows beside a word.
local function beside(item) return vim.fn.strcharpart(item.menu or item.kind, 0, WIDEST) end

---@param findstart integer
---@param base string what is typed, from the `@` or `#` on
function M.omni(findstart, base)
  local row = vim.fn.line('.') - 1
  local chat = prompt_at(vim.api.nvim_get_current_buf(), row)
  if findstart == 1 then
    local column = vim.fn.col('.') - 1
    local started = chat and started_at(chat, row, vim.api.nvim_get_current_line(), column)
    return started and started.first or -3
  end
  if not chat then return {} end
  local _, candidates = started_at(chat, row, base, #base)
  return vim
    .iter(candidates())
    :map(
      function(found)
        return { word = found.word, menu = beside(found.item), info = found.item.about or '' }
      end
    )
    :totable()
end

local function item(found, range)
  return {
    label = found.word,
    kind = KINDS[found.item.kind] or INTERFACE,
    detail = beside(found.item),
    documentation = found.item.about,
    filterText = found.word,
    insertTextFormat = PLAIN_TEXT,
    textEdit = { newText = found.word, range = range },
  }
end

local function items_for(params)
  local buf = vim.uri_to_bufnr(params.textDocument.uri)
  local at = params.position
  local chat = prompt_at(buf, at.line)
  if not chat then return {} end
  local line = vim.api.nvim_buf_get_lines(buf, at.line, at.line + 1, false)[1] or ''
  local started, candidates = started_at(chat, at.line, line, at.character)
  if not started then return {} end
  local range = { start = { line = at.line, character = started.first }, ['end'] = at }
  return vim.iter(candidates()):map(function(found) return item(found, range) end):totable()
end

local ANSWERS = {
  initialize = function()
    return {
      capabilities = {
        positionEncoding = 'utf-8',
        completionProvider = { triggerCharacters = { '@', '{', '#', ':', '/' } },
      },
      serverInfo = { name = 'agentchat' },
    }
  end,
  ['textDocument/completion'] = items_for,
}

local function server(dispatchers)
  local closing, id = false, 0
  local function close()
    if closing then return end
    closing = true
    dispatchers.on_exit(0, 0)
  end
  return {
    request = function(method, params, callback)
      local answer = ANSWERS[method]
      id = id + 1
      callback(nil, answer and answer(params) or vim.NIL)
      return true, id
    end,
    notify = function(method)
      if method == 'exit' then close() end
      return true
    end,
    is_closing = function() return closing end,
    terminate = close,
  }
end

--- Lets completion plugins find the mentions of a chat.
function M.attach(chat)
  if not vim.api.nvim_buf_is_loaded(chat.buf) then return end
  local config = {
    name = 'agentchat',
    cmd = server,
    reuse_client = function(client) return client.name == 'agentchat' end,
  }
  vim.lsp.start(config, { bufnr = chat.buf, silent = true })
end

return M
