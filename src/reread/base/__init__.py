"""Plain helpers that know nothing of Claude Code: JSON text, times, text, typed access to untrusted values.

Nothing here opens a file or imports another room, but for `errors`.
"""
