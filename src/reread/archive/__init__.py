"""Copies of sessions that outlive Claude Code's own: made, verified, restored, pruned and scheduled."""
