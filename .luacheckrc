std = 'luajit'
globals = { 'vim' }
max_line_length = 120
self = false
ignore = {
  '212/_.*', -- an unused argument that says so by its name
}
