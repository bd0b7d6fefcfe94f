"""Where the files of Claude Code and reread are, which belong together, and what was derived from each.

Of the contents of a transcript, only the first records are read here.
"""
