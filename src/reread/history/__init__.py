"""The history of files: their versions, from the calls, reads and backups that a session recorded. Does no I/O."""
