"""A workspace served by another process: over ssh, in a container, in an overlay."""
