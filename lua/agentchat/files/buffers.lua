-- File buffers for Python: their text, minimal edits in it, and saving as the user would. Python
-- waits for the answers, so nothing here asks the user anything.

local edits = require('agentchat.files.apply_edits')

local M = {}

---@class (exact) agentchat.Form how lines become the bytes of a file
---@field eol boolean
---@field bomb boolean
---@field fileformat 'unix'|'dos'|'mac'

---@class (exact) agentchat.BufferQuery
---@field path string resolved
---@field text? boolean whether the text is wanted
---@field buf? integer with `changedtick`: the text that the caller has is of this state
---@field changedtick? integer

---@class (exact) agentchat.Snapshot
---@field path string resolved
---@field buf integer
---@field changedtick integer
---@field modified boolean
---@field text? string lines joined by line feeds, without one at the end; absent if not wanted or known
---@field empty boolean whether the buffer holds no text, as that of an empty file
---@field eol boolean
---@field bomb boolean
---@field fileformat 'unix'|'dos'|'mac'
---@field modifiable boolean
---@field readonly boolean
---@field encoding string

---@return string? path resolved, of a file that need not be there
local function resolved(name)
  if name == '' then return nil end
  local real = vim.uv.fs_realpath(name)
  if real then return real end
  local folder = vim.uv.fs_realpath(vim.fs.dirname(name))
  return folder and vim.fs.joinpath(folder, vim.fs.basename(name))
end

---@return string? path resolved; none if the buffer is not a loaded file
local function path_of(buf)
  local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ''
  return is_file and resolved(vim.api.nvim_buf_get_name(buf)) or nil
end

---@return table<string, integer> loaded file buffers by path; of two, the one with unsaved changes
local function loaded_buffers()
  local found = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = path_of(buf)
    if path and (not found[path] or vim.bo[buf].modified) then found[path] = buf end
  end
  return found
end

---@return integer? buf the loaded one of a file; of two, the one with unsaved changes
local function find_buffer(path) return loaded_buffers()[resolved(path) or ''] end

local function text_of(buf) return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') end

---@param query agentchat.BufferQuery
local function snapshot(buf, path, query)
  local encoding, tick = vim.bo[buf].fileencoding, vim.api.nvim_buf_get_changedtick(buf)
  local known = query.buf == buf and query.changedtick == tick
  return {
    path = path,
    buf = buf,
    changedtick = tick,
    modified = vim.bo[buf].modified,
    text = query.text and not known and text_of(buf) or nil,
    empty = vim.api.nvim_buf_call(buf, edits.is_empty),
    eol = vim.bo[buf].endofline,
    bomb = vim.bo[buf].bomb,
    fileformat = vim.bo[buf].fileformat,
    modifiable = vim.bo[buf].modifiable,
    readonly = vim.bo[buf].readonly,
    encoding = encoding ~= '' and encoding or 'utf-8',
  }
end

--- All file buffers with unsaved changes, with their text.
---@return agentchat.Snapshot[]
function M.unsaved()
  local found = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified and path_of(buf)
    if path then table.insert(found, snapshot(buf, path, { path = path, text = true })) end
  end
  return found
end

---Calls `look` with a listener that answers Neovim's questions about a file that has changed.
local function answer_reload(buf, reload, look)
  local reason
  -- The last of all autocommands for the event has the last word.
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      reason = vim.v.fcs_reason
      vim.v.fcs_choice = reload and reason == 'changed' and 'reload' or ''
    end,
  })
  look()
  vim.api.nvim_del_autocmd(id)
  return reason
end

---Whether the file was not there when the buffer was opened, and the buffer was not written since.
local function is_new(buf)
  local line = vim.api.nvim_buf_call(buf, function() return vim.fn.execute('file!', 'silent!') end)
  return line:match('[^"]*$'):find(vim.fn.gettext('[New]'), 1, true) ~= nil
end

---Takes what is there of a new buffer's file. Neovim itself would ask the user, without an event.
local function check_creation(buf, reload)
  if not vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf)) then return nil end
  if reload and not vim.bo[buf].modified then
    vim.api.nvim_buf_call(buf, function() vim.cmd('silent! edit') end)
  end
  return 'changed'
end

---Looks whether the file changed on the disk. One that was only touched has not, whereas 'autoread'
---would read it again.
---@param reload boolean whether a buffer without unsaved changes takes the new text
---@return string? reason as in `v:fcs_reason`, if it changed
local function check_disk(buf, reload)
  if is_new(buf) then return check_creation(buf, reload) end
  return vim.api.nvim_buf_call(buf, function()
    local set = vim.api.nvim_get_option_value('autoread', { scope = 'local' })
    vim.bo.autoread = false
    local function look() pcall(vim.cmd, 'silent! checktime ' .. buf) end
    local reason = answer_reload(buf, reload, look)
    vim.bo.autoread = set
    return reason
  end)
