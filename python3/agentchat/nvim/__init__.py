"""The only code that knows Neovim."""
