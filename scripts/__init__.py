"""The programs of the Makefile. `setup` and what it imports need only the standard library."""
