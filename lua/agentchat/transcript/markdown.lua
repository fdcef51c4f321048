--- Colours for a finished text: Markdown and the languages in its code blocks, as extmarks made once.
--- No parser is attached to the buffer, which would parse the growing chat again at every piece.
local render = require('agentchat.ui.render')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.markdown')

local LARGEST = 100 * 1024 -- bytes; a longer text stays plain
local MARKS = 20000

local function highlights(lang)
  local ok, query = pcall(vim.treesitter.query.get, lang, 'highlights')
  return ok and query or nil
end

local function has_colour(name)
  return not (
    vim.startswith(name, '_')
    or name == 'spell'
    or name == 'nospell'
    or name == 'conceal'
  )
end

--- Where the text is now; nil if it was deleted.
---@return integer? first, integer? last rows, the last one excluded
local function current_rows(painting)
  if not api.nvim_buf_is_loaded(painting.buf) then return nil end
  local at = api.nvim_buf_get_extmark_by_id(painting.buf, ns, painting.mark, { details = true })
  if at[1] and not at[3].invalid then return at[1], at[3].end_row end
end

local function colour(painting, row, lang, name, range, priority)
  api.nvim_buf_set_extmark(painting.buf, ns, row + range[1], range[2], {
    end_row = row + range[4],
    end_col = range[5],
    hl_group = ('@%s.%s'):format(name, lang),
    priority = priority + (lang == 'markdown' and 0 or 1),
    strict = false,
  })
  painting.left = painting.left - 1
end

--- Colours what one tree knows; gives way after each mark.
local function paint(painting, tree, lang, row)
  local query = highlights(lang)
  if not query then return end
  for id, node, metadata in query:iter_captures(tree:root(), painting.text) do
    local name, first = query.captures[id], row()
    if not first or painting.left == 0 then return end
    if has_colour(name) then
      local range = vim.treesitter.get_range(node, painting.text, metadata[id])
      colour(painting, first, lang, name, range, tonumber(metadata.priority) or 100)
    end
  end
end

local function paint_all(painting, parser, pause)
  local first = current_rows(painting)
  local function row()
    if pause() then first = current_rows(painting) end
    return first
  end
  parser:for_each_tree(function(tree, inner) paint(painting, tree, inner:lang(), row) end)
end

local function start(buf, mark)
  -- The extmark moves with the text; `left` counts the marks that may still be made.
  local painting = { buf = buf, mark = mark, text = '', left = MARKS }
  local function done()
    if api.nvim_buf_is_loaded(buf) then api.nvim_buf_del_extmark(buf, ns, mark) end
  end
  local first, last = current_rows(painting)
  if not first then return done() end
  painting.text = table.concat(api.nvim_buf_get_lines(buf, first, last, false), '\n') .. '\n'
  local ok, parser = pcall(vim.treesitter.get_string_parser, painting.text, 'markdown')
  -- This Neovim may have no Markdown parser.
  if not ok or #painting.text > LARGEST then return done() end
  parser:parse(true, function(err)
    if err then return done() end
    render.in_slices(function(pause)
      paint_all(painting, parser, pause)
      done()
    end, function() return api.nvim_buf_is_loaded(buf) end)
  end)
end

--- Colours the lines of a finished text, soon and in slices: not while a batch of writes is under
--- way, and never long enough to be felt.
---@param last integer row after the last
function M.decorate(buf, first, last)
  local opts = { end_row = last, end_col = 0, invalidate = true, strict = false }
  local mark = api.nvim_buf_set_extmark(buf, ns, first, 0, opts)
  vim.schedule(function()
    if api.nvim_buf_is_loaded(buf) then start(buf, mark) end
  end)
end

return M
