"""Changes of files on disk: all of them or none."""
