"""Changes of files as values: computed, shown, decided hunk by hunk."""
