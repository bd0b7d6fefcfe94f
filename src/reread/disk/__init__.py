"""The file system: the folders of Claude Code and reread, and safe ways to read, write and lock files.

Of the contents of a transcript, only the first records are read here.
"""
