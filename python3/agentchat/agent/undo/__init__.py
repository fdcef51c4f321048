"""Undo, redo and recovery after a crash."""
