"""How much is tried: a sample by default, everything with REREAD_TESTS=all, and for hours with REREAD_TESTS=thorough.

The sample is the same in each run, so that a test fails because of a change and not by chance; what is random is tried
by `make test-all`.
"""

import os
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

EFFORT = os.environ.get("REREAD_TESTS") or "sample"
_SHARES = {"sample": 0.2, "all": 1.0, "thorough": 100.0}
if EFFORT not in _SHARES:
    raise ValueError(f"REREAD_TESTS={EFFORT} is none of {', '.join(_SHARES)}.")
SAMPLE, THOROUGH = EFFORT == "sample", EFFORT == "thorough"

sampled = pytest.mark.sampled
"""Marks a test of which `make test` runs a part only; property tests are marked anyway."""


def one_in(count: int) -> pytest.MarkDecorator:
    """Marks a slow test: `make test` runs one in so many of its cases, at least one, and none if it is 0."""
    return pytest.mark.sampled(count)


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that are not in the sample, which is chosen by their names and so the same in each run."""
    left: list[pytest.Item] = []
    alike: dict[str, list[pytest.Item]] = {}
    for item in items:
        if any(mark.args for mark in item.iter_markers("sampled")):
            alike.setdefault(_kind(item), []).append(item)
    for same in alike.values():
        count = min(mark.args[0] for mark in same[0].iter_markers("sampled") if mark.args)
        ordered = sorted(same, key=lambda item: crc32(item.nodeid.encode()))
        left += ordered[-(-len(same) // count) if count else 0 :]
    return left


def _kind(item: pytest.Item) -> str:
    """The tests that `one_in` chooses from: the cases of one function, or, where each opens a page, those of a file."""
    return item.nodeid.partition("::" if in_browser(item) else "[")[0]


def in_browser(item: pytest.Item) -> bool:
    """True if a test needs a browser."""
    return item.path.parent.name == "browser"


def examples(count: int) -> int:
    """How many examples a property test takes that usually takes so many."""
    return max(5, round(count * _SHARES[EFFORT]))


_SETTINGS: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": SAMPLE}
settings.register_profile("reread", max_examples=examples(100), **_SETTINGS)
settings.load_profile("reread")
