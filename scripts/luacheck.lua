-- `nvim -l scripts/luacheck.lua HOME ARGUMENT...`: run the luacheck unpacked in HOME.

local home = table.remove(arg, 1)
package.path = ('%s/usr/share/lua/5.1/?.lua;%s/usr/share/lua/5.1/?/init.lua;'):format(home, home)
  .. package.path

---The file system library is a shared object whose name carries a version.
table.insert(package.loaders, function(name)
  local found = name == 'lfs'
    and vim.fn.glob(home .. '/usr/lib/*/liblua5.1-filesystem.so.*', false, true)
  return found and found[1] and package.loadlib(found[1], 'luaopen_lfs') or nil
end)

require('luacheck.main')
