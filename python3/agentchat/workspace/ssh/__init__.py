"""A workspace on another machine, served there by the code of this one."""
