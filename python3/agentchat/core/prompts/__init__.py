"""Slash commands, skills and rules files: what Markdown files say, given as text."""
