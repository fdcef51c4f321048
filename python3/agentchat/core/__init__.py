"""Decides; does no I/O and imports nothing but the standard library."""
