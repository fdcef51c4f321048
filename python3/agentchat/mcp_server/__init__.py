"""Serves the tools to agents of other programs: ``python -m agentchat mcp``."""
