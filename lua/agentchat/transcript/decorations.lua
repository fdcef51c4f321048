--- What is drawn over a line of a text while the text stays as it is.
---
--- The decorations of a line are one string, so that two can be compared: parts divided by blanks.
---
---     4:9:Group:priority    highlights bytes 4 to 9, the last one excluded
---     4:9:conceal=          hides them; `conceal=•` shows that character in their place
---     4:9:show=<            the same, in the colour of text
---     4:9:url=https://…     says where they lead
---     9:9:pad=3             draws three blanks before byte 9; `pad=3─` draws that character
---     9:9:rule=1            draws a line from byte 9 to the edge of the window, after one blank
---     0:0:fold=             hides the whole line
---     0:0:number=12          draws the number of a line before it, which is not yanked with it
---     0:0:records=…         draws lines below it, each a name and a text
---     0:0:line=Group        highlights the whole line, below its other highlights
local M = {}

local api = vim.api

local PRIORITY = 101 -- of a highlight that has none
local BELOW = 95 -- of a whole line
local RULE = 'AgentChatRule'
local WIDEST = 500 -- cells of a rule; Neovim cuts it at the edge of the window

---@return string
function M.highlight(first, last, group, priority)
  local text = ('%d:%d:%s'):format(first, last, group)
  return priority and ('%s:%d'):format(text, priority) or text
end

---@param character? string shown in place of the text
function M.conceal(first, last, character)
  return ('%d:%d:conceal=%s'):format(first, last, character or '')
end

---@param character string
function M.show(first, last, character) return ('%d:%d:show=%s'):format(first, last, character) end

---@return string decorations that show each byte of a part of a line as a character
function M.replace(first, last, character)
  local out = {}
  for column = first, last - 1 do
    table.insert(out, M.conceal(column, column + 1, character))
  end
  return table.concat(out, ' ')
end

function M.url(first, last, url) return ('%d:%d:url=%s'):format(first, last, url) end

---@param cells integer
---@param character? string default: a blank
function M.pad(column, cells, character)
  return ('%d:%d:pad=%d%s'):format(column, column, cells, character or '')
end

---@param apart? boolean with a blank before it
function M.rule(column, apart) return ('%d:%d:rule=%d'):format(column, column, apart and 1 or 0) end

M.FOLDED = '0:0:fold='

