"""One store of facts: what is known of every file, response, session, turn, call and cache break, as rows."""
