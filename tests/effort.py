"""How much is tried: a sample by default, everything with REREAD_TESTS=all, and for hours with REREAD_TESTS=thorough.

The sample is the same in each run, so that a test fails because of a change and not by chance; what is random is tried
by `make test-all`.
"""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

EFFORT = os.environ.get("REREAD_TESTS") or "sample"
_SHARES = {"sample": 0.3, "all": 1.0, "thorough": 100.0}
if EFFORT not in _SHARES:
    raise ValueError(f"REREAD_TESTS={EFFORT} is none of {', '.join(_SHARES)}.")
SAMPLE, THOROUGH = EFFORT == "sample", EFFORT == "thorough"

sampled = pytest.mark.sampled
"""Marks a test of which `make test` runs a part only; property tests are marked anyway."""


def examples(count: int) -> int:
    """How many examples a property test takes that usually takes so many."""
    return max(5, round(count * _SHARES[EFFORT]))


_SETTINGS: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": SAMPLE}
settings.register_profile("reread", max_examples=examples(100), **_SETTINGS)
settings.load_profile("reread")
