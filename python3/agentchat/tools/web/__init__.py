"""Pages of the web: which addresses are contacted, and pages as text."""
