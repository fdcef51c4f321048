--- The programs that the plugin itself runs. A project does not choose them: they are looked up
--- outside of the working directories, and their environment has no keys.
local M = {}

-- What a program may know of the user; and `LC_…`.
local VARIABLES = {
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_RUNTIME_DIR',
  'NVIM_APPNAME',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
} -- stylua: ignore

local function real(path) return vim.uv.fs_realpath(path) or path end

--- The directories of this Neovim.
---@return string[]
local function projects()
  local folders = { real(vim.fn.getcwd()) }
  for number in ipairs(vim.api.nvim_list_tabpages()) do
    table.insert(folders, real(vim.fn.getcwd(-1, number)))
  end
  return folders
end

local function is_outside(path, folders)
  local target = real(path)
  return not vim.iter(folders):any(function(folder)
    -- A Neovim in / or in the home has no project around every program.
    local is_project = folder ~= '/' and folder ~= real(vim.uv.os_homedir() or '/')
    return is_project and (target == folder or vim.startswith(target, folder .. '/'))
  end)
end

--- The folders of $PATH outside of the working directories.
---@return string[]
local function search_folders()
  local folders = projects()
  return vim
    .iter(vim.split(vim.env.PATH or '', ':'))
    :filter(function(folder) return vim.startswith(folder, '/') and is_outside(folder, folders) end)
    :totable()
end

local function is_program(path)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil and stat.type == 'file' and vim.uv.fs_access(path, 'X') == true
end

--- The path of a program, as `exepath()`, but none of a project; nil if there is none. A name with
--- `/` is a path already.
---@return string?
function M.find(name)
  if name:find('/', 1, true) then return is_program(name) and vim.fn.exepath(name) or nil end
  local folders = projects()
  for _, folder in ipairs(search_folders()) do
    local path = vim.fs.joinpath(folder, name)
    if is_program(path) and is_outside(path, folders) then return path end
  end
end

--- The environment of a program of the plugin.
---@param more? string[] names of other variables that it needs
---@return table<string, string>
function M.environment(more)
  local names = vim.list_extend(vim.list_slice(VARIABLES), more or {})
  local env = { PATH = table.concat(search_folders(), ':') }
  for name, value in pairs(vim.fn.environ()) do
    if vim.list_contains(names, name) or vim.startswith(name, 'LC_') then env[name] = value end
  end
  return env
end

--- Runs a program; `on_exit` gets the result, on any loop. Without one it is waited for.
---@param argv string[] the first is a path, or a name to look up
---@param options vim.SystemOpts
---@param on_exit? fun(result: vim.SystemCompleted)
---@return vim.SystemObj? running nil if there is no such program, or it does not start
function M.run(argv, options, on_exit)
  local path = M.find(argv[1])
  if not path then return nil end
  local words = vim.list_extend({ path }, argv, 2)
  options = vim.tbl_extend('keep', options, { env = M.environment(), clear_env = true })
  local ok, running = pcall(vim.system, words, options, on_exit)
  return ok and running or nil
end

return M
