"""Agents of other programs: each is the model of a chat, and its calls come from outside."""
