"""Programs in process groups of their own, confined on request."""
