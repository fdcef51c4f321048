--- Splits Markdown, line by line as it arrives, into sections that can be highlighted alone: paragraphs,
--- blocks of code and tables.
local M = {}

local LONGEST_TABLE = 200 -- lines; the rest is aligned on its own
local LONGEST = 10 -- lines of prose; a longer paragraph is divided, so that parsing is not felt

---@class agentchat.Splitter
---@field fence? string the characters that opened the block of code
---@field lang? string what the fence says of the language, '' for nothing; nil outside of a block
---@field is_table boolean whether the section is a table
---@field indent integer blanks before the fence, which are no part of the code
---@field ended boolean the line before ended a block of code
---@field blank boolean the line before was blank
---@field count integer lines of the section

---@return agentchat.Splitter
function M.new() return { indent = 0, is_table = false, ended = false, blank = false, count = 0 } end

---@return string? fence, string? info, string? indent
local function opening(line)
  local indent, fence, info = line:match('^(%s*)(```+)%s*([^`]*)$')
  if not fence then
    indent, fence, info = line:match('^(%s*)(~~~+)%s*(.*)$')
  end
  return fence, info, indent
end

local function closes(line, fence)
  local marks = line:match('^%s*([`~]+)%s*$')
  return marks ~= nil and #marks >= #fence and marks:gsub(vim.pesc(fence:sub(1, 1)), '') == ''
end

local function begin(splitter)
  splitter.fence, splitter.lang, splitter.indent = nil, nil, 0
  splitter.ended, splitter.count = false, 0
end

local function is_row(line) return line:find('^ ? ? ?|') ~= nil end

--- Whether a line can be one of a table without outer bars, if it begins a paragraph or follows one of
--- a table.
local function has_bar(line) return line:find('[^|\\`]|') ~= nil and line:find('^ ? ? ?%S') ~= nil end

local function is_of_table(splitter, line)
  if is_row(line) then return true end
  return has_bar(line) and (splitter.is_table or splitter.blank or splitter.count == 0)
end

--- Whether a line of prose begins a table or a paragraph. An indented one may belong to the list before
--- it.
local function begins_paragraph(splitter, line)
  if is_of_table(splitter, line) ~= splitter.is_table then return true end
  if splitter.is_table then return splitter.count >= LONGEST_TABLE end
  if splitter.ended or splitter.count >= LONGEST then return true end
  return splitter.blank and line:find('^%S') ~= nil
end

--- Takes the next line.
---@return boolean begins whether a section begins with it, which `lang` and `indent` then describe
function M.step(splitter, line)
  if splitter.fence then
    splitter.ended = closes(line, splitter.fence)
    if splitter.ended then splitter.fence = nil end
    return false
  end
  local fence, info, indent = opening(line)
  local begins = fence ~= nil or begins_paragraph(splitter, line)
  local is_table = not fence and is_of_table(splitter, line)
  if begins then begin(splitter) end
  splitter.is_table = is_table
  if fence then
    splitter.fence, splitter.indent = fence, #indent
    splitter.lang = info:match('^{?%.?([^%s{},]*)')
  end
  splitter.count = splitter.count + 1
  splitter.blank = line:find('%S') == nil
  return begins
end

return M
