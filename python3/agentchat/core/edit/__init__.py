"""Finds the place that an edit's old text means, and puts the new text there."""
