-- `nvim -l scripts/helptags.lua doc`: index a copy of the help, and follow its |links|.

local source = vim.fs.abspath(arg[1])
local copy = vim.fn.tempname()
vim.fn.mkdir(copy, 'p')

---@param line string
---@param pattern string a Vim pattern whose match is the tag between its delimiters
---@return string[]
local function names(line, pattern)
  local found, from = {}, 0
  while true do
    local match = vim.fn.matchstrpos(line, pattern, from)
    if match[2] < 0 then return found end
    found[#found + 1] = match[1]
    from = match[3]
  end
end

local known, linked = {}, {}
for name in vim.fs.dir(source) do
  if name:match('%.txt$') then
    vim.uv.fs_copyfile(vim.fs.joinpath(source, name), vim.fs.joinpath(copy, name))
    for number, line in ipairs(vim.fn.readfile(vim.fs.joinpath(source, name))) do
      for _, link in ipairs(names(line, [[\\\@<!|\zs[#-)!+-~]\+\ze|]])) do
        linked[#linked + 1] = { location = name .. ':' .. number, tag = link }
      end
    end
  end
end

local ok, message = pcall(vim.cmd.helptags, copy)
if not ok then
  io.stderr:write(message, '\n')
  os.exit(1)
end

for _, folder in ipairs({ copy, vim.fs.joinpath(vim.env.VIMRUNTIME, 'doc') }) do
  for _, line in ipairs(vim.fn.readfile(vim.fs.joinpath(folder, 'tags'))) do
    known[line:match('^[^\t]*')] = true
  end
end

local failed = false
for _, link in ipairs(linked) do
  if not known[link.tag] then
    failed = true
    io.stderr:write(('%s: no help tag |%s|\n'):format(link.location, link.tag))
  end
end
os.exit(failed and 1 or 0)
