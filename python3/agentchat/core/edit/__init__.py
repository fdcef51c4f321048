"""Finds the place of an edit's old text in a file, and puts the new text there."""
