"""Sessions as text: terminal, Markdown, JSON, tables and listings.

Everything that came from a file passes `sanitize` on its way out.
"""
