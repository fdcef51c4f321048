"""What may run, what asks and what is refused: rules, grants, modes and sensitive paths; pure."""
