"""agentchat.nvim: an AI coding agent that lives in a Neovim buffer and asks before it acts."""

__version__ = "0.1.0"
