"""Builds a chat from settings and folders; the faces stand on it."""
