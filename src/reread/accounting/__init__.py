"""Tokens and money: from the usage rows of each file to the figures of all, each response counted once.

Prices lie at the bottom; `scan` reads files without folding them, `responses` decides across files which row counts,
and `group_by` adds up. Shares `billing` with the model, so both count alike.
"""
