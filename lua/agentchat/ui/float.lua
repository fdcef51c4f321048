-- Floats: opened without focus, sized to their text, drawn, closed.

local layout = require('agentchat.ui.layout')
local render = require('agentchat.ui.render')

local M = {}

local MEASURED = 1000 -- lines of which the width and the height are looked up
local MARGIN = 2 -- columns beside the text

---@class agentchat.FloatSpec
---@field filetype string
---@field chat? string uuid of the chat it belongs to
---@field zindex integer
---@field editable? boolean
---@field place fun(screen: agentchat.Screen, want: agentchat.Want): agentchat.Rect
---@field width? fun(screen: agentchat.Screen, longest: integer): integer the columns it gets; default:
---  as many as its longest line needs
---@field columns? fun(): integer? those it can have, if not all of the screen
---@field share? number the part of the screen's rows it may have, default: 0.8
---@field least? integer columns it has at least, default: 74
---@field title fun(width: integer): agentchat.Chunk[]
---@field footer fun(edge: agentchat.Edge): agentchat.Chunk[]
---@field resized? fun() the screen has another size
---@field closed fun() called once, however the window went

---@class (exact) agentchat.Edge the lower edge of a float
---@field width integer
---@field part agentchat.Part which rows are visible
---@field inside boolean whether the user is in it

---@class (exact) agentchat.Float
---@field buf integer
---@field win integer
---@field spec agentchat.FloatSpec
---@field origin? integer the window the user came from
---@field rows integer screen rows of the whole text
---@field gone boolean

---Wiping out its buffer leaves a window that is no float of ours any more.
function M.is_open(float)
  return float ~= nil
    and vim.api.nvim_win_is_valid(float.win)
    and vim.api.nvim_buf_is_valid(float.buf)
end

--- Whether the user sees the float: it is open in this tab.
function M.is_visible(float)
  return M.is_open(float)
    and vim.api.nvim_win_get_tabpage(float.win) == vim.api.nvim_get_current_tabpage()
end

function M.is_focused(float) return float ~= nil and float.win == vim.api.nvim_get_current_win() end

---@param least? integer
---@param most? integer
---@return integer columns that lines need in a float
function M.widest(lines, least, most)
  least, most = least or 0, most or math.huge
  local width = math.min(least, most)
  for _, line in ipairs(lines) do
    -- The API's function is much faster, and knows no tabs.
    local tabs = line:find('\t', 1, true)
    local columns = tabs and vim.fn.strdisplaywidth(line) or vim.api.nvim_strwidth(line)
    width = math.max(width, columns + MARGIN)
    if width >= most then return most end
  end
  return width
end

---@param last integer both from 0, included
local function height(win, first, last)
  if last < first then return 0 end
  return vim.api.nvim_win_text_height(win, { start_row = first, end_row = last }).all
end

---Screen rows of the whole text; of a very long one its lines, as measuring those takes too long.
local function count_rows(float)
  local lines = vim.api.nvim_buf_line_count(float.buf)
  return lines > MEASURED and lines or height(float.win, 0, lines - 1)
end

---Which rows are visible; of a very long text, which lines.
local function visible_part(float)
  local view = vim.api.nvim_win_call(float.win, vim.fn.winsaveview)
  if vim.api.nvim_buf_line_count(float.buf) > MEASURED then
    return { first = view.topline, last = vim.fn.line('w$', float.win), rows = float.rows }
  end
  local shown = vim.api.nvim_win_get_height(float.win)
  local above = height(float.win, 0, view.topline - 2)
  if view.skipcol > 0 then
    local row = view.topline - 1
    local skipped = { start_row = row, end_row = row, end_vcol = view.skipcol }
    above = above + vim.api.nvim_win_text_height(float.win, skipped).all
  end
  return { first = above + 1, last = math.min(float.rows, above + shown), rows = float.rows }
end

--- Updates which keys there are and which rows are visible.
function M.redraw_edges(float)
  local width = vim.api.nvim_win_get_width(float.win)
  local edge = { width = width, part = visible_part(float), inside = M.is_focused(float) }
  vim.api.nvim_win_set_config(float.win, {
    title = float.spec.title(width),
    title_pos = 'left',
    footer = float.spec.footer(edge),
    footer_pos = 'left',
  })
end

--- Measures the float again and puts it in its place, after its text or the screen has changed.
function M.refit(float)
  if not M.is_open(float) then return end
  local spec, now = float.spec, layout.screen()
  local columns, rows = layout.limits(now, spec.share)
  local lines = vim.api.nvim_buf_get_lines(float.buf, 0, MEASURED, false)
  local width = M.widest(lines, spec.least, columns)
  if spec.width then width = math.min(spec.width(now, width), columns) end
  vim.api.nvim_win_set_width(float.win, width)
  float.rows = count_rows(float)
  local want = { width = width, height = math.min(float.rows, rows), share = spec.share }
  local rect = spec.place(now, want)
  vim.api.nvim_win_set_config(float.win, vim.tbl_extend('error', rect, { relative = 'editor' }))
  M.redraw_edges(float)
end

function M.columns(float)
  local columns = layout.limits(layout.screen(), float.spec.share)
  local most = float.spec.columns and float.spec.columns()
  return math.min(columns, most or columns) - MARGIN
end

function M.draw(float, doc)
  render.draw(float.buf, doc, float.win)
  M.refit(float)
end

---Reports once that the float is gone. Not only by WinClosed, which does not come inside autocommands.
local function report_closed(float)
  if float.gone then return end
  float.gone = true
  vim.api.nvim_del_augroup_by_name('agentchat.float.' .. float.win)
  float.spec.closed()
end

