--- What the prompt attaches, listed in lines of text above its header. The list follows the prompt;
--- deleting a line of it deletes the mention there.
local context = require('agentchat.prompt.context')
local marks = require('agentchat.transcript.marks')
local undo = require('agentchat.prompt.undo')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.attachments')

local HEADING = 'Attached'
local HINT = '· dd on a line removes it'
local SEARCHED = 400 -- lines of the prompt

---@class agentchat.Attachments
---@field mark? integer extmark around the list
---@field names string[] mentions, as listed

---@return agentchat.Attachments
function M.new() return { names = {} } end

--- Whether the user may be typing this mention: the cursor is at its end.
local function is_unfinished(chat, row, mention)
  if api.nvim_get_current_buf() ~= chat.buf then return false end
  if not vim.startswith(api.nvim_get_mode().mode, 'i') then return false end
  local cursor = api.nvim_win_get_cursor(0)
  return cursor[1] == row and cursor[2] == mention.last
end

--- The mentions in the prompt, each once.
local function mentioned(chat)
  local names, header = {}, marks.header(chat)
  for i, line in ipairs(vim.list_slice(marks.prompt_lines(chat), 1, SEARCHED)) do
    for _, found in ipairs(context.find(line)) do
      local known = vim.list_contains(names, found.name)
      if not known and not is_unfinished(chat, header + 1 + i, found) then
        table.insert(names, found.name)
      end
    end
  end
  return names
end

--- A line without some mentions; nil if nothing else was in it.
local function without(line, names)
  local found = context.find(line)
  for i = #found, 1, -1 do
    if vim.list_contains(names, found[i].name) then
      local before, after = line:sub(1, found[i].first), line:sub(found[i].last + 1)
      line = before == '' and after:gsub('^ ', '') or before:gsub(' $', '') .. after
    end
  end
  return (line:find('%S') or #found == 0) and line or nil
end

--- Deletes from the prompt the mentions whose lines the user has deleted from the list.
local function delete(chat, names)
  local left = vim
    .iter(marks.prompt_lines(chat))
    :map(function(line) return without(line, names) end)
  undo.write_as_agent(chat, function() marks.set_prompt(chat, left:join('\n')) end)
end

--- Rows of the list, the last one excluded: those above the header if there is none.
local function rows(chat)
  local first, _, details = marks.find(chat.buf, chat.attached.mark)
  local header = marks.header(chat)
  -- The mark of an empty list stays behind what is written above the prompt, and its end before it.
  if not first or details.end_row <= first then return header, header end
  return math.min(first, header), math.min(details.end_row, header)
end

--- Shows the list in the windows that began with what is now below it.
local function scroll(chat, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    if vim.fn.getwininfo(win)[1].topline == last + 1 then
      api.nvim_win_call(win, function() vim.fn.winrestview({ topline = first + 1 }) end)
    end
  end
end

local function write(chat, names)
  local first, last = rows(chat)
  local lines = #names > 0 and vim.iter({ HEADING, names, '' }):flatten():totable() or {}
  chat.attached.names = names
  if vim.deep_equal(lines, api.nvim_buf_get_lines(chat.buf, first, last, false)) then return end
  undo.write_as_agent(
    chat,
    function() api.nvim_buf_set_lines(chat.buf, first, last, false, lines) end
  )
  chat.attached.mark = api.nvim_buf_set_extmark(chat.buf, marks.ns, first, 0, {
    id = chat.attached.mark,
    end_row = first + #lines,
    end_right_gravity = false,
  })
  scroll(chat, first, first + #lines)
end

--- Draws what is known of each attachment, in a column of its own.
local function draw(chat)
  api.nvim_buf_clear_namespace(chat.buf, ns, 0, -1)
  local names, row = chat.attached.names, rows(chat)
  if #names == 0 then return end
  local widest = math.max(unpack(vim.tbl_map(api.nvim_strwidth, names)))
  local function add(at, name, group, text, text_group)
    api.nvim_buf_set_extmark(chat.buf, ns, at, 0, {
      end_col = #name,
      hl_group = group,
      virt_text = { { text, text_group } },
      virt_text_pos = 'eol',
    })
  end
  add(row, HEADING, 'AgentChatTitle', HINT, 'AgentChatPlaceholder')
  for i, name in ipairs(names) do
    local text, is_missing = context.describe(chat, name)
    local blanks = (' '):rep(widest - api.nvim_strwidth(name) + 1)
    local group = is_missing and 'AgentChatError' or 'AgentChatFact'
    add(row + i, name, 'AgentChatMention', blanks .. text, group)
  end
end

--- Makes the list and the prompt agree.
function M.update(chat)
  local names = mentioned(chat)
  if (#names == 0 and #chat.attached.names == 0) or undo.is_held(chat) then return end
  local first, last = rows(chat)
  local listed = api.nvim_buf_get_lines(chat.buf, first, last, false)
  local gone = vim.tbl_filter(
    function(name) return not vim.list_contains(listed, name) end,
    chat.attached.names
  )
  if #gone > 0 then
    delete(chat, gone)
    names = mentioned(chat)
  end
  write(chat, names)
  draw(chat)
end

return M
