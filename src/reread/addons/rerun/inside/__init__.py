"""Programs that run inside the box, with Python's standard library alone."""
