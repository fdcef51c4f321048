-- Notes when each question was drawn and answered, and shows the next one after an answer.

local rpc = require('agentchat.host.rpc')
local M = { drawn = {}, answers = {}, waiting = {} }
_G.storm = M

vim.keymap.set('n', 'q', '<Nop>') -- a macro recorded into itself would run for ever
vim.fn.setreg('q', 'aaA')

local function now() return vim.uv.hrtime() / 1e9 end

local panels = require('agentchat.ui.panel')
local show = panels.show
panels.show = function(panel, form)
  local shown = show(panel, form)
  M.drawn[panel.spec.subject().id] = now()
  return shown
end

local function next_question()
  local it = table.remove(M.waiting, 1)
  if not it then return end
  local waiting = M.waiting
  vim.defer_fn(function()
    if M.waiting == waiting then rpc.call('approval.show', it.chat, it.prompt) end
  end, it.after)
end

package.loaded['agentchat.host.process'].send = function(name, payload)
  if name ~= 'answer' then return end
  table.insert(M.answers, { payload.prompt, payload.choice, now() })
  next_question()
end

--- Begins anew with these questions, the first in a moment.
function M.begin(waiting)
  M.drawn, M.answers, M.waiting = {}, {}, waiting
  next_question()
end

--- Takes back what is asked, and tells what happened.
function M.finish(chat)
  M.waiting = {}
  require('agentchat.approval.requests').close_all(chat)
  return { drawn = M.drawn, answers = M.answers }
end

--- Keeps Neovim busy, as a slow plugin does.
function M.busy(ms)
  local till = vim.uv.hrtime() + ms * 1e6
  repeat
  until vim.uv.hrtime() > till
end
