-- Keeps keys from doing what they were not meant for: tells apart a key that a person pressed and one that
-- a macro or a plugin made, waits until the user's keys rest, and until what was drawn has been visible
-- for long enough.

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('agentchat.keypress')
local typed, listeners = '', 0

--- Begins to listen; needed before `is_deliberate`. Each call needs a `stop_listening`.
function M.listen()
  listeners = listeners + 1
  vim.on_key(function(_, keys) typed = keys end, ns)
end

function M.stop_listening()
  listeners = listeners - 1
  if listeners == 0 then vim.on_key(nil, ns) end
end

--- Whether the mapping that runs now was called by one key that a person pressed. Keys mapped to
--- `<Nop>` are reported together with the next one, which a plugin may have made: with `key` nothing
--- else may have been typed.
---@param key? string of the mapping, where it is a single key
function M.is_deliberate(key)
  local pressed = typed ~= '' and (key == nil or typed == vim.keycode(key))
  -- In insert mode the count is that of the last command.
  local counted = vim.v.count ~= 0 and not vim.startswith(api.nvim_get_mode().mode, 'i')
  return pressed and not counted and vim.fn.reg_executing() == ''
end

--- What a key is mapped to that must do nothing. Not `<Nop>`: Neovim would count that press with the
--- next key, whoever made it.
function M.nothing() end

local MOST_AHEAD = 1000 -- keys; of more, `getchar()` sees one that it cannot take

--- Forgets what was typed ahead: it was meant for the float that closes, not for the next window.
function M.drain()
  for _ = 1, MOST_AHEAD do
    if vim.fn.getchar(1) == 0 or vim.fn.getchar(0) == 0 then return end
  end
end

local TICK = 50 -- ms

---@type table<string, { timer: uv.uv_timer_t, pressed: integer, ns: integer }>
local resting = {}

--- Cancels the action that waits under a name.
function M.stop_waiting(name)
  local rest = resting[name]
  if not rest then return end
  resting[name] = nil
  vim.on_key(nil, rest.ns)
  rest.timer:stop()
  rest.timer:close()
end

--- Calls `act` once no key has come for a while and `ready` agrees. It replaces what waited under the
--- same name before.
---@param pause integer ms without a key
function M.when_keys_rest(name, pause, ready, act)
  M.stop_waiting(name)
  local rest = {
    timer = assert(vim.uv.new_timer()),
    pressed = vim.uv.now(),
    ns = api.nvim_create_namespace('agentchat.rest.' .. name),
  }
  resting[name] = rest
  vim.on_key(function() rest.pressed = vim.uv.now() end, rest.ns)
  local function look()
    if resting[name] ~= rest or vim.uv.now() - rest.pressed < pause or not ready() then return end
    M.stop_waiting(name)
    act()
  end
  rest.timer:start(0, TICK, vim.schedule_wrap(look))
end

-- Time that Neovim spent busy hardly counts: keys pressed meanwhile arrive late, and would look like
-- later ones.
---@class (exact) agentchat.Countdown since something was drawn
---@field delay number ms that must pass
---@field passed number ms that passed while Neovim handled keys as they came
---@field seen number when that was last looked at, in ms
---@field timer? uv.uv_timer_t

local BEATS = 20 -- looks within the delay
local MOST = 4 -- a pause between two looks counts as a quarter of the delay at most

local function now() return vim.uv.hrtime() / 1e6 end

local function look(countdown)
  local time = now()
  countdown.passed = countdown.passed + math.min(time - countdown.seen, countdown.delay / MOST)
  countdown.seen = time
  if countdown.passed >= countdown.delay then M.stop_countdown(countdown) end
end

function M.start_countdown(delay)
  local countdown = { delay = delay, passed = 0, seen = now() }
  countdown.timer = vim.uv.new_timer()
  local every = math.max(1, math.floor(delay / BEATS))
  if countdown.timer then countdown.timer:start(every, every, function() look(countdown) end) end
  return countdown
end

function M.is_over(countdown)
  if not countdown then return false end
  if countdown.timer then look(countdown) end
  return countdown.passed >= countdown.delay
end

function M.stop_countdown(countdown)
  if countdown and countdown.timer then
    countdown.timer:close()
    countdown.timer = nil
  end
end

return M
