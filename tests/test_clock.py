"""The clock of a replay: the same cases as the reader's own clock has to keep."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from reread.recording.player import playback_schedule

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "fixtures/clock.json").read_text())


def moment(text: str | None) -> datetime | None:
    """A time as it is written in the cases."""
    return None if text is None else datetime.fromisoformat(text)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_how_long_it_waits(case: dict[str, Any]) -> None:
    moments = [(moment(case["before"]), 1), (moment(case["after"]), 1)]
    _, beat = playback_schedule(moments, speed=case["speed"], max_gap=case["longest"])
    assert beat.wait == pytest.approx(case["wait"])
