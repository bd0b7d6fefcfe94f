"""Formats of other programs: one module for each, with one function that takes a session and a selection."""
