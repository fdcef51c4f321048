-- Runs something once the user's keys rest, so that it takes none that was meant for something else.

local M = {}

local api = vim.api
local TICK = 50 -- ms

---@class (exact) agentchat.Calm
---@field timer uv.uv_timer_t
---@field pressed integer ms, when the last key came
---@field ns integer

---@type table<string, agentchat.Calm>
local waiting = {}

--- Gives up what waits under a name.
---@param name string
function M.stop(name)
  local it = waiting[name]
  if not it then return end
  waiting[name] = nil
  vim.on_key(nil, it.ns)
  it.timer:stop()
  it.timer:close()
end

--- Calls `act` once no key has come for a while and `ready` says yes. What waited under the same
--- name before does not count any more.
---@param name string
---@param rest integer ms without a key
---@param ready fun(): boolean
---@param act fun()
function M.wait(name, rest, ready, act)
  M.stop(name)
  local it = {
    timer = assert(vim.uv.new_timer()),
    pressed = vim.uv.now(),
    ns = api.nvim_create_namespace('agentchat.calm.' .. name),
  }
  waiting[name] = it
  vim.on_key(function() it.pressed = vim.uv.now() end, it.ns)
  local function look()
    if waiting[name] ~= it or vim.uv.now() - it.pressed < rest or not ready() then return end
    M.stop(name)
    act()
  end
  it.timer:start(0, TICK, vim.schedule_wrap(look))
end

return M
