--- One-line messages to the user, which never stop at a hit-enter prompt.
local M = {}

local GROUPS = { [vim.log.levels.WARN] = 'WarningMsg', [vim.log.levels.ERROR] = 'ErrorMsg' }

local function notify(line, level) vim.notify(line, level, { title = 'agentchat' }) end

local function newest() return vim.trim(vim.fn.execute('1messages')) end

--- A text without what a terminal may obey: control characters, those of C1 and bytes that are no
--- UTF-8 included. Line breaks and tabs stay.
---@return string
function M.printable(text)
  return (text:gsub('[%z\1-\8\11-\31\127]', ' '):gsub('[^\n\t]+', vim.fn.strtrans))
end

--- The beginning of a text, which says what is wrong and why, up to the end of a word.
local function fit(text, room)
  local kept = vim.fn.strcharpart(text, 0, room - 1)
  while vim.fn.strdisplaywidth(kept) > room - 1 do
    kept = vim.fn.strcharpart(kept, 0, vim.fn.strchars(kept) - 1)
  end
  return (kept:match('^(.*%S)%s+%S*$') or kept) .. '…'
end

--- Sets 'messagesopt' without autocommands, as the change lasts only for one message.
local function set_quietly(value)
  vim.cmd.set({ args = { 'messagesopt=' .. value }, mods = { noautocmd = true } })
end

--- Shows a text that is too wide for the message line. If it was shown there, the line is cut at
--- its end; `:messages` has the whole, for which Neovim must show it, for 0 ms.
local function notify_wide(text, level, room)
  local shown = vim.o.messagesopt
  set_quietly(shown:gsub('hit%-enter', 'wait:0'))
  local ok, problem = pcall(notify, text, level)
  set_quietly(shown)
  if not ok then error(problem, 0) end
  if newest() ~= vim.trim(text) then return end
  vim.cmd.redraw()
  vim.api.nvim_echo({ { fit(text, room), GROUPS[level] } }, false, {})
end

--- Shows a line, scheduled: an error shown while a command runs would end the command.
local function shows(level)
  return function(text)
    vim.schedule(function()
      local line = 'agentchat: ' .. M.printable(text:gsub('%s*[\r\n]+%s*', ' '))
      -- A message below another one scrolls the screen, and Neovim waits for <Enter>.
      vim.cmd.redraw()
      local room = math.max(vim.v.echospace, 20)
      if vim.fn.strdisplaywidth(line) <= room then return notify(line, level) end
      notify_wide(line, level, room)
    end)
  end
end

M.info = shows(vim.log.levels.INFO)
M.warn = shows(vim.log.levels.WARN)
M.error = shows(vim.log.levels.ERROR)

local warned = {}

--- Shows a warning that has not been shown yet, whichever chat it is about.
function M.warn_once(text)
  if warned[text] then return end
  warned[text] = true
  M.warn(text)
end

--- Shows what is wrong in the settings, several things as one message.
---@param problems string[]
function M.warn_of_settings(problems)
  local new = vim.tbl_filter(function(problem) return not warned[problem] end, problems)
  if #new < 2 then return vim.tbl_map(M.warn_once, new) end
  for _, problem in ipairs(new) do
    warned[problem] = true
  end
  M.warn(('%d settings are wrong: %s'):format(#new, table.concat(new, '; ')))
end

return M
