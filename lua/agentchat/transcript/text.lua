--- Splits text into lines that a buffer can hold and a screen can draw.
local M = {}

--- A longer line is broken: one line of megabytes makes every redraw slow.
M.WIDEST = 8192

--- The largest cut at or before `at` that does not split a character.
local function cut_at(text, at)
  local start = at + 1 + vim.str_utf_start(text, at + 1)
  return start > 1 and start - 1 or at
end

local function break_line(line, room, out)
  while #line > room do
    local at = cut_at(line, room)
    table.insert(out, line:sub(1, at))
    line, room = line:sub(at + 1), M.WIDEST
  end
  table.insert(out, line)
end

--- Splits text at its line ends; very long lines are broken.
---@param column? integer bytes the line already has that the first piece goes to
function M.split(text, column)
  local out = {}
  local room = math.max(M.WIDEST - (column or 0), 4)
  for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
    line = line:gsub('\r$', '')
    if #line > room then
      break_line(line, room, out)
    else
      table.insert(out, line)
    end
    room = M.WIDEST
  end
  return out
end

--- A list of lines, each without a line end.
function M.to_lines(value)
  if type(value) == 'string' then return M.split(value) end
  local out = {}
  for _, line in ipairs(value) do
    if #line <= M.WIDEST and not line:find('[\r\n]') then
      out[#out + 1] = line
    else
      vim.list_extend(out, M.split(line))
    end
  end
  return out
end

--- One line: what would end it is shown as a sign.
function M.one_line(text) return (text:gsub('%s*\r?\n%s*', ' ⏎ ')) end

function M.trim(lines)
  local first, last = 1, #lines
  while first <= last and not lines[first]:find('%S') do
    first = first + 1
  end
  while last >= first and not lines[last]:find('%S') do
    last = last - 1
  end
  return table.concat(lines, '\n', first, last)
end

return M
