"""One line at a time: bytes to lines, lines to records, records to typed values in the native dialect.

`decode` does no I/O: feed it bytes. `dialects` translates what other programs write; `types` has a struct for each
type of record.
"""
