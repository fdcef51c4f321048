"""What the tests drive: a real Neovim, a real model server, and a picture of the screen."""
