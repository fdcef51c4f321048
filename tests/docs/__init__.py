"""The help says what there is."""
