-- The init file of `make demo`: loads the plugin from this checkout without the user's configuration,
-- and opens a chat and a hint.

local checkout = vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2))))
vim.opt.runtimepath:prepend(checkout)
vim.o.swapfile = false

local HINT = {
  ' Type one of these in the chat; <CR> in',
  ' normal mode (or <C-s>) sends it.',
  '',
  '   read shop/pricing.py',
  '   search get_price',
  "   replace 'VAT = 19' with 'VAT = 20' in shop/pricing.py",
  '   rename get_price to price_of in **/*.py',
  '   run: python3 -m unittest',
  '',
  ' Approval request: ga goes to it; then',
  ' a accepts, r rejects, A always, q hides.',
  ' g? in the chat lists its keys, :qa quits.',
}

--- Shows the hint below the file; the focus does not change.
local function open_hint()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, HINT)
  vim.api.nvim_buf_set_name(buf, 'agentchat://try-this')
  vim.bo[buf].modifiable = false
  local win = vim.api.nvim_open_win(
    buf,
    false,
    { split = 'below', height = #HINT, win = vim.fn.win_getid(1) }
  )
  vim.wo[win].number = false
  vim.wo[win].linebreak = true
  vim.wo[win].winfixheight = true
end

vim.api.nvim_create_autocmd('VimEnter', {
  once = true,
  nested = true,
  callback = function()
    open_hint()
    vim.cmd.AgentChat()
  end,
})
