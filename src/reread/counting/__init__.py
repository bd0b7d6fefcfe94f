"""Files to figures, in one direction.

A scanner reads a file's rows into its digest; the cache keeps digests; a settlement of all digests gives each response
once, as spends; a tally puts these into groups. Only the survey knows of files that are asked for, and only it and the
readers touch them.
"""
