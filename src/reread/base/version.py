"""The version of reread."""

__version__ = "0.1.0"
