"""The file system: where Claude Code and reread keep things, and safe ways to read, write and lock files.

Knows the layout of the folders and nothing of what a transcript says, except its first record.
"""
