-- A float to type in, over the one it belongs to: a reason, a comment, changed arguments.

local float = require('agentchat.ui.float')
local layout = require('agentchat.ui.layout')
local notify = require('agentchat.notify')
local render = require('agentchat.ui.render')

local M = {}

---@class (exact) agentchat.InputSpec
---@field chat string uuid
---@field title string
---@field text string what it shows at first
---@field share? number the part of the screen's rows it may have
---@field filetype? string
---@field send fun(text: string)
---@field back? fun(text: string) called when it is closed without sending

---@class (exact) agentchat.EditorSpec: agentchat.InputSpec
---@field name string of the buffer, which `:w` shows
---@field use string what `:w` does
---@field problem? fun(text: string): string? why the text cannot be sent

local BOTH = { 'n', 'i' }
local Z = 70 -- above the approval request

local function text_of(input)
  return table.concat(vim.api.nvim_buf_get_lines(input.buf, 0, -1, true), '\n')
end

---@param hints [string, string][] key and what it does
---@return fun(): string send marks the text as sent; returns it
local function open(spec, hints)
  local sent, input = false, nil
  input = float.open({
    filetype = spec.filetype or 'agentchat-reason',
    chat = spec.chat,
    zindex = Z,
    editable = true,
    place = layout.centre,
    share = spec.share or 0.3,
    least = 64,
    title = function(width) return layout.title(spec.title, width) end,
    footer = function() return layout.hints(hints, #hints) end,
    closed = function()
      if not sent and spec.back then spec.back(text_of(input)) end
    end,
  })
  float.draw(input, { lines = vim.split(spec.text, '\n'), rows = {} })
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
    buffer = input.buf,
    callback = function() float.refit(input) end,
  })
  float.enter(input)
  return input, function()
    sent = true
    return text_of(input)
  end
end

--- Asks for a short text, which may be empty. Exactly one of `send` and `back` is called, once.
function M.ask(spec)
  local input, send = open(spec, { { '<CR>', 'send' }, { '<Esc>', 'back' } })
  render.map(input.buf, { '<CR>', '<C-s>' }, function()
    local text = vim.trim(send())
    vim.cmd.stopinsert()
    float.close(input)
    spec.send(text)
  end, 'Send', BOTH)
  render.map(input.buf, { '<Esc>', '<C-c>' }, function()
    vim.cmd.stopinsert()
    float.close(input)
  end, 'Back', BOTH)
  vim.cmd.startinsert({ bang = true })
  return input
end

--- Opens a text for editing: `:w` and <C-s> send it, "q" and <Esc> close it.
---@param spec agentchat.EditorSpec
function M.edit(spec)
  local input, send = open(spec, { { ':w', spec.use }, { 'q', 'back' } })
  local buf = input.buf
  vim.bo[buf].buftype = 'acwrite'
  vim.api.nvim_buf_set_name(buf, ('agentchat://%s/%d'):format(spec.name, buf))
  vim.bo[buf].modified = false
  local function write()
    local problem = spec.problem and spec.problem(text_of(input))
    if problem then return notify.warn(problem) end
    local text = send()
    vim.bo[buf].modified = false
    -- Later, as `:wq` still has a window to quit and must find this one, not the chat's.
    vim.schedule(function()
      float.close(input)
      spec.send(text)
    end)
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buf, callback = write })
  render.map(buf, { '<C-s>' }, function()
    vim.cmd.stopinsert()
    vim.cmd.write()
  end, 'Send', BOTH)
  render.map(buf, { 'q', '<Esc>' }, function() float.close(input) end, 'Back')
  return input
end

return M
