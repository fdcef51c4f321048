"""The tools: one file for each built-in one, and ``custom`` for the user's own."""
