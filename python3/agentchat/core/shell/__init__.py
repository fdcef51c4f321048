"""What a shell command consists of and what it may do, read from its syntax tree."""
