"""What a shell command is and does, as far as that is sure; pure, from a syntax tree."""
