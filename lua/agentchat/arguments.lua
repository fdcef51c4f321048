-- Lets the user change the arguments of a call before it runs.

local field = require('agentchat.field')
local float = require('agentchat.float')
local notice = require('agentchat.notice')

local M = {}

--- What is wrong with `text` as arguments, if anything.
---@param text string
---@return string?
local function problem(text)
  local ok, found = pcall(vim.json.decode, text)
  if not ok then return 'Not valid JSON: ' .. tostring(found):gsub('^%S-:%d+: ', '') .. '.' end
  local object = type(found) == 'table' and (next(found) == nil or not vim.islist(found))
  return not object and 'Arguments are one JSON object: { … }.' or nil
end

--- Makes `:w` of the field call `written` with its text.
---@param buf integer
---@param written fun(text: string)
local function on_write(buf, written)
  vim.bo[buf].buftype = 'acwrite'
  vim.api.nvim_buf_set_name(buf, 'agentchat://arguments/' .. buf)
  vim.bo[buf].modified = false
  local function write()
    local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
    local wrong = problem(text)
    if wrong then return notice.warn(wrong) end
    vim.bo[buf].modified = false
    written(text)
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buf, callback = write })
end

--- Opens an editor on the arguments. At most one of `send` and `back` is called, once.
---@param asking agentchat.Asking
---@return agentchat.Float
function M.open(asking)
  local sent = false
  local open = field.open({
    chat = asking.chat,
    title = asking.title,
    hints = { { ':w', 'use these' }, { 'q', 'back' } },
    text = asking.text,
    filetype = 'json',
    share = 0.75,
    closed = function(text)
      if not sent then asking.back(text) end
    end,
  })
  on_write(open.buf, function(text)
    sent = true
    -- Later, as `:wq` still has a window to quit and must find this one, not the chat's.
    vim.schedule(function()
      float.close(open)
      asking.send(text)
    end)
  end)
  field.map(open, { 'n', 'i' }, { '<C-s>' }, function()
    vim.cmd.stopinsert()
    vim.cmd.write()
  end)
  field.map(open, { 'n' }, { 'q', '<Esc>' }, function() float.close(open) end)
  return open
end

return M
