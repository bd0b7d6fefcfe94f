"""Tokens and cost, from the usage rows of each file to totals in which every response counts once.

`prices` and `billing` price one row, and the model uses them too. `scan` reads a file into a `digest` without folding
it, and `responses` merges the digests of all files into the entries that `facts/` stores.
"""
