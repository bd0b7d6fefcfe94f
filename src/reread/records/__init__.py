"""Bytes to lines, lines to records, records to typed values in the native format; no I/O.

`decode` is the entrance: feed it bytes. `dialects` translates other formats; `types` has a struct for each type of
record.
"""
