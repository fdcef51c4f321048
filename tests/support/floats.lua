-- All floating windows with their text, the topmost first.

---@param chunks string|[string, string][]|nil
---@return string
local function flat(chunks)
  if type(chunks) ~= 'table' then return chunks or '' end
  local parts = vim.tbl_map(function(chunk) return chunk[1] end, chunks)
  return table.concat(parts)
end

--- The cells it covers with its border: rows and columns from 0, ends excluded.
local function area(window, config)
  local at = vim.api.nvim_win_get_position(window)
  local border = config.border and config.border ~= 'none' and 2 or 0
  return {
    top = at[1],
    left = at[2],
    bottom = at[1] + config.height + border,
    right = at[2] + config.width + border,
  }
end

local floats = {}
for _, window in ipairs(vim.api.nvim_list_wins()) do
  local config = vim.api.nvim_win_get_config(window)
  if config.relative ~= '' and not config.hide then
    local buffer = vim.api.nvim_win_get_buf(window)
    table.insert(floats, {
      zindex = config.zindex,
      shown = {
        window = window,
        buffer = buffer,
        lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true),
        title = flat(config.title),
        footer = flat(config.footer),
        focused = window == vim.api.nvim_get_current_win(),
        area = area(window, config),
      },
    })
  end
end
table.sort(floats, function(a, b)
  if a.zindex ~= b.zindex then return a.zindex > b.zindex end
  return a.shown.window > b.shown.window
end)
return vim.tbl_map(function(float) return float.shown end, floats)
