"""What runs from the command line, without Neovim or beside it."""
