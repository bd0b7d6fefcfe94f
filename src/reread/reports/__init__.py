"""Answers over many sessions: usage by day, project or model, and the findings of `check`."""