end

local function is_autoread(buf)
  local own = vim.bo[buf].autoread -- nil where only the global value counts
  if own == nil then return vim.go.autoread end
  return own
end

---Lets a buffer without unsaved changes take what the disk has, where the user has that on. Where
---not, Neovim is not made to look: it reports a change only once.
local function catch_up(buf)
  if not vim.bo[buf].modified and is_autoread(buf) then check_disk(buf, true) end
end

--- The loaded buffers of files, with what the disk has if 'autoread' is on; never loads or makes one.
---@param queries agentchat.BufferQuery[]
---@return (agentchat.Snapshot|false)[] in the same order; false for a file without a buffer
function M.look(queries)
  local before = loaded_buffers()
  local function loaded(query) return before[query.path] end
  local stale = vim.iter(queries):map(loaded):totable()
  -- Reading one again runs autocommands, which may close another.
  vim.iter(stale):filter(vim.api.nvim_buf_is_loaded):each(catch_up)
  local now = #stale > 0 and loaded_buffers() or before
  return vim.tbl_map(function(query)
    local buf = now[query.path]
    return buf and snapshot(buf, query.path, query) or false
  end, queries)
end

--- Shows what a command made of the files on the screen; what no window shows can wait.
function M.refresh()
  local seen = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(window)
    if not seen[buf] and path_of(buf) then catch_up(buf) end
    seen[buf] = true
  end
end

--- Takes in what the disk has, after the file of a loaded buffer was written or deleted. A buffer
--- that no window shows goes with its file.
function M.reload(path)
  local buf = find_buffer(path)
  if not buf then return end
  local gone = check_disk(buf, true) == 'deleted' and not vim.bo[buf].modified
  if gone and #vim.fn.win_findbuf(buf) == 0 then vim.api.nvim_buf_delete(buf, {}) end
end

local function refusal(reason, message) return { ok = false, reason = reason, message = message } end

-- What Neovim puts before its own message, from the outside in.
local NOISE = {
  '^.* Autocommands for ".-": ',
  '^.*Vim%([%w_]*%):',
  '^E%d+: ?',
  '^Error executing lua:? ',
  '^%[string ".-"%]:%d+: ',
}

---@return string one line, without numbers and places
local function plain_message(problem)
  local line = vim.split(tostring(problem), '\n')[1]
  for _, noise in ipairs(NOISE) do
    line = line:gsub(noise, '')
  end
  return line
end

---Ends the undo block that runs: what comes now is taken back by a `u` of its own.
local function break_undo() vim.cmd('let &l:undolevels = &l:undolevels') end

local function set_form(form)
  vim.bo.endofline = form.eol
  vim.bo.bomb = form.bomb
  vim.bo.fileformat = form.fileformat
end

---@return integer state of the undo tree before
local function change_text(buf, change, form)
  local readonly = vim.bo[buf].readonly
  vim.bo[buf].readonly = false -- or Neovim warns, and waits a second
  break_undo()
  local before = vim.fn.undotree(buf).seq_cur
  local ok, problem = pcall(edits.keep_views, buf, function() edits.make(change) end)
  if not ok then pcall(vim.cmd, 'silent undo ' .. before) end
  if ok and form then set_form(form) end
  break_undo()
  vim.bo[buf].readonly = readonly
  if not ok then error(problem, 0) end
  return before
end

local function undo_to(buf, state, form)
  edits.keep_views(buf, function() pcall(vim.cmd, 'silent undo ' .. state) end)
  set_form(form)
end

---@return string[] as the API takes them
local function for_api(lines)
  return vim.tbl_map(function(line) return (line:gsub('\n', '\0')) end, lines)
end

