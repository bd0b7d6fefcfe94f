"""The search engine, tantivy; None on a platform for which there is no build of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _load() -> Any:
    try:
        return import_module("tantivy")
    except ImportError:
        return None


tantivy: Any = _load()
