"""Decides what runs, asks or is refused: rules, grants, modes and sensitive paths."""
