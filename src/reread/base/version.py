"""The version of reread."""

__version__ = "0.2.0"
