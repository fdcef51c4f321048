"""Servers of the Model Context Protocol: their configuration, processes and tools."""
