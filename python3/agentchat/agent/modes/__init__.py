"""The modes of a chat: which is on, and what *plan* and *stage* add to a turn."""
