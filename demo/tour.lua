-- The tour of `make demo`: a window below all others with steps that the user goes through, by keys or
-- by clicks. A step sends a message to the chat or runs a command, in the real plugin.

local M = {}

local api = vim.api
local BUTTONS = ' [Do it] [Next] [Back]  F2 does it, F3 goes on'

---@class demo.Step
---@field title string
---@field text string
---@field send? string a message for the chat
---@field run? string an Ex command

---@type demo.Step[]
M.STEPS = {
  {
    title = 'Ask',
    send = 'read shop/pricing.py',
    text = 'The window on the right is the chat: a Markdown buffer. You type below the last '
      .. 'header; <CR> in normal mode or <C-s> sends. Reading files of the project needs '
      .. 'no approval. Press <F2> to send:',
  },
  {
    title = 'Approve an edit',
    send = "replace 'VAT = 19' with 'VAT = 20' in shop/pricing.py",
    text = 'An edit is shown as a diff before it happens. The float does not take the focus: '
      .. 'ga in the chat goes to it. Then a accepts, r rejects with a reason, A accepts '
      .. 'from now on, q hides. Accept it, and look at the file above.',
  },
  {
    title = 'Take it back',
    run = 'AgentUndo',
    text = 'Every turn can be undone, file by file, also after a restart. What you changed '
      .. 'yourself since then is left alone. :AgentRedo does it again.',
  },
  {
    title = 'Review many files at once',
    send = 'rename get_price to price_of in **/*.py',
    text = 'A rewrite of many files is staged as a preview: nothing has changed yet. In the '
      .. 'float, ]c and [c go through the hunks, x rejects one, C comments on it, s moves '
      .. 'it to a split. a applies what is kept.',
  },
  {
    title = 'Run a command',
    send = 'run: python3 -m unittest',
    text = 'Commands run isolated, on an overlay of the project: these tests change nothing, '
      .. 'so they need no question. Where no overlay works, and before a command runs with '
      .. 'network or in the project itself, you are asked.',
  },
  {
    title = 'Say no',
    send = 'run: rm -r tests',
    text = 'You see what the command did on the overlay; nothing is deleted yet. Go there with '
      .. 'ga, reject it with r and type why: the model reads your reason. R writes a rule '
      .. 'for such commands.',
  },
  {
    title = 'Find it again',
    run = 'AgentSessions',
    text = 'Chats are kept. The list shows them with a preview: <CR> resumes, f forks, s '
      .. 'searches, e exports as Markdown, q closes it. gF in a chat continues from any '
      .. 'earlier message in a copy.',
  },
  {
    title = 'Go on by yourself',
    run = 'help agentchat-quickstart',
    text = 'The offline model knows only plain requests like these. Set $OPENAI_API_KEY, or '
      .. 'model in g:agentchat, for a real one. g? in the chat '
      .. 'lists its keys, :help agentchat has everything, :qa quits the demo and prints '
      .. 'what changed.',
  },
}

---@type { buf: integer, win: integer, chat: integer, step: integer }?
local tour

local function draw()
  local step = M.STEPS[tour.step]
  local action = step.send and ('> ' .. step.send) or (':' .. step.run)
  local head = (' Tour, step %d of %d: %s'):format(tour.step, #M.STEPS, step.title)
  local lines = { head, '', ' ' .. step.text, '', '   ' .. action, '', BUTTONS }
  vim.bo[tour.buf].modifiable = true
  api.nvim_buf_set_lines(tour.buf, 0, -1, false, lines)
  vim.bo[tour.buf].modifiable = false
  local ns = api.nvim_create_namespace('agentchat.demo')
  for row, group in pairs({ [0] = 'Title', [#lines - 3] = 'String', [#lines - 1] = 'Comment' }) do
    api.nvim_buf_set_extmark(tour.buf, ns, row, 0, { end_col = #lines[row + 1], hl_group = group })
  end
  if not api.nvim_win_is_valid(tour.win) then return end
  api.nvim_win_set_height(tour.win, api.nvim_win_text_height(tour.win, {}).all)
  api.nvim_win_set_cursor(tour.win, { 1, 0 })
end

--- Goes back to the tour's tab page from one that a step has opened, and closes that.
local function back()
  if not api.nvim_win_is_valid(tour.win) then return end
  local own, here = api.nvim_win_get_tabpage(tour.win), api.nvim_get_current_tabpage()
  if own == here then return end
  api.nvim_set_current_tabpage(own)
  vim.cmd.tabclose(api.nvim_tabpage_get_number(here))
end

--- Goes so many steps on; stays at the first and the last.
function M.go(count)
  if not (tour and api.nvim_buf_is_valid(tour.buf)) then return end
  back()
  tour.step = math.max(1, math.min(#M.STEPS, tour.step + count))
  draw()
end

--- Does what the step is about.
function M.act()
  if not tour then return end
  back()
  local step = M.STEPS[tour.step]
  local win = vim.fn.bufwinid(tour.chat)
  if win ~= -1 then api.nvim_set_current_win(win) end
  if step.send then return require('agentchat').send(tour.chat, step.send) end
  local ok, problem = pcall(vim.cmd, step.run)
  if not ok then vim.notify(tostring(problem), vim.log.levels.WARN) end
end

local function click()
  local mouse = vim.fn.getmousepos()
  if not tour or mouse.winid ~= tour.win then return end
  local line = api.nvim_buf_get_lines(tour.buf, mouse.line - 1, mouse.line, false)[1]
  if line ~= BUTTONS then return end
  local before = line:sub(1, mouse.column)
  local _, pressed = before:gsub('%[', '')
  if pressed == 1 then return M.act() end
  if pressed == 2 then return M.go(1) end
  if pressed == 3 then M.go(-1) end
end

local function map(buf)
  local keys = {
    ['<CR>'] = M.act,
    n = function() M.go(1) end,
    p = function() M.go(-1) end,
    ['<LeftRelease>'] = click,
  }
  for lhs, action in pairs(keys) do
    vim.keymap.set('n', lhs, action, { buffer = buf, nowait = true })
  end
  vim.keymap.set({ 'n', 'i' }, '<F2>', M.act)
  vim.keymap.set({ 'n', 'i' }, '<F3>', function() M.go(1) end)
end

--- Opens the tour below all windows, where no question covers it; the focus does not change.
---@param chat integer buffer of the chat
function M.open(chat)
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(buf, 'agentchat://tour')
  local win = api.nvim_open_win(buf, false, { split = 'below', win = -1 })
  vim.wo[win].number = false
  vim.wo[win].linebreak = true
  vim.wo[win].breakindent = true
  vim.wo[win].winfixheight = true
  tour = { buf = buf, win = win, chat = chat, step = 1 }
  map(buf)
  draw()
end

return M
