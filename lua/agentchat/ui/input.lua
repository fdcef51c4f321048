-- A float to type in, over the question it belongs to: the reason of a *no*, changed arguments.

local float = require('agentchat.ui.float')
local layout = require('agentchat.ui.layout')
local screen = require('agentchat.ui.screen')

local M = {}

---@class (exact) agentchat.FieldSpec
---@field chat string uuid
---@field title string
---@field hints [string, string][] key and what it does
---@field text string what stands in it at first
---@field filetype string
---@field share number the part of the screen's rows it may have
---@field closed fun(text: string) called once with what stands in it, however the window went

local Z = 70 -- above the question

---@param field agentchat.Float
---@return string
function M.text(field) return table.concat(vim.api.nvim_buf_get_lines(field.buf, 0, -1, true), '\n') end

--- Opens a field and takes the user into it.
---@param spec agentchat.FieldSpec
---@return agentchat.Float
function M.open(spec)
  local _, line = screen.border()
  local field
  field = float.open({
    filetype = spec.filetype,
    chat = spec.chat,
    zindex = Z,
    editable = true,
    place = layout.centre,
    share = spec.share,
    least = 64,
    title = function(width)
      local title = ' ' .. layout.cut(spec.title, width - 4) .. ' '
      return { layout.on_edge(line), layout.on_edge(title, 'AgentChatTitle') }
    end,
    footer = function()
      return vim.list_extend({ layout.on_edge(line) }, layout.hints(spec.hints, #spec.hints))
    end,
    closed = function() spec.closed(M.text(field)) end,
  })
  float.draw(field, { lines = vim.split(spec.text, '\n'), rows = {} })
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
    buffer = field.buf,
    callback = function() float.refit(field) end,
  })
  float.enter(field)
  return field
end

--- Makes `:w` and <C-s> call `take` with the text of the field; "q" and <Esc> close it.
---@param field agentchat.Float
---@param name string of the buffer, which `:w` shows
---@param take fun(text: string): boolean whether the text is taken
---@param taken fun(text: string) called once the field is gone
function M.writes(field, name, take, taken)
  local buf = field.buf
  vim.bo[buf].buftype = 'acwrite'
  vim.api.nvim_buf_set_name(buf, ('agentchat://%s/%d'):format(name, buf))
  vim.bo[buf].modified = false
  local function write()
    local text = M.text(field)
    if not take(text) then return end
    vim.bo[buf].modified = false
    -- Later, as `:wq` still has a window to quit and must find this one, not the chat's.
    vim.schedule(function()
      float.close(field)
      taken(text)
    end)
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buf, callback = write })
  M.map(field, { 'n', 'i' }, { '<C-s>' }, function()
    vim.cmd.stopinsert()
    vim.cmd.write()
  end)
  M.map(field, { 'n' }, { 'q', '<Esc>' }, function() float.close(field) end)
end

--- Maps keys of the field.
---@param field agentchat.Float
---@param modes string[]
---@param keys string[]
---@param action fun()
function M.map(field, modes, keys, action)
  for _, key in ipairs(keys) do
    vim.keymap.set(modes, key, action, { buffer = field.buf, nowait = true })
  end
end

return M
