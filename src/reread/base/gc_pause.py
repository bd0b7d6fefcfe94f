"""Garbage: none is looked for while much is made that stays, nor in what stays for long."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Generator[None]:
    """Folding, counting and writing make no garbage in cycles, and looking for it costs up to half their time again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def freeze_heap() -> None:
    """Look no more for garbage in what is there now: with a large session open, each time would take 0.2 s."""
    gc.freeze()


def refreeze_heap() -> None:
    """Collect what was kept and is needed no more."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
