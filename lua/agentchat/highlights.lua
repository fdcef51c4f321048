--- Highlight groups, all as default links, so that a colour scheme or the user may set them.
local M = {}

local LINKS = {
  Add = 'DiffAdd',
  Delete = 'DiffDelete',
  AddWord = 'DiffText',
  DeleteWord = 'DiffText',
  Hunk = 'Special',
  File = 'Directory',
  LineNr = 'LineNr',
  Escape = 'WarningMsg',
  Warning = 'DiagnosticWarn',
  Key = 'Special',
  Title = 'Title',
  Fact = 'Comment',
  User = 'Title',
  Agent = 'Function',
  Note = 'DiagnosticInfo',
  Error = 'DiagnosticError',
  Block = 'Identifier',
  BlockBody = 'Comment',
  Done = 'DiagnosticOk',
  Failed = 'DiagnosticError',
  Running = 'DiagnosticInfo',
  Waiting = 'DiagnosticWarn',
  Mention = 'Special',
  Reasoning = 'Comment',
  Placeholder = 'NonText',
  CodeKeyword = 'Statement',
  CodeString = 'String',
  CodeComment = 'Comment',
  CodeNumber = 'Number',
  CodeFunction = 'Function',
  CodeType = 'Type',
  CodeOperator = 'Operator',
  CodeName = 'Identifier',
  CodeConstant = 'Constant',
}

--- Defines the groups. Calling it again after a colour scheme has cleared them brings them back.
function M.define()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, 'AgentChat' .. name, { link = link, default = true })
  end
end

--- Defines the groups now and after every change of the colour scheme.
function M.setup()
  M.define()
  local group = vim.api.nvim_create_augroup('agentchat.highlights', {})
  vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = M.define })
end

return M
