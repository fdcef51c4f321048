--- Colours for a finished text: Markdown and the languages in its code blocks, as extmarks made once.
--- No parser is attached to the buffer, which would parse the growing chat again at every piece.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.markdown')

local LARGEST = 100 * 1024 -- bytes; a longer text stays plain
local MARKS = 20000

---@param lang string
---@return vim.treesitter.Query?
local function highlights(lang)
  local ok, query = pcall(vim.treesitter.query.get, lang, 'highlights')
  return ok and query or nil
end

--- Whether a capture colours something.
local function visible(name)
  return not (
    vim.startswith(name, '_')
    or name == 'spell'
    or name == 'nospell'
    or name == 'conceal'
  )
end

---@param buf integer
---@param row integer of the text's first line
---@param text string
---@param tree TSTree
---@param lang string
---@param left integer marks that may still be made
---@return integer left
local function colour(buf, row, text, tree, lang, left)
  local query = highlights(lang)
  if not query then return left end
  for id, node, metadata in query:iter_captures(tree:root(), text) do
    local name = query.captures[id]
    if left == 0 then return 0 end
    if visible(name) then
      local range = vim.treesitter.get_range(node, text, metadata[id])
      api.nvim_buf_set_extmark(buf, ns, row + range[1], range[2], {
        end_row = row + range[4],
        end_col = range[5],
        hl_group = ('@%s.%s'):format(name, lang),
        priority = (tonumber(metadata.priority) or 100) + (lang == 'markdown' and 0 or 1),
        strict = false,
      })
      left = left - 1
    end
  end
  return left
end

local function decorate(buf, first, last)
  local text = table.concat(api.nvim_buf_get_lines(buf, first, last, false), '\n') .. '\n'
  if #text > LARGEST then return end
  local ok, parser = pcall(vim.treesitter.get_string_parser, text, 'markdown')
  if not ok then return end -- this Neovim has no Markdown parser
  parser:parse(true)
  local left = MARKS
  parser:for_each_tree(
    function(tree, inner) left = colour(buf, first, text, tree, inner:lang(), left) end
  )
end

--- Colours the lines of a finished text, soon: not while a batch of writes is under way.
---@param buf integer
---@param first integer 0-based row
---@param last integer row after the last
function M.decorate(buf, first, last)
  local opts = { end_row = last, end_col = 0, invalidate = true, strict = false }
  local mark = api.nvim_buf_set_extmark(buf, ns, first, 0, opts)
  vim.schedule(function()
    if not api.nvim_buf_is_loaded(buf) then return end
    local at = api.nvim_buf_get_extmark_by_id(buf, ns, mark, { details = true })
    api.nvim_buf_del_extmark(buf, ns, mark)
    if not at[1] or at[3].invalid then return end
    local ok, err = pcall(decorate, buf, at[1], at[3].end_row)
    if not ok then require('agentchat.notice').warn('colours failed: ' .. err) end
  end)
end

return M
