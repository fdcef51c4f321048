"""Performs the plan of a turn with real tools, models and a journal."""
