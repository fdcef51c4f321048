--- One-line messages to the user, which never stop at a hit-enter prompt.
local M = {}

--- Puts a text into the history of messages. Neovim can only do that by showing it, for no time.
---@param text string
local function record(text)
  local shown = vim.o.messagesopt
  vim.o.messagesopt = shown:gsub('hit%-enter', 'wait:0')
  vim.api.nvim_echo({ { text } }, true, {})
  vim.o.messagesopt = shown
  vim.cmd.redraw()
end

--- A text too wide for the message line loses its middle; `:messages` has the whole.
---@param text string
---@return string
local function fit(text)
  local room = math.max(vim.v.echospace, 20)
  if vim.fn.strdisplaywidth(text) <= room then return text end
  record(text)
  local half = math.floor((room - 1) / 2)
  local length = vim.fn.strchars(text)
  return vim.fn.strcharpart(text, 0, half) .. '…' .. vim.fn.strcharpart(text, length - half)
end

--- Says a line. Soon, not now: an error that is shown while a command runs would end the command.
---@param level integer
---@return fun(text: string)
local function say(level)
  return function(text)
    local line = 'agentchat: ' .. text:gsub('%s*[\r\n]+%s*', ' ')
    vim.schedule(function()
      -- A message below another one scrolls the screen, and Neovim waits for <Enter>.
      vim.cmd.redraw()
      vim.notify(fit(line), level, { title = 'agentchat' })
    end)
  end
end

M.info = say(vim.log.levels.INFO)
M.warn = say(vim.log.levels.WARN)
M.error = say(vim.log.levels.ERROR)

return M
