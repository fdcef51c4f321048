"""The built-in tools on a real disk and with real processes."""
