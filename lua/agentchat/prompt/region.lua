--- The prompt region: everything below the last header, and what is drawn on it.
local attachments = require('agentchat.prompt.attachments')
local context = require('agentchat.prompt.context')
local lines = require('agentchat.transcript.text')
local marks = require('agentchat.transcript.marks')
local mentions = require('agentchat.prompt.mentions')
local slash = require('agentchat.prompt.slash')
local todo = require('agentchat.prompt.todo')
local undo = require('agentchat.prompt.undo')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.prompt')
local rooms = api.nvim_create_namespace('agentchat.room')

local PLACEHOLDER = 'Type a message · <CR> send · g? keys'
local DECORATED = 400 -- lines of the prompt that get mentions highlighted

--- The text typed so far, without blank lines around it.
function M.text(chat) return lines.trim(marks.prompt_lines(chat)) end

--- Replaces the text; cursors in the region go to its end.
function M.set(chat, text)
  local row = marks.header(chat)
  marks.set_prompt(chat, '\n' .. text)
  local last = api.nvim_buf_line_count(chat.buf)
  local width = #api.nvim_buf_get_lines(chat.buf, last - 1, last, false)[1]
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    if api.nvim_win_get_cursor(win)[1] > row + 1 then
      api.nvim_win_set_cursor(win, { last, width })
    end
  end
  M.refresh(chat)
end

--- Puts a mention on a line of its own above the text, where `dd` removes it.
function M.attach(chat, mention)
  local text = M.text(chat)
  if vim.list_contains(vim.split(text, '\n'), mention) then return end
  undo.keep(chat)
  M.set(chat, mention .. '\n' .. text)
end

--- Ends a completion and keeps what it inserted. Until then `state()` says that one is active, and
--- whatever waits for the user's keys to rest would wait for another key.
local function end_completion()
  if vim.fn.state('a') == '' or vim.api.nvim_get_mode().mode:sub(1, 1) ~= 'i' then return end
  vim.api.nvim_feedkeys(vim.keycode('<C-x><C-z>'), 'ni', false) -- before keys typed ahead
end

function M.take(chat)
  end_completion()
  local text = M.text(chat)
  if text == '' then return text end
  undo.keep(chat)
  M.set(chat, '')
  return text
end

--- Puts texts that were not delivered back, before what has been typed since.
function M.give_back(chat, texts)
  if #texts == 0 then return end
  local all = vim.list_extend({}, texts)
  local now = M.text(chat)
  if now ~= '' then table.insert(all, now) end
  M.set(chat, table.concat(all, '\n\n'))
end

local function draw_placeholder(chat, row, text)
  if table.concat(text) ~= '' then return end
  api.nvim_buf_set_extmark(chat.buf, ns, math.min(row + 2, row + #text), 0, {
    virt_text = { { PLACEHOLDER, 'AgentChatPlaceholder' } },
    virt_text_pos = 'overlay',
  })
end

local function draw_outbox(chat, row)
  if #chat.outbox == 0 then return end
  local drawn = {}
  for _, text in ipairs(chat.outbox) do
    for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
      table.insert(drawn, { { '  › ' .. line, 'AgentChatReasoning' } })
    end
  end
  table.insert(drawn, { { '    queued', 'AgentChatWaiting' } })
  api.nvim_buf_set_extmark(chat.buf, ns, row, 0, { virt_lines = drawn })
end

--- The lines above the header of the prompt: its todo list.
local function lines_above(chat)
  local drawn = todo.lines(chat.todo or {})
  if #drawn > 0 then table.insert(drawn, { { '', 'AgentChatFact' } }) end
  return drawn
end

local function draw_above(chat, space, row, drawn)
  if #drawn == 0 then return end
  api.nvim_buf_set_extmark(chat.buf, space, row, 0, { virt_lines = drawn, virt_lines_above = true })
end

