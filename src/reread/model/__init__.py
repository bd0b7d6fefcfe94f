"""One conversation, folded from records: messages, calls, turns, branches, compactions and the ledger.

Does no I/O: bodies of records come through a `read` function. Knows no dialect; every record is in the native one.
"""
