"""Capture a run of Claude Code, keep its stream exactly, and play it back."""
