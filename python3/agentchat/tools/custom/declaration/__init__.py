"""What the author of a tool writes: ``@tool`` and its relatives, and the files they are in."""
