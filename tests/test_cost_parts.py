"""The parts of a cost add up to it, with filters and without."""

from pathlib import Path
from typing import Any

import pytest

import reread
from reread.render.report_table import report_notes
from reread.reports.cost_parts import behind_part, cost_parts

SAMPLES = Path(reread.__file__).parent / "samples"


@pytest.mark.parametrize(
    "options", [{}, {"model": "opus"}, {"project": "/home/sam/code/harbor"}, {"until": "2026-11-01"}]
)
def test_the_parts_add_up_to_the_cost(options: dict[str, Any]) -> None:
    parts = cost_parts(root=SAMPLES, **options)
    names = ("output", "input", "cache_read", "cache_first", "cache_again")
    costs = {row["part"]: row["cost_usd"] for row in parts.rows}
    total = reread.usage(root=SAMPLES, by=(), **options).totals
    assert [name for name in costs if name != "searches"] == list(names)
    assert sum(costs.values()) == parts.totals.cost_usd == pytest.approx(total.cost_usd)
    broken = reread.cache_breaks(root=SAMPLES, by="cause", **options)
    assert {one["cause"]: one["breaks"] for one in parts.causes} == {row["cause"]: row["breaks"] for row in broken.rows}
    assert (costs["cache_again"] > 0) == bool(parts.causes)
    [note] = [text for _, text in report_notes(parts)] or [""]
    assert note.startswith(f"{broken.totals.breaks} cache break") == bool(parts.causes)


def test_the_three_causes_that_cost_most_are_named() -> None:
    parts = cost_parts(root=SAMPLES)
    parts.about["causes"] = [
        {"cause": cause, "breaks": 2, "cost_usd": cost}
        for cause, cost in (("idle_over_5m", 5.0), ("resume", 3.0), ("rewind", 1.5), ("compaction", 0.5))
    ]
    told = "8 cache breaks: idle over 5 minutes 50 %, resumed 30 %, rewound 15 % …"
    assert [text for _, text in report_notes(parts)] == [told]


def test_only_what_is_used_has_a_part() -> None:
    parts = cost_parts(root=SAMPLES, model="no-such-model")
    assert {row["cost_usd"] for row in parts.rows} == {0.0} and parts.causes == [] and not list(report_notes(parts))


def test_responses_behind_each_part_add_up_to_it() -> None:
    parts = cost_parts(root=SAMPLES)
    for row in parts.rows:
        found = behind_part(row["part"], root=SAMPLES)
        costs = [cost for _, cost in found]
        assert costs == sorted(costs, reverse=True) and all(costs)
        assert sum(costs) == pytest.approx(row["cost_usd"]), row["part"]
    again = behind_part("cache_again", root=SAMPLES)
    for cause in parts.causes:
        assert sum(row["cause"] == cause["cause"] for row, _ in again) == cause["breaks"]
        only = behind_part("cache_again", root=SAMPLES, cause=cause["cause"])
        assert only == [(row, cost) for row, cost in again if row["cause"] == cause["cause"]]
        assert sum(cost for _, cost in only) == pytest.approx(cause["cost_usd"])
