-- Tells the test what happens in the editor: `User` events of the plugin, and what is notified.
-- Run once after start with the channel of the test.

local channel = ...

vim.api.nvim_create_autocmd('User', {
  pattern = 'Agent*',
  callback = function(event)
    vim.rpcnotify(channel, 'test_event', event.match, event.data or vim.empty_dict())
  end,
})

local notify = vim.notify

---@diagnostic disable-next-line: duplicate-set-field
vim.notify = function(text, level, opts)
  vim.rpcnotify(channel, 'test_notice', text, level or vim.log.levels.INFO)
  return notify(text, level, opts)
end
