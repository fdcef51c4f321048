-- The panel of an approval request: what it shows, and where its float stands.

local decisions = require('agentchat.diff.decisions')
local dock = require('agentchat.dock')
local document = require('agentchat.approval.document')
local float = require('agentchat.ui.float')
local hunks = require('agentchat.diff.hunks')
local layout = require('agentchat.ui.layout')
local panels = require('agentchat.ui.panel')
local queue = require('agentchat.approval.queue')
local registry = require('agentchat.chat.registry')
local settings = require('agentchat.config.settings')
local side_by_side = require('agentchat.diff.side_by_side')
local split = require('agentchat.diff.split')

local M = {}

local Z = 60

--- Whether the user is in a panel, or in what they type for it.
function M.is_inside(panel) return float.is_focused(panel.view) or float.is_focused(panel.field) end

--- How many of its hunks are kept.
function M.tally(entry) return hunks.tally(entry.chat, entry.request.subject, entry.request.doc) end

--- The windows that a request is shown in itself.
---@return table<integer, true>
local function own_windows(entry)
  local own = {}
  for _, view in pairs({ entry.panel.view, entry.panel.field }) do
    own[view.win] = true
  end
  return own
end

---@return agentchat.Dock? the place in the window of its chat that it is drawn for
local function dock_of(entry)
  local chat = registry.get(entry.chat)
  return entry.docked and chat and dock.find(chat) or nil
end

--- The floats of other chats.
---@return agentchat.Area[]
local function other_floats(entry)
  local areas = {}
  for _, other in ipairs(queue.all_first()) do
    local rect = other ~= entry and panels.rect(other.panel)
    if rect then table.insert(areas, layout.area(rect)) end
  end
  return areas
end

local function code_of(entry) return hunks.visible_areas(entry.request.doc) end

local function place(entry, screen, want)
  local chat = assert(registry.get(entry.chat))
  local code, floats = code_of(entry), other_floats(entry)
  return dock.place(chat, dock_of(entry), screen, want, code, floats, own_windows(entry))
end

--- Prose wraps between words: only what would run may need more columns than the chat has.
local function width_of(entry, screen, longest)
  local there, page = dock_of(entry), entry.panel.page
  if not there then return longest end
  local needed = entry.request.kind == 'text' and 0 or longest
  if needed > 0 and not page.from then needed = float.widest(entry.request.doc.lines) end
  local chat, others =
    registry.get(entry.chat), vim.list_extend(code_of(entry), other_floats(entry))
  return dock.width(chat, there, screen, needed, #page.lines, others, own_windows(entry))
end

--- What the model said before, where the chat does not show it.
local function words_for(entry)
  local chat = registry.get(entry.chat)
  entry.docked = chat ~= nil and dock.find(chat) ~= nil
  local words = not entry.docked and chat and chat.words
  return words and dock.last_paragraph(words.text) or nil
end

--- How to get into the float, for a user who is not in it.
local function way_in(entry)
  if M.is_inside(entry.panel) then return '' end
  local is_here = registry.buffer(entry.chat) == vim.api.nvim_get_current_buf()
  return is_here and 'ga' or ':AgentApprove'
end

local function title(entry, width)
  local request = entry.request
  if queue.is_held(entry) then return document.held_title(request, width) end
  return document.title(request, width, #queue.all(entry.chat) - 1, way_in(entry))
end

local function footer(entry, edge)
  if queue.is_held(entry) then return document.held_footer(entry.request, edge) end
  return document.footer(entry.request, edge, way_in(entry), M.tally(entry))
end

--- What its panel is made of.
---@param actions { map: fun(buf: integer), closed: fun() }
function M.spec(entry, actions)
  local request, chat_buf = entry.request, registry.buffer(entry.chat)
  return {
    chat = entry.chat,
    name = 'approval',
    filetype = 'agentchat-question',
    zindex = Z,
    place = function(screen, want) return place(entry, screen, want) end,
    width = function(screen, longest) return width_of(entry, screen, longest) end,
    columns = function()
      local there = not side_by_side.is_chosen(entry.chat) and dock_of(entry)
      return there and there.area.right - there.area.left or nil
    end,
    title = function(width) return title(entry, width) end,
    footer = function(edge) return footer(entry, edge) end,
    heading = function(width) return document.heading(request, width, M.tally(entry)) end,
    subject = function()
      return { id = request.id, subject = request.subject, title = request.title }
    end,
    doc = function()
      local given = decisions.of(entry.chat, request.subject)
      if entry.panel.form ~= 'float' then
        return split.document(given, document.page(request, entry.detailed))
      end
      local words, there = words_for(entry), dock_of(entry)
      local columns = there and there.area.right - there.area.left or vim.o.columns
      return split.document(given, document.page(request, entry.detailed, words, columns))
    end,
    draw = function(panel)
      -- Prose wraps between words; of code every character must be seen as it is.
      vim.wo[panel.view.win].linebreak = document.wraps_words(request, panels.columns(panel))
      hunks.draw(panel)
    end,
    resized = hunks.resized,
    lead = function() return document.lead(request) end,
    delay = function() return settings.get(chat_buf).ui.prompt_delay_ms end,
    map = actions.map,
    closed = actions.closed,
  }
end

--- Puts a float where it belongs, after something moved.
function M.settle(entry)
  if entry.panel.form ~= 'float' or not panels.is_visible(entry.panel) then return end
  local chat = registry.get(entry.chat)
  if not chat or not entry.panel.page then return end
  if (dock.find(chat) ~= nil) ~= entry.docked then return panels.draw(entry.panel) end
  local state = dock.state(chat, own_windows(entry))
  if state == entry.state then return end
  entry.state = state
  hunks.resized(entry.panel)
  float.refit(entry.panel.view)
end

return M