--- Closes the float of another tab page with the last window there: where a command closes that window
--- first, as `:bdelete` does, Neovim 0.11 crashes.
local function close_with_tab(float, closing)
  local tab = vim.api.nvim_win_get_tabpage(float.win)
  if tab == vim.api.nvim_get_current_tabpage() then return end
  local left = vim.tbl_filter(
    function(win) return win ~= closing and vim.api.nvim_win_get_config(win).relative == '' end,
    vim.api.nvim_tabpage_list_wins(tab)
  )
  if #left == 0 then M.close(float) end
end

local function watch(float)
  local group = vim.api.nvim_create_augroup('agentchat.float.' .. float.win, {})
  local function on(event, pattern, action)
    local function callback(args)
      if M.is_open(float) then return action(args) end
      report_closed(float)
    end
    vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = callback })
  end
  on('VimResized', '*', function()
    if float.spec.resized then float.spec.resized() end
    M.refit(float)
  end)
  on('CursorMovedI', '*', function()
    local config = vim.api.nvim_win_get_config(float.win)
    if layout.covers(layout.screen(), config.row, config.height) then M.refit(float) end
  end)
  on('WinScrolled', tostring(float.win), function() M.redraw_edges(float) end)
  on('WinClosed', tostring(float.win), function() report_closed(float) end)
  on('WinClosed', '*', function(args) close_with_tab(float, tonumber(args.match)) end)
end

local COLOURS = 'NormalFloat:AgentChatFloat,FloatBorder:AgentChatBorder,FoldColumn:AgentChatFloat'

---@return boolean ok, integer win there is none where Neovim allows no window, as in `q:`
local function open_win(buf, spec)
  return pcall(vim.api.nvim_open_win, buf, false, {
    relative = 'editor',
    row = 0,
    col = 0,
    width = 1,
    height = 1,
    border = (layout.border()),
    style = 'minimal',
    zindex = spec.zindex,
    noautocmd = true,
  })
end

-- A cursor in the first row, on a tab that goes on in the next one, would keep Neovim from scrolling.
local SCROLL_DOWN = [[winline() == 1 ? 'gj<C-e>' : '<C-e>']]

--- Opens an empty float that has not the focus; `draw` gives it its text.
---@return agentchat.Float? none where Neovim allows no window now
function M.open(spec)
  local buf = render.create(spec.filetype, spec.chat)
  local ok, win = open_win(buf, spec)
  if not ok then return vim.api.nvim_buf_delete(buf, {}) end
  spec = vim.tbl_extend('keep', spec, { share = 0.8, least = 74 })
  render.set_options(win)
  vim.api.nvim_set_option_value('winhighlight', COLOURS, { win = win, scope = 'local' })
  vim.bo[buf].modifiable = spec.editable or false
  local float = { buf = buf, win = win, spec = spec, rows = 0, gone = false }
  render.map(buf, { 'j', '<Down>' }, 'gj', 'Down a row')
  render.map(buf, { 'k', '<Up>' }, 'gk', 'Up a row')
  vim.keymap.set('n', '<C-e>', SCROLL_DOWN, { buffer = buf, expr = true, desc = 'Scroll down' })
  watch(float)
  return float
end

function M.enter(float)
  local current = vim.api.nvim_get_current_win()
  if current == float.win then return end
  float.origin = current
  vim.cmd.stopinsert()
  vim.api.nvim_set_current_win(float.win)
  -- Nothing is typed elsewhere now that it could lie on: it may take the room it needs.
  if float.rows > vim.api.nvim_win_get_height(float.win) then M.refit(float) end
end

--- Takes the user back to where they came from; the float stays.
function M.leave(float)
  if vim.api.nvim_get_current_win() ~= float.win then return end
  local here = vim.api.nvim_tabpage_list_wins(0)
  for _, win in ipairs({ float.origin or 0, vim.fn.win_getid(vim.fn.winnr('#')), here[1] }) do
    if win ~= float.win and vim.list_contains(here, win) then
      return vim.api.nvim_set_current_win(win)
    end
  end
end

--- Closes the float and takes the user back, if they were in it.
function M.close(float)
  if float and M.is_open(float) then
    M.leave(float)
    report_closed(float)
    vim.api.nvim_win_close(float.win, true)
  end
end

local function page_spec(title)
  return {
    filetype = 'agentchat-page',
    zindex = 75, -- above all others: the user asked for it
    least = 40,
    place = layout.centre,
    title = function(width) return layout.title(title, width) end,
    footer = function(edge)
      return layout.fitting_edge(
        { layout.hints({ { 'q', 'close' } }, 1) },
        layout.parts(edge.part),
        edge.width
      )
    end,
    closed = function() end,
  }
end

---@type table<string, agentchat.Float> the pages that are open, by title
local pages = {}

--- Shows lines to read, and takes the user there unless they type or went elsewhere meanwhile.
---@param from? integer the window in which the user asked for it
function M.page(title, lines, from)
  if M.update_page(title, lines) then return M.enter(pages[title]) end
  local float = M.open(page_spec(title))
  if not float then return end
  pages[title] = float
  render.map(float.buf, { 'q', '<Esc>' }, function() M.close(float) end, 'Close')
  M.draw(float, { lines = lines, rows = {} })
  local stayed = from == nil or from == vim.api.nvim_get_current_win()
  if stayed and vim.api.nvim_get_mode().mode == 'n' then M.enter(float) end
end

--- Shows other lines in a page that is open.
---@return boolean open whether it is
function M.update_page(title, lines)
  local float = pages[title]
  if not (float and M.is_open(float)) then return false end
  M.draw(float, { lines = lines, rows = {} })
  return true
end

---@return string[]
function M.key_lines(keys)
  return vim.tbl_map(function(key) return ('%-8s %s'):format(key[1], key[2]) end, keys)
end

return M
