"""Play recorded sessions again: the real client, answered from a transcript."""
