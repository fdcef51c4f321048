"""The disk of this machine, as every room above the core reads it."""
