-- The init file of `make demo`: loads the plugin from this checkout without the user's configuration,
-- and opens a chat and a tour.

local checkout = vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2))))
vim.opt.runtimepath:prepend(checkout)
vim.o.swapfile = false
vim.o.breakat = ' ' -- not after the colon of a command
pcall(vim.cmd.helptags, checkout .. '/doc') -- for :help agentchat

--- Where a small language model is served, empty for the offline model.
local model_url = vim.env.AGENTCHAT_DEMO_URL or ''

if model_url ~= '' then
  vim.g.agentchat = {
    model = { provider = 'llamacpp', name = 'smollm2', base_url = model_url, max_tokens = 300 },
    tools = { default = {} }, -- it is too small to use them
  }
end

local TALK_HINT = {
  ' This is SmolLM2, a real language model that',
  ' runs on this computer. It is too small to',
  ' code: no tools are given to it. Ask it',
  ' something, like',
  '',
  '   Tell me a story about a lighthouse.',
  '',
  ' <CR> in normal mode (or <C-s>) sends it, <C-c>',
  ' stops the answer. The line above the chat counts',
  ' the tokens; :AgentLog usage lists them.',
  ' g? in the chat lists its keys, :qa quits.',
}

--- Shows what the small language model can do, below the file; the focus does not change.
local function open_hint()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, TALK_HINT)
  vim.api.nvim_buf_set_name(buf, 'agentchat://try-this')
  vim.bo[buf].modifiable = false
  local win = vim.api.nvim_open_win(
    buf,
    false,
    { split = 'below', height = #TALK_HINT, win = vim.fn.win_getid(1) }
  )
  vim.wo[win].number = false
  vim.wo[win].linebreak = true
  vim.wo[win].winfixheight = true
end

vim.api.nvim_create_autocmd('VimEnter', {
  once = true,
  nested = true,
  callback = function()
    vim.wo.wrap = false
    local chat = require('agentchat').open()
    if model_url ~= '' then return open_hint() end
    dofile(checkout .. '/demo/tour.lua').open(chat)
  end,
})
