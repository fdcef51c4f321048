"""Text and processes: the real disk, the editor's buffers."""
