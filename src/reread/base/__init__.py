"""General helpers: JSON text, times, text, typed access to untrusted values.

They know nothing about Claude Code, open no files, and import nothing else of reread except `errors`.
"""
