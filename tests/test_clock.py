"""The playback schedule, on the cases that the web reader's own clock is tested with."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from batches import table

from reread.recording.player import playback_schedule

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "fixtures/clock.json").read_text())


def parse(text: str | None) -> datetime | None:
    """Parse a time of the cases."""
    return None if text is None else datetime.fromisoformat(text)


@table("case", CASES)
def test_how_long_it_waits(case: dict[str, Any]) -> None:
    times = [(parse(case["before"]), 1), (parse(case["after"]), 1)]
    _, beat = playback_schedule(times, speed=case["speed"], max_gap=case["longest"])
    assert beat.wait == pytest.approx(case["wait"])
