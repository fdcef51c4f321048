--- Stands for a module that is loaded when a function of it is first called.
---
--- For what a command, a key or Python may need one day: loading a module takes a fifth of a
--- millisecond, and a chat opens while the user watches. Only functions can be had in this way.
---@generic T
---@param name string
---@return table<string, fun(...): ...>
return function(name)
  return setmetatable({}, {
    __index = function(self, key)
      local function call(...) return require(name)[key](...) end
      rawset(self, key, call)
      return call
    end,
  })
end
