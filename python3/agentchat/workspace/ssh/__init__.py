"""A workspace on another machine, served there by the same code."""
