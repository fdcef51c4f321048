--- Whether words can be told from what is behind them.
local M = {}

--- How much lighter the lighter of two colours must be: less cannot be read, even in large letters.
M.LEAST = 1.8

---@param colour integer 0xRRGGBB
---@return number from 0, black, to 1, white, as an eye sees it
local function luminance(colour)
  local sum = 0
  for shift, weight in pairs({ [16] = 0.2126, [8] = 0.7152, [0] = 0.0722 }) do
    local part = bit.band(bit.rshift(colour, shift), 0xff) / 255
    sum = sum + weight * (part <= 0.03928 and part / 12.92 or ((part + 0.055) / 1.055) ^ 2.4)
  end
  return sum
end

--- The ratio of two colours, from 1 for equal ones to 21 for black and white.
---@param one integer 0xRRGGBB
---@param other integer 0xRRGGBB
---@return number
function M.ratio(one, other)
  local light, dark = luminance(one), luminance(other)
  if light < dark then
    light, dark = dark, light
  end
  return (light + 0.05) / (dark + 0.05)
end

--- Whether the words of all these groups can be read on a background.
---@param groups string[]
---@param background? integer 0xRRGGBB; nil for one that nobody knows
---@return boolean
function M.legible(groups, background)
  if not background then return true end
  return vim.iter(groups):all(function(name)
    local fg = vim.api.nvim_get_hl(0, { name = name, link = false }).fg
    return not fg or M.ratio(fg, background) >= M.LEAST
  end)
end

return M