--- Draws the todo list above the header, and the room for a float above all of the prompt.
local function draw_room(chat, row)
  local first, blank = marks.transcript_end(chat), {}
  for i = 1, chat.room or 0 do
    blank[i] = { { '', 'Normal' } }
  end
  api.nvim_buf_clear_namespace(chat.buf, rooms, 0, -1)
  if first < row then
    draw_above(chat, rooms, first, blank)
    return draw_above(chat, rooms, row, lines_above(chat))
  end
  draw_above(chat, rooms, row, vim.list_extend(blank, lines_above(chat)))
end

local function draw_mention(chat, row, found)
  api.nvim_buf_set_extmark(chat.buf, ns, row, found.first, {
    end_col = found.last,
    hl_group = 'AgentChatMention',
  })
end

local function draw_mentions(chat, row, text)
  local known = mentions.known(chat)
  for i = 1, math.min(#text, DECORATED) do
    for _, found in ipairs(mentions.find(text[i])) do
      if known[found.name] then draw_mention(chat, row + i, found) end
    end
    for _, found in ipairs(context.find(text[i])) do
      draw_mention(chat, row + i, found)
    end
  end
end

--- Marks the command that the prompt begins with, and shows its arguments while none is typed.
local function draw_command(chat, row, text)
  for i, line in ipairs(text) do
    if line:find('%S') then
      local found = slash.at_start(chat, line)
      if not found then return end
      draw_mention(chat, row + i, found)
      if found.hint == '' or vim.trim(line) ~= '/' .. found.name then return end
      local hint = { { ' ' .. found.hint, 'AgentChatPlaceholder' } }
      api.nvim_buf_set_extmark(
        chat.buf,
        ns,
        row + i,
        #line,
        { virt_text = hint, virt_text_pos = 'inline' }
      )
      return
    end
  end
end

--- Draws placeholder, outbox and mentions again, and lists what is attached.
function M.refresh(chat)
  attachments.update(chat)
  local row = marks.header(chat)
  local text = marks.prompt_lines(chat)
  api.nvim_buf_clear_namespace(chat.buf, ns, row, -1)
  marks.draw_bar(chat.buf, ns, row, 'AgentChatUser')
  draw_placeholder(chat, row, text)
  draw_outbox(chat, row)
  draw_room(chat, row)
  draw_mentions(chat, row, text)
  draw_command(chat, row, text)
end

--- Keeps rows free between the transcript and the prompt, for a float that stands there.
---@param rows integer
---@return boolean whether that changed something
function M.make_room(chat, rows)
  if (chat.room or 0) == rows or not api.nvim_buf_is_loaded(chat.buf) then return false end
  chat.room = rows
  draw_room(chat, marks.header(chat))
  return true
end

---@class agentchat.PromptRows where the prompt is, with its todo list and what is attached
---@field first integer row of the buffer
---@field above integer rows of the screen above that row which belong to it
---@field count integer rows of the screen in a window

--- What of a window the prompt takes.
---@return agentchat.PromptRows
function M.rows(chat, win)
  local first, header = marks.transcript_end(chat), marks.header(chat)
  local last = api.nvim_buf_line_count(chat.buf) - 1
  local height = api.nvim_win_text_height(win, { start_row = first, end_row = last })
  local above = first == header and #lines_above(chat) or 0
  return { first = first, above = above, count = height.all - (chat.room or 0) }
end

--- Keeps the region whole and its drawing up to date while the user types.
function M.on_change(chat)
  if chat.undo.tick == api.nvim_buf_get_changedtick(chat.buf) then return end
  if not marks.is_intact(chat) then
    pcall(vim.cmd.undojoin) -- refused right after an undo
    marks.header(chat)
  end
  M.refresh(chat)
end

--- Whether a row of the prompt is the first with text, or could be.
function M.is_first(chat, row)
  local above = api.nvim_buf_get_lines(chat.buf, marks.header(chat) + 1, row, false)
  return not table.concat(above):find('%S')
end

function M.holds(chat, row) return row > marks.header(chat) end

return M