---@param width integer cells
function M.number(number, width)
  return ('0:0:number=%s'):format(('_'):rep(width - #tostring(number)) .. number)
end

---@param records [string, string][] names and texts
function M.records(records)
  local lines = vim.tbl_map(function(record) return table.concat(record, '\t') end, records)
  return '0:0:records=' .. vim.uri_encode(table.concat(lines, '\n'), 'rfc3986')
end

function M.line(group) return '0:0:line=' .. group end

---@class agentchat.HiddenPart of a line; columns in bytes
---@field first integer
---@field last integer
---@field cells integer of the screen, less those of what is shown in its place

--- What the decorations of a line hide of it, in order.
---@param text string of the line
---@return agentchat.HiddenPart[]
function M.hidden_parts(text, decorations)
  local out = {}
  for first, last, kind, value in decorations:gmatch('(%d+):(%d+):(%l+)=(%S*)') do
    if kind == 'conceal' or kind == 'show' then
      local cells = api.nvim_strwidth(text:sub(first + 1, last)) - api.nvim_strwidth(value)
      table.insert(out, { first = tonumber(first), last = tonumber(last), cells = cells })
    end
  end
  table.sort(out, function(a, b) return a.first < b.first end)
  return out
end

---@type table<string, fun(value: string): vim.api.keyset.set_extmark>
local KINDS = {
  conceal = function(value) return { conceal = value, hl_group = value ~= '' and RULE or nil } end,
  show = function(value) return { conceal = value, hl_group = 'Normal' } end,
  url = function(value) return { url = value } end,
  pad = function(value)
    local cells, character = value:match('^(%d+)(.*)$')
    local text = (character == '' and ' ' or character):rep(tonumber(cells))
    return { virt_text = { { text, RULE } }, virt_text_pos = 'inline' }
  end,
  rule = function(blanks)
    local text = (' '):rep(tonumber(blanks)) .. ('─'):rep(WIDEST)
    return { virt_text = { { text, RULE } }, virt_text_pos = 'overlay' }
  end,
  fold = function() return { conceal_lines = '' } end,
  number = function(value)
    local text = value:gsub('_', ' ') .. '  '
    return { virt_text = { { text, 'AgentChatLineNr' } }, virt_text_pos = 'inline' }
  end,
  records = function(value)
    local lines = vim.split(vim.uri_decode(value), '\n')
    local drawn = vim.tbl_map(function(line)
      local name, text = line:match('^([^\t]*)\t(.*)$')
      return { { name, 'AgentChatFact' }, { text, 'Normal' } }
    end, lines)
    return { virt_lines = drawn }
  end,
}

---@return vim.api.keyset.set_extmark look, boolean? changes whether it changes what is seen of the text
local function look_of(part, row)
  local kind, value = part:match('^(%l+)=(.*)$')
  if kind == 'line' then
    return { end_row = row + 1, end_col = 0, hl_group = value, hl_eol = true, priority = BELOW }
  end
  if kind then return KINDS[kind](value), true end
  local group, priority = part:match('^([^:]+):?(%d*)$')
  return { hl_group = group, priority = tonumber(priority) or PRIORITY }
end

--- Whether every window of a buffer shows its text as it is: 'conceallevel' is 0 there.
function M.is_raw(buf)
  local wins = vim.fn.win_findbuf(buf)
  return #wins > 0 and vim.iter(wins):all(function(win) return vim.wo[win].conceallevel == 0 end)
end

---@type table<integer, table<integer, vim.api.keyset.set_extmark>> by buffer and extmark
local withheld = {}

--- What of the look of an extmark is text that is not in the buffer.
local function virtual_of(look)
  if not (look.virt_text or look.virt_lines) then return nil end
  return {
    virt_text = look.virt_text,
    virt_text_pos = look.virt_text and look.virt_text_pos,
    virt_lines = look.virt_lines,
  }
end

--- Draws a decoration; text that is not in the buffer is kept back while that is shown as it is.
local function place(buf, ns, row, column, look)
  local virtual = virtual_of(look)
  if not (virtual and M.is_raw(buf)) then
    return api.nvim_buf_set_extmark(buf, ns, row, column, look)
  end
  withheld[buf] = withheld[buf] or {}
  withheld[buf][api.nvim_buf_set_extmark(buf, ns, row, column, { strict = false })] = virtual
end

local function hide_virtual(buf, ns)
  withheld[buf] = withheld[buf] or {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    local id, row, column, look = unpack(mark)
    local virtual = virtual_of(look)
    if virtual then
      withheld[buf][id] = virtual
      api.nvim_buf_set_extmark(buf, ns, row, column, { id = id })
    end
  end
end

local function show_virtual(buf, ns)
  for id, look in pairs(withheld[buf] or {}) do
    local at = api.nvim_buf_get_extmark_by_id(buf, ns, id, {})
    look.id = id
    if at[1] then api.nvim_buf_set_extmark(buf, ns, at[1], at[2], look) end
  end
  withheld[buf] = nil
end

--- Shows or hides text that is not in the buffer, after 'conceallevel' was set.
function M.follow_conceallevel(buf, ns)
  if M.is_raw(buf) then return hide_virtual(buf, ns) end
  show_virtual(buf, ns)
end

--- Draws the decorations of a line in place of those it has.
---@param shift integer columns by which they are moved
---@param plain boolean only highlights
function M.draw(buf, ns, row, shift, decorations, plain)
  -- Clearing the row would take the highlight of the whole line above along.
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, ns, { row, 0 }, { row, -1 }, {})) do
    api.nvim_buf_del_extmark(buf, ns, mark[1])
  end
  for first, last, part in decorations:gmatch('(%d+):(%d+):(%S+)') do
    local look, changes = look_of(part, row)
    if not (plain and changes) then
      if last ~= first then look.end_col = last + shift end
      look.strict = false
      place(buf, ns, row, first + shift, look)
    end
  end
end

return M
