"""What the Makefile runs. Needs the standard library only until `.venv` stands."""
