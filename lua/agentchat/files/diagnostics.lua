-- What language servers and linters report of the files of a workspace.

local M = {}

---@class (exact) agentchat.Diagnostic
---@field path string resolved
---@field line integer from 1
---@field column integer in bytes, from 1
---@field severity vim.diagnostic.Severity
---@field message string
---@field source? string
---@field code? string

---@return string? path resolved; none if the buffer is no file that is there
local function path_of(buf)
  if not vim.api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= '' then return nil end
  return vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf))
end

---@param folder string a folder, or the file itself
local function is_below(path, folder)
  return path == folder or vim.startswith(path, (folder:gsub('/*$', '/')))
end

local function described(path, found)
  return {
    path = path,
    line = found.lnum + 1,
    column = found.col + 1,
    severity = found.severity,
    message = found.message,
    source = found.source and tostring(found.source) or nil,
    code = found.code and tostring(found.code) or nil,
  }
end

--- The diagnostics of a file, or of the files below a folder.
---@param mildest integer the mildest severity that is wanted, as a `vim.diagnostic.severity`
function M.list(path, mildest)
  local out, paths = {}, {}
  for _, found in ipairs(vim.diagnostic.get(nil, { severity = { min = mildest } })) do
    local buf = found.bufnr or 0
    if paths[buf] == nil then paths[buf] = path_of(buf) or false end
    if paths[buf] and is_below(paths[buf], path) then
      table.insert(out, described(paths[buf], found))
    end
  end
  return out
end

return M
