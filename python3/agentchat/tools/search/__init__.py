"""Finding files and text in them."""
