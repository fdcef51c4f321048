-- Tells when what was drawn has been in sight long enough for a key to be meant for it. Time that
-- Neovim spent busy hardly counts: keys pressed meanwhile arrive late, and would look like later ones.

local M = {}

---@class (exact) agentchat.Settle
---@field delay number ms that must pass
---@field calm number ms that passed while Neovim took keys as they came
---@field seen number when that was last looked at, in ms
---@field timer? uv.uv_timer_t

local BEATS = 20 -- looks within the delay
local MOST = 4 -- a pause between two looks counts as a quarter of the delay at most

---@return number
local function now() return vim.uv.hrtime() / 1e6 end

---@param settle agentchat.Settle
local function look(settle)
  local time = now()
  settle.calm = settle.calm + math.min(time - settle.seen, settle.delay / MOST)
  settle.seen = time
  if settle.calm >= settle.delay then M.stop(settle) end
end

--- Begins to count.
---@param delay number ms
---@return agentchat.Settle
function M.start(delay)
  local settle = { delay = delay, calm = 0, seen = now() }
  settle.timer = vim.uv.new_timer()
  local every = math.max(1, math.floor(delay / BEATS))
  if settle.timer then settle.timer:start(every, every, function() look(settle) end) end
  return settle
end

--- Whether it has settled.
---@param settle? agentchat.Settle
---@return boolean
function M.done(settle)
  if not settle then return false end
  if settle.timer then look(settle) end
  return settle.calm >= settle.delay
end

--- Stops counting.
---@param settle? agentchat.Settle
function M.stop(settle)
  if settle and settle.timer then
    settle.timer:close()
    settle.timer = nil
  end
end

return M
