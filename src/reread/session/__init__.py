"""One session on disk: its file loaded and folded, agents linked, captures merged, rules checked, changes followed."""
