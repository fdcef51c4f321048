"""What the user can feel, measured as ratios within one run, so that machines compare."""
