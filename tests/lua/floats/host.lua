-- A Python half that only notes what it is told.

_G.told = {}

package.loaded['agentchat.host.process'] = {
  is_ready = function() return true end,
  ensure = function() end,
  forget = function() end,
  has_ui = function() return true end,
  listen = function() end,
  send = function(name, payload) table.insert(_G.told, { name, payload }) end,
}
