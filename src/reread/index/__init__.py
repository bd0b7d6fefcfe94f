"""Search over all sessions: what records say, the index of it, and the places where a query matches."""
