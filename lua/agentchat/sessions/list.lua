--- The saved chats of a project in a tab of their own: a list with forks below their source, and a
--- preview of the chat under the cursor.
local actions = require('agentchat.chat.actions')
local float = require('agentchat.ui.float')
local history = require('agentchat.sessions.select')
local host = require('agentchat.host.process')
local notify = require('agentchat.notify')
local registry = require('agentchat.chat.registry')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.sessions')

local TITLE = 'Saved chats'
local SHARE = 0.35 -- of the rows of the tab, for the list

---@class agentchat.SessionsView
---@field list integer buffer
---@field preview integer buffer
---@field rows agentchat.SessionsRow[] by line
---@field about table<string, string> turns, model and cost, by chat
---@field asked { cwd: string, words: string }
---@field from integer tab page the user came from

---@class agentchat.SessionsRow
---@field item agentchat.HistoryItem
---@field depth integer how many forks lie above it

---@type agentchat.SessionsView?
local view

--- The chats with each fork below its source, the newest first.
---@param items agentchat.HistoryItem[]
---@return agentchat.SessionsRow[]
function M.tree(items)
  local known, below, rows = {}, {}, {}
  for _, item in ipairs(items) do
    known[item.chat] = true
  end
  for _, item in ipairs(items) do
    local parent = known[item.source] and item.source or ''
    below[parent] = below[parent] or {}
    table.insert(below[parent], item)
  end
  local function add(parent, depth)
    for _, item in ipairs(below[parent] or {}) do
      table.insert(rows, { item = item, depth = depth })
      add(item.chat, depth + 1)
    end
  end
  add('', 0)
  return rows
end

--- A time as one says it: `12 min ago`, `yesterday 14:03`, a date.
---@param at number seconds
---@param now number seconds
function M.ago(at, now)
  local seconds = math.max(0, now - at)
  if seconds < 60 then return 'just now' end
  if seconds < 3600 then return ('%d min ago'):format(seconds / 60) end
  if os.date('%Y-%m-%d', at) == os.date('%Y-%m-%d', now) then return os.date('today %H:%M', at) end
  if os.date('%Y-%m-%d', at) == os.date('%Y-%m-%d', now - 86400) then
    return os.date('yesterday %H:%M', at)
  end
  return os.date('%Y-%m-%d', at)
end

local function line(row)
  local fork = row.depth > 0 and ('  '):rep(row.depth - 1) .. '└ ' or ''
  local open = registry.get(row.item.chat) and '  (open)' or ''
  return ('%-16s  %s%s%s'):format(M.ago(row.item.at, os.time()), fork, row.item.title, open)
end

local function set_lines(buf, lines)
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
end

