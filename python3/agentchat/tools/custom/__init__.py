"""The user's own tools: files of Python functions, which run in processes of their own."""
