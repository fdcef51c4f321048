"""Requests between two processes over one stream of bytes in each direction."""
