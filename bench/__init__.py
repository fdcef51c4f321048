"""Measures times that the user notices, as ratios within one run, to compare machines."""
