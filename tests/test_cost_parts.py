"""The parts of a cost add up to it, with filters and without."""

from pathlib import Path
from typing import Any

import pytest

import reread
from reread.reports.cost_parts import cost_parts

SAMPLES = Path(reread.__file__).parent / "samples"


@pytest.mark.parametrize(
    "options", [{}, {"model": "opus"}, {"project": "/home/sam/code/harbor"}, {"until": "2026-11-01"}]
)
def test_the_parts_add_up_to_the_cost(options: dict[str, Any]) -> None:
    parts = cost_parts(root=SAMPLES, **options)
    names = ("output", "input", "cache_read", "cache_first", "cache_again", "searches")
    total = reread.usage(root=SAMPLES, by=(), **options).totals
    assert sum(getattr(parts, f"{name}_usd") for name in names) == pytest.approx(total.cost_usd)
    assert parts.breaks == sum(cause.breaks for cause in parts.causes)
    assert (parts.cache_again_usd > 0) == (parts.breaks > 0)


def test_only_what_is_used_has_a_part() -> None:
    parts = cost_parts(root=SAMPLES, model="no-such-model")
    assert (parts.output_usd, parts.cache_first_usd, parts.breaks, parts.causes) == (0, 0, 0, [])
