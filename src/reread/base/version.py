"""The version of reread."""

__version__ = "0.3.0"
