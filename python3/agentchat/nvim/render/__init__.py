"""What Neovim shows, as tables of lines and highlights."""
