"""How much is tried: a sample by default, everything with REREAD_TESTS=all, and for hours with REREAD_TESTS=thorough.

With REREAD_TESTS=every, each test runs, with the examples of the sample: that is what mutants are tried with.
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
_SHARES = {"sample": 0.2, "every": 0.2, "all": 1.0, "thorough": 100.0}
if EFFORT not in _SHARES:
    raise ValueError(f"REREAD_TESTS={EFFORT} is none of {', '.join(_SHARES)}.")
SAMPLE, THOROUGH = EFFORT == "sample", EFFORT == "thorough"
_IS_SHORT = _SHARES[EFFORT] < 1

sampled = pytest.mark.sampled
"""Marks a test of which `make test` runs a part only; property tests are marked anyway."""


def one_in(count: int) -> pytest.MarkDecorator:
    """Marks a slow test: `make test` runs one in so many of its cases, at least one, and none if it is 0.

    A file, as its `pytestmark`, or a class that it marks has one in so many of its tests run.
    """
    return pytest.mark.sampled(count)


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that are not in the sample, which is chosen by their names and so the same in each run."""
    left: list[pytest.Item] = []
    alike: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        marks = [(node.nodeid, mark.args[0]) for node, mark in item.iter_markers_with_node("sampled") if mark.args]
        if any(count == 0 for _, count in marks):
            left.append(item)
        elif marks:
            place, count = marks[-1]  # the mark of the file or of the class, if it has one
            alike.setdefault((_chosen_from(item, place), count), []).append(item)
    for (_, count), same in alike.items():
        left += sorted(same, key=lambda item: crc32(item.nodeid.encode()))[-(-len(same) // count) :]
    return left


def _chosen_from(item: pytest.Item, place: str) -> str:
    """The tests that `one_in` chooses from: the cases of one function, or all tests of the file or class that it marks.

    Tests that open a page are chosen from those of their file.
    """
    if in_browser(item):
        return item.nodeid.partition("::")[0]
    return item.nodeid.partition("[")[0] if place == item.nodeid else place


def in_browser(item: pytest.Item) -> bool:
    """True if a test needs a browser."""
    return item.path.parent.name == "browser"


def examples(count: int) -> int:
    """How many examples a property test takes that usually takes so many."""
    return max(5, round(count * _SHARES[EFFORT]))


_SETTINGS: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": _IS_SHORT}
settings.register_profile("reread", max_examples=examples(100), **_SETTINGS)
settings.load_profile("reread")
