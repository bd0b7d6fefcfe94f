"""Capture runs of Claude Code, and replay them."""
