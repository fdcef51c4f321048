"""Tools of the user's own: Python files whose functions become tools."""
