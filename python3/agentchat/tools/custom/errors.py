"""A tool that cannot be made from what was written."""

from __future__ import annotations


class DefinitionError(TypeError):
    """A tool is declared wrongly; the message says how to declare it."""
