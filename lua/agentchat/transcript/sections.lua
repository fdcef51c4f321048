--- Splits Markdown, line by line as it arrives, into sections that can be highlighted alone: paragraphs
--- and blocks of code.
local M = {}

local LONGEST = 10 -- lines of prose; a longer paragraph is divided, so that parsing is not felt

---@class agentchat.Splitter
---@field fence? string the characters that opened the block of code
---@field lang? string what the fence says of the language, '' for nothing; nil outside of a block
---@field indent integer blanks before the fence, which are no part of the code
---@field ended boolean the line before ended a block of code
---@field blank boolean the line before was blank
---@field count integer lines of the section

---@return agentchat.Splitter
function M.new() return { indent = 0, ended = false, blank = false, count = 0 } end

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

--- Whether a line of prose begins a paragraph. An indented one may belong to the list before it.
local function begins_paragraph(splitter, line)
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
  if begins then begin(splitter) end
  if fence then
    splitter.fence, splitter.indent = fence, #indent
    splitter.lang = info:match('^{?%.?([^%s{},]*)')
  end
  splitter.count = splitter.count + 1
  splitter.blank = line:find('%S') == nil
  return begins
end

return M
