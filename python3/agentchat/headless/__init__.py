"""Runs turns without an editor: ``python -m agentchat "PROMPT"``."""
