-- Highlight groups of the extmarks on the first place of a text in a buffer.

local text, buffer = ...

local groups = {}
for row, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) do
  local column = line:find(text, 1, true)
  if column then
    for _, mark in ipairs(vim.inspect_pos(buffer, row - 1, column - 1).extmarks) do
      table.insert(groups, mark.opts.hl_group)
    end
    return groups
  end
end
return groups
