--- Undo in the prompt. What the agent writes is no change of the user's: it leaves no step in the undo
--- tree, and because the tree speaks of line numbers its steps are dropped with it. The texts of the
--- prompt they led to are kept here, and `u` continues with them where the tree ends.
local marks = require('agentchat.transcript.marks')

local M = {}

local api = vim.api

local KEPT = 200

---@class agentchat.PromptUndo
---@field past string[] texts of the prompt, the newest last
---@field future string[]
---@field tick integer changedtick after the agent's last write; -1 if the user changed the prompt since
---@field session integer counts stays in insert mode
---@field typed? integer the stay the newest text of `past` was typed in

function M.new(text) return { past = { text }, future = {}, tick = -1, session = 0 } end

--- Keeps the prompt as it is now, if the user changed it since the last write.
function M.keep(chat)
  local undo = chat.undo
  if undo.tick == api.nvim_buf_get_changedtick(chat.buf) then return end
  local text = marks.prompt_text(chat)
  if text == undo.past[#undo.past] then return end
  local typing = vim.startswith(api.nvim_get_mode().mode, 'i') and undo.session or nil
  if typing and undo.typed == typing then table.remove(undo.past) end
  undo.typed = typing
  table.insert(undo.past, text)
  undo.future = {}
  if #undo.past > KEPT then table.remove(undo.past, 1) end
end

--- Whether a line of the prompt is held by its number: where a completion began, or a selection.
--- Neovim does not move those with the text, and would put a word or an operator in the wrong place.
---@param any? boolean any line of the chat, and not only of the prompt
function M.is_held(chat, any)
  if api.nvim_get_current_buf() ~= chat.buf then return false end
  if vim.fn.state('a') ~= '' then return true end
  local selecting = api.nvim_get_mode().mode:find('^[vVsS\22\19]')
  return selecting ~= nil and (any or vim.fn.line('v') - 1 > marks.header(chat))
end

-- With which a buffer is written: no steps to undo, and whatever the user allows or is warned of.
local WRITING = { undolevels = -1, modifiable = true, readonly = false }

--- Sets those of some options of a buffer that differ.
---@return table<string, any> before those that were set, as they were
local function set_options(buf, options)
  local before = {}
  for name, value in pairs(options) do
    local old = vim.bo[buf][name]
    if old ~= value then
      vim.bo[buf][name], before[name] = value, old
    end
  end
  return before
end

--- Writes to a buffer so that nothing of it can be undone, nor anything before it.
function M.write_untracked(buf, write)
  local before = set_options(buf, WRITING)
  local ok, err = pcall(write)
  set_options(buf, before)
  if not ok then error(err, 0) end
end

function M.write_as_agent(chat, write)
  M.keep(chat)
  M.write_untracked(chat.buf, write)
  chat.undo.tick = api.nvim_buf_get_changedtick(chat.buf)
end

--- Writes an older or newer prompt; the one it replaces is kept already.
local function replace_prompt(chat, text)
  chat.undo.tick = api.nvim_buf_get_changedtick(chat.buf)
  M.write_as_agent(chat, function() marks.set_prompt(chat, text) end)
  chat.undo.tick = -1 -- what is drawn on the prompt follows, as after a change of the user's
end

local function tree_has_more()
  local tree = vim.fn.undotree()
  return vim.iter(tree.entries):any(function(entry) return entry.seq <= tree.seq_cur end)
end

--- Undoes the last change: of the undo tree first, then of the prompt as it was before.
function M.undo(chat)
  if tree_has_more() then return vim.cmd.undo() end
  local past, now = chat.undo.past, marks.prompt_text(chat)
  if past[#past] == now and #past > 1 then table.remove(past) end
  if past[#past] == now then return vim.cmd.undo() end -- reports that this is the oldest change
  table.insert(chat.undo.future, now)
  replace_prompt(chat, past[#past])
end

function M.redo(chat)
  local forward = #vim.fn.undotree().entries == 0 and table.remove(chat.undo.future)
  if not forward then return vim.cmd.redo() end
  table.insert(chat.undo.past, forward)
  replace_prompt(chat, forward)
end

return M
