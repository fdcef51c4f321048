-- `nvim -l scripts/syntax.lua FILE...`: parse each file without running it.

local failed = false
for _, path in ipairs(arg) do
  local _, message = loadfile(path)
  if message then
    failed = true
    io.stderr:write(message, '\n')
  end
end
os.exit(failed and 1 or 0)
