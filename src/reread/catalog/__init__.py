"""All sessions: their headers, the store of captured conversations, and what a session can be called by.

Knows files and headers; a session's whole content is the business of the rooms above.
"""
