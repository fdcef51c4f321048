"""A workspace on top of the project: what is written there changes no file of the project."""
