"""Tokens and cost, from the usage rows of each file to totals in which every response counts once.

`prices` and `billing` price one row, and the model uses them too. `scan` reads a file into a `digest` without folding
it, `responses` merges the digests of all files into usage `entries`, and `group_by` sums them.
"""
