"""Structural search and rewriting through ast-grep."""
