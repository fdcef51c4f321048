"""Asks the user, and keeps the rules in force."""
