"""The modules of reread, imported."""

import pkgutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from types import ModuleType

import reread
from reread.errors import Misuse

EXTRAS = ("reread.addons.spark.", "reread.addons.iceberg.catalog")
"""Modules that need an extra which the tests do without."""


def imported_modules() -> Iterator[ModuleType]:
    """Import all modules, but for those whose extra is not installed."""
    for found in pkgutil.walk_packages(reread.__path__, "reread."):
        with suppress(ModuleNotFoundError, Misuse) if found.name.startswith(EXTRAS) else nullcontext():
            yield import_module(found.name)
