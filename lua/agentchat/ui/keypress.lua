-- Tells a key that a person pressed from one that a macro, `:normal`, a count or a plugin made.

local M = {}

local ns = vim.api.nvim_create_namespace('agentchat.keypress')
local typed, listeners = '', 0

--- Begins to listen; needed before `deliberate` can tell anything. Each call needs a `deafen`.
function M.listen()
  listeners = listeners + 1
  vim.on_key(function(_, keys) typed = keys end, ns)
end

--- Stops listening, when nobody else does.
function M.deafen()
  listeners = listeners - 1
  if listeners == 0 then vim.on_key(nil, ns) end
end

--- Whether the mapping that runs now was called by one key that a person pressed. Keys mapped to
--- `<Nop>` are told together with the next one, which a plugin may have made: with `key` nothing
--- else may have been typed.
---@param key? string of the mapping, where it is a single key
---@return boolean
function M.deliberate(key)
  local pressed = typed ~= '' and (key == nil or typed == vim.keycode(key))
  return pressed and vim.v.count == 0 and vim.fn.reg_executing() == ''
end

--- What a dead key is mapped to. Not `<Nop>`: Neovim would count that press with the next key,
--- whoever made it.
function M.nothing() end

local MOST_AHEAD = 1000 -- keys; where more stand, `getchar()` sees one that it cannot take

--- Forgets what was typed ahead.
function M.drain()
  for _ = 1, MOST_AHEAD do
    if vim.fn.getchar(1) == 0 or vim.fn.getchar(0) == 0 then return end
  end
end

return M
