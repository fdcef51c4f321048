--- Positions in a chat buffer, known from extmarks and never from text.
local M = {}

M.ns = vim.api.nvim_create_namespace('agentchat.regions')

--- Header of the prompt region, the last header of the buffer.
M.HEADER = '## You'

local BAR = '▌' -- what the marks of a header are shown as: a heading of the text has none

local api = vim.api

--- Row of an extmark, or nil when it or its text was deleted.
---@param id? integer
---@return integer? row, integer? col, table? details
function M.find(buf, id)
  if not id then return nil end
  local mark = api.nvim_buf_get_extmark_by_id(buf, M.ns, id, { details = true })
  if not mark[1] or mark[3].invalid then return nil end
  return mark[1], mark[2], mark[3]
end

--- Shows the marks of the header in a row as a bar.
function M.draw_bar(buf, ns, row, group)
  local bar =
    { end_col = #'##', conceal = BAR, hl_group = group, invalidate = true, strict = false }
  api.nvim_buf_set_extmark(buf, ns, row, 0, bar)
end

local function mark_header(chat, row)
  chat.header = api.nvim_buf_set_extmark(chat.buf, M.ns, row, 0, {
    id = chat.header,
    end_row = row,
    end_col = #M.HEADER,
    hl_group = 'AgentChatUser',
    invalidate = true,
    undo_restore = true,
    strict = false,
  })
end

local function insert_header(chat, row)
  local above = row > 0 and api.nvim_buf_get_lines(chat.buf, row - 1, row, false)[1] or ''
  if above ~= '' then
    api.nvim_buf_set_lines(chat.buf, row, row, false, { '' })
    row = row + 1
  end
  api.nvim_buf_set_lines(chat.buf, row, row, false, { M.HEADER })
  mark_header(chat, row)
end

--- Fills a buffer. Without lines it gets an empty prompt and its header.
---@param lines? string[]
function M.fill(chat, lines)
  api.nvim_buf_set_lines(chat.buf, 0, -1, false, lines or { M.HEADER, '', '' })
  if lines then return end
  chat.header = nil
  mark_header(chat, 0)
end

---@alias agentchat.SavedMarks table<integer, vim.api.keyset.get_extmark_item[]> by namespace

--- All marks of the plugin in a buffer, for one that is about to lose them.
function M.save(buf)
  local saved = {}
  for name, ns in pairs(api.nvim_get_namespaces()) do
    if vim.startswith(name, 'agentchat.') then
      saved[ns] = api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })
    end
  end
  return saved
end

-- What `nvim_buf_set_extmark` accepts of the details of a mark that this plugin makes.
local DETAILS = {
  'end_row',
  'end_col',
  'end_right_gravity',
  'hl_group',
  'hl_eol',
  'conceal',
  'conceal_lines',
  'url',
  'virt_text',
  'virt_text_pos',
  'priority',
  'invalidate',
  'undo_restore',
  'right_gravity',
}

--- Sets saved marks again, under the same ids.
function M.restore(buf, saved)
  for ns, found in pairs(saved) do
    for _, mark in ipairs(found) do
      local opts = { id = mark[1], strict = false }
      for _, name in ipairs(DETAILS) do
        opts[name] = mark[4][name]
      end
      if not mark[4].invalid then api.nvim_buf_set_extmark(buf, ns, mark[2], mark[3], opts) end
    end
  end
end

--- Moves text that was typed onto the header to the line below it, with the cursor.
local function repair_header(chat, row, line)
  local same = 0
  while same < #M.HEADER and line:byte(same + 1) == M.HEADER:byte(same + 1) do
    same = same + 1
  end
  local rest = line:sub(same + 1)
  local cursors = {}
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    local at = api.nvim_win_get_cursor(win)
    if at[1] == row + 1 then cursors[win] = math.max(0, at[2] - same) end
  end
  local lines = rest ~= '' and { M.HEADER, rest } or { M.HEADER }
  api.nvim_buf_set_lines(chat.buf, row, row + 1, false, lines)
  mark_header(chat, row)
  for win, col in pairs(cursors) do
    pcall(api.nvim_win_set_cursor, win, { row + 2, col })
  end
end

--- Row of the prompt's header. A header the user deleted or wrote over is put back.
---@return integer row 0-based
function M.header(chat)
  local row = M.find(chat.buf, chat.header)
  if not row then
    local lost = chat.header and api.nvim_buf_get_extmark_by_id(chat.buf, M.ns, chat.header, {})
    local at = lost and lost[1] or api.nvim_buf_line_count(chat.buf)
    insert_header(chat, math.min(at, api.nvim_buf_line_count(chat.buf)))
    row = assert(M.find(chat.buf, chat.header))
  end
  if row + 1 >= api.nvim_buf_line_count(chat.buf) then
    api.nvim_buf_set_lines(chat.buf, -1, -1, false, { '' })
  end
  local line = api.nvim_buf_get_lines(chat.buf, row, row + 1, false)[1]
  if line ~= M.HEADER then repair_header(chat, row, line) end
  return row
end

--- The row below the transcript: that of the list of attachments, else of the prompt's header.
function M.transcript_end(chat)
  local header = M.header(chat)
  return math.min(M.find(chat.buf, chat.attached.mark) or header, header)
end

function M.is_intact(chat)
  local row = M.find(chat.buf, chat.header)
  if not row or row + 1 >= api.nvim_buf_line_count(chat.buf) then return false end
  return api.nvim_buf_get_lines(chat.buf, row, row + 1, false)[1] == M.HEADER
end

function M.prompt_lines(chat) return api.nvim_buf_get_lines(chat.buf, M.header(chat) + 1, -1, false) end

function M.prompt_text(chat) return table.concat(M.prompt_lines(chat), '\n') end

function M.set_prompt(chat, text)
  local lines = vim.split(text, '\n', { plain = true })
  api.nvim_buf_set_lines(chat.buf, M.header(chat) + 1, -1, false, lines)
end

return M
