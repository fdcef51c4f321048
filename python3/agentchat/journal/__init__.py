"""What happened in a chat, written down as it happens: all else is read from it."""
