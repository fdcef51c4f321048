"""Workspaces that are operations in a file of the user's: in memory, in a container, of an API."""
