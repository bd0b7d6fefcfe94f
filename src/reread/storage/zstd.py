"""Zstandard: the standard library's from Python 3.14 on, before that the same module as a package."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError
else:
    from backports.zstd import CompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError

__all__ = ["CompressionParameter", "ZstdCompressor", "ZstdDecompressor", "ZstdError"]
