"""Files, paths and processes of this machine, as they really behave."""
