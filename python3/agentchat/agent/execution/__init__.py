"""Runs calls: locates, runs, stores large results, keeps previews."""
