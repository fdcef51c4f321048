"""The plan of a turn: rounds, calls, approvals, previews."""
