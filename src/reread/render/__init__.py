"""Sessions as text: terminal, Markdown, JSON, tables and listings.

Everything from a file passes through `sanitize` before it is printed.
"""