local function draw_list()
  local lines = vim.tbl_map(line, view.rows)
  set_lines(view.list, #lines > 0 and lines or { '(none)' })
  for row, found in ipairs(view.rows) do
    local about = view.about[found.item.chat]
    api.nvim_buf_set_extmark(view.list, ns, row - 1, 0, {
      end_col = 16,
      hl_group = 'AgentChatNote',
      virt_text = about and { { ' ' .. about .. ' ', 'AgentChatNote' } },
      virt_text_pos = 'right_align',
    })
  end
end

---@return agentchat.HistoryItem?
local function item_under_cursor()
  local row = view and view.rows[api.nvim_win_get_cursor(0)[1]]
  return row and row.item
end

local function with_item(action)
  return function()
    local item = item_under_cursor()
    if item then action(item) end
  end
end

local function close()
  local buf = view and view.list
  if buf and api.nvim_buf_is_valid(buf) then vim.cmd.tabclose() end
end

local function resume(fork)
  return with_item(function(item)
    local asked, from = view.asked, view.from
    close()
    if api.nvim_tabpage_is_valid(from) then api.nvim_set_current_tabpage(from) end
    actions.resume({ chat = item.chat, cwd = asked.cwd, fork = fork })
  end)
end

local function delete(item)
  if registry.get(item.chat) then
    return notify.warn('this chat is open: close it with :bdelete first')
  end
  local prompt = ('Delete "%s" for good?'):format(item.title)
  vim.ui.select({ 'Keep', 'Delete' }, { prompt = prompt }, function(choice)
    if choice == 'Delete' then host.send('delete_saved', { saved = item.chat }) end
  end)
end

local function export(item)
  local name = vim.trim(item.title:gsub('[^%w]+', '-'):sub(1, 40)):gsub('^%-+', ''):gsub('%-+$', '')
  local default = ('%s.md'):format(name ~= '' and name or 'chat')
  vim.ui.input(
    { prompt = 'Export as Markdown to: ', default = default, completion = 'file' },
    function(path)
      if not path or path == '' then return end
      local full = vim.fn.fnamemodify(vim.fn.expand(path), ':p')
      host.send('export_saved', { path = full, title = item.title, saved = item.chat })
    end
  )
end

local function rename(item)
  vim.ui.input({ prompt = 'Title of the chat: ', default = item.title }, function(title)
    if title then host.send('rename_saved', { saved = item.chat, title = title }) end
  end)
end

local function search()
  vim.ui.input({ prompt = 'Search in all chats: ', default = view.asked.words }, function(words)
    if words and view then history.list({ words = vim.trim(words), browse = true }) end
  end)
end

local KEYS = {
  { '<CR>', 'resume the chat', resume(false) },
  { 'f', 'continue in a copy (fork)', resume(true) },
  { 's', 'search in the text of all chats; empty: list all', search },
  { 'r', 'rename; empty: its first prompt again', with_item(rename) },
  { 'e', 'export as Markdown', with_item(export) },
  { 'd', 'delete', with_item(delete) },
  { 'q', 'close', close },
}

local function help() float.page('Keys of the saved chats', float.key_lines(KEYS)) end

local function request_preview()
  local item = item_under_cursor()
  if not item then return set_lines(view.preview, {}) end
  if view.wanted == item.chat then return end
  view.wanted = item.chat
  host.send('preview_saved', { saved = item.chat })
end

local function scratch(name, filetype)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = filetype
  api.nvim_buf_set_name(buf, ('agentchat://%s/%d'):format(name, buf))
  return buf
end

local function map(buf)
  for _, key in ipairs(KEYS) do
    vim.keymap.set('n', key[1], key[3], { buffer = buf, nowait = true, desc = 'Agent: ' .. key[2] })
  end
  vim.keymap.set('n', 'g?', help, { buffer = buf, nowait = true, desc = 'Agent: list these keys' })
end

local function set_window(title)
  vim.wo[0][0].winbar = title
  vim.wo[0][0].wrap = false
  vim.wo[0][0].number = false
  vim.wo[0][0].winfixbuf = true
end

local function open(asked)
  local from = api.nvim_get_current_tabpage()
  vim.cmd.tabnew()
  local preview = scratch('preview', 'markdown')
  api.nvim_win_set_buf(0, preview)
  set_window(' Preview')
  vim.wo[0][0].wrap = true
  vim.wo[0][0].conceallevel = 2
  pcall(vim.treesitter.start, preview, 'markdown')
  local list = scratch('sessions', 'agentchat-sessions')
  local height = math.max(5, math.floor(vim.o.lines * SHARE))
  api.nvim_open_win(list, true, { split = 'above', height = height })
  vim.cmd.stopinsert()
  view = { list = list, preview = preview, rows = {}, about = {}, asked = asked, from = from }
  map(list)
  api.nvim_create_autocmd('CursorMoved', { buffer = list, callback = request_preview })
  api.nvim_create_autocmd('BufWipeout', {
    buffer = list,
    once = true,
    callback = function() view = nil end,
  })
end

local function heading()
  local found = view.asked.words ~= '' and (' with "%s"'):format(view.asked.words) or ''
  return (' %s%s (%d)  <CR> resume  f fork  s search  r rename  d delete  g? keys'):format(
    TITLE,
    found:gsub('%%', '%%%%'),
    #view.rows
  )
end

--- Shows the chats that were found, in the list that is open or in a new one.
---@param items agentchat.HistoryItem[]
function M.show(items, asked)
  if not (view and api.nvim_buf_is_valid(view.list)) then open(asked) end
  view.asked, view.rows, view.wanted = asked, M.tree(items), nil
  draw_list()
  local win = vim.fn.bufwinid(view.list)
  if win == -1 then return end
  api.nvim_win_call(win, function()
    set_window(heading())
    vim.wo[0][0].cursorline = true
    request_preview()
  end)
end

--- Shows the text of the chat under the cursor.
---@param about string its turns, its model, what it cost
function M.preview(id, lines, about)
  if not (view and view.wanted == id and api.nvim_buf_is_valid(view.preview)) then return end
  M.describe(id, about)
  set_lines(view.preview, lines)
  local win = vim.fn.bufwinid(view.preview)
  if win ~= -1 then vim.wo[win].winbar = ' Preview · ' .. about:gsub('%%', '%%%%') end
end

--- Shows turns, model and cost of a chat in its line.
function M.describe(id, about)
  if not (view and api.nvim_buf_is_valid(view.list)) then return end
  view.about[id] = about
  draw_list()
end

--- Shows the new title of a chat, here and above its window.
function M.renamed(id, title)
  local chat = registry.get(id)
  if chat then registry.rename(chat, title) end
  if not (view and api.nvim_buf_is_valid(view.list)) then return end
  for _, row in ipairs(view.rows) do
    if row.item.chat == id then row.item.title = title end
  end
  draw_list()
end

--- Removes a chat that is deleted from the list.
function M.deleted(id)
  if not view then return end
  local items = vim.tbl_map(function(row) return row.item end, view.rows)
  M.show(vim.tbl_filter(function(item) return item.chat ~= id end, items), view.asked)
end

return M
