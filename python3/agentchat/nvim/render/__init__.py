"""Renders what Neovim shows as tables of lines and highlights."""
