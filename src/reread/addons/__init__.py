"""Rooms that can be taken away: each folder, or module, is an add-on as those of other packages are.

The core imports none of them. `pyproject.toml` names their declarations in the entry point group `reread.addons`.
"""