--- Makes edits as one undo step, if the buffer is still as it was at `changedtick`: all or none.
---@param wanted agentchat.LineEdit[] not overlapping; a buffer without text has one line, empty
---@return { ok: boolean, buf?: integer, changedtick?: integer, undo?: integer, reason?: string,
---  message?: string } `undo` is the state of the undo tree before
function M.replace(path, changedtick, wanted, form)
  local buf = find_buffer(path)
  if not buf then return refusal('unloaded', 'no buffer shows the file') end
  if not vim.bo[buf].modified and check_disk(buf, is_autoread(buf)) == 'changed' then
    return refusal('moved', 'the file changed on the disk')
  end
  if vim.api.nvim_buf_get_changedtick(buf) ~= changedtick then
    return refusal('moved', 'the buffer has changed')
  end
  if not vim.bo[buf].modifiable then
    return refusal('nomodifiable', "the buffer is 'nomodifiable'")
  end
  local change = vim.tbl_map(function(it) return { it[1], it[2], for_api(it[3]) } end, wanted)
  table.sort(change, function(a, b) return a[1] > b[1] end)
  local wrong = edits.problem(change, vim.api.nvim_buf_line_count(buf))
  if wrong then return refusal('bounds', wrong) end
  local ok, before = pcall(
    vim.api.nvim_buf_call,
    buf,
    function() return change_text(buf, change, form) end
  )
  if not ok then return refusal('failed', plain_message(before)) end
  return {
    ok = true,
    buf = buf,
    changedtick = vim.api.nvim_buf_get_changedtick(buf),
    undo = before,
  }
end

--- Takes edits back, if the buffer is still as it was at `changedtick`: no new undo step.
---@param state integer the `undo` of `replace`
---@param form agentchat.Form the one before
---@return { ok: boolean, reason?: string, message?: string }
function M.undo(path, changedtick, state, form)
  local buf = find_buffer(path)
  if not buf then return refusal('unloaded', 'no buffer shows the file') end
  if vim.api.nvim_buf_get_changedtick(buf) ~= changedtick then
    return refusal('moved', 'the buffer has changed')
  end
  vim.api.nvim_buf_call(buf, function() undo_to(buf, state, form) end)
  return { ok = true }
end

---Writes the current buffer. `!` as Neovim would ask about a file it finds changed, and refuse a
---read-only one the user has agreed to.
local function write(autocmds)
  local fix = vim.bo.fixendofline
  if not vim.bo.endofline then vim.cmd('noautocmd setlocal nofixendofline') end
  local command = autocmds and 'silent write! ++p' or 'silent noautocmd write! ++p'
  local readonly = vim.bo.readonly
  local ok, problem = pcall(vim.cmd, command)
  vim.bo.readonly = readonly -- which `!` takes away, though the file keeps its mode
  if fix then vim.cmd('noautocmd setlocal fixendofline') end
  if not ok then error(problem, 0) end
end

--- Saves a buffer as the user would, autocommands and all; no final newline is added.
---@param without_autocmds? boolean
---@return { ok: boolean, changedtick?: integer, modified?: boolean, unchanged?: boolean,
---  message?: string } `unchanged`: the text is the one before; `message` also reports an error in an
---  autocommand after a successful write
function M.save(path, without_autocmds)
  local buf = find_buffer(path)
  if not buf then return refusal('unloaded', 'no buffer shows the file') end
  local reason = check_disk(buf, false)
  if reason == 'conflict' or reason == 'changed' then
    return refusal('moved', 'the file changed on the disk')
  end
  local changed, tick = vim.bo[buf].modified, vim.api.nvim_buf_get_changedtick(buf)
  local function run() write(not without_autocmds) end
  local ok, problem = pcall(vim.api.nvim_buf_call, buf, run)
  local message = not ok and plain_message(problem) or nil
  if not vim.api.nvim_buf_is_loaded(buf) then return refusal('unloaded', 'the buffer is gone') end
  if not ok and (vim.bo[buf].modified or not changed) then return refusal('failed', message) end
  local now = vim.api.nvim_buf_get_changedtick(buf)
  return {
    ok = true,
    changedtick = now,
    modified = vim.bo[buf].modified,
    unchanged = changed and now == tick + 1, -- which a write adds itself
    message = message,
  }
end

---Neovim keeps a buffer of the name that another one had before.
local function delete_unloaded(name)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local empty = not vim.api.nvim_buf_is_loaded(buf)
    if empty and vim.api.nvim_buf_get_name(buf) == name then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- Lets the loaded buffer of a file follow it to another path, with its text and undo history.
---@param path string where the file was
---@param new string where it is
function M.rename(path, new)
  local buf = find_buffer(path)
  if not buf then return end
  local name = vim.api.nvim_buf_get_name(buf)
  vim.api.nvim_buf_set_name(buf, vim.fn.fnamemodify(new, ':.'))
  delete_unloaded(name)
  check_disk(buf, true)
  -- Neovim takes the file of a new name for another one, and asks for `:w!` until it wrote it once.
  pcall(vim.api.nvim_buf_call, buf, function() write(false) end)
  local filetype = vim.filetype.match({ buf = buf })
  if filetype and filetype ~= vim.bo[buf].filetype then vim.bo[buf].filetype = filetype end
end

return M
