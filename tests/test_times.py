"""Times and periods as people type them."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from batches import table
from command import cli
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread.base.times import parse_bound_ms, parse_days_ms, parse_period_ms, parse_span, parse_time
from reread.index.query import Period, parse_query

NOW = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)
"""A Wednesday."""

PERIODS = {
    "today": ("2026-11-18", "2026-11-19"),
    "Yesterday": ("2026-11-17", "2026-11-18"),
    "monday": ("2026-11-16", "2026-11-17"),
    "wed": ("2026-11-11", "2026-11-12"),
    "last friday": ("2026-11-13", "2026-11-14"),
    "this week": ("2026-11-16", "2026-11-23"),
    "last week": ("2026-11-09", "2026-11-16"),
    "last-week": ("2026-11-09", "2026-11-16"),
    "  LAST   WEEK ": ("2026-11-09", "2026-11-16"),
    "previous month": ("2026-10-01", "2026-11-01"),
    "this month": ("2026-11-01", "2026-12-01"),
    "last month": ("2026-10-01", "2026-11-01"),
    "this year": ("2026-01-01", "2027-01-01"),
    "last_year": ("2025-01-01", "2026-01-01"),
    "2026": ("2026-01-01", "2027-01-01"),
    "2026-08": ("2026-08-01", "2026-09-01"),
    "2026-12": ("2026-12-01", "2027-01-01"),
    "2026-W32": ("2026-08-03", "2026-08-10"),
    "2026w01": ("2025-12-29", "2026-01-05"),
    "2026-11-15": ("2026-11-15", "2026-11-16"),
    "2026/11/15": ("2026-11-15", "2026-11-16"),
    "08-15": ("2026-08-15", "2026-08-16"),
    "12-31": ("2025-12-31", "2026-01-01"),
    "02-29": ("2024-02-29", "2024-03-01"),
    "august": ("2026-08-01", "2026-09-01"),
    "dec": ("2025-12-01", "2026-01-01"),
    "nov": ("2026-11-01", "2026-12-01"),
    "august 2025": ("2025-08-01", "2025-09-01"),
    "15 aug": ("2026-08-15", "2026-08-16"),
    "Aug 15th, 2025": ("2025-08-15", "2025-08-16"),
    "24 December": ("2025-12-24", "2025-12-25"),
}
"""What names a period, and its first day and the day after it."""

TIMES = {
    "now": timedelta(),
    "90s": timedelta(seconds=90),
    "30m": timedelta(minutes=30),
    "12h": timedelta(hours=12),
    "an hour ago": timedelta(hours=1),
    "7d": timedelta(days=7),
    "3 days ago": timedelta(days=3),
    "3-days-ago": timedelta(days=3),
    "last 3 days": timedelta(days=3),
    "2w": timedelta(weeks=2),
    "2 weeks ago": timedelta(weeks=2),
    "past week": timedelta(weeks=1),
    "2mo": NOW - datetime(2026, 9, 18, 9, 30, tzinfo=UTC),
    "9 months ago": NOW - datetime(2026, 2, 18, 9, 30, tzinfo=UTC),
    "a year ago": timedelta(days=365),
}
"""What names a point in time, and how long before now it is."""


@table(("text", "days"), PERIODS.items())
def test_a_period_has_a_start_and_an_end(text: str, days: tuple[str, str]) -> None:
    start, end = parse_span(text, now=NOW, zone=UTC)
    assert end is not None
    assert (start.isoformat(), end.isoformat()) == tuple(f"{day}T00:00:00+00:00" for day in days)


@table(("text", "before"), TIMES.items())
def test_a_time_before_now_is_a_point(text: str, before: timedelta) -> None:
    assert parse_span(text, now=NOW, zone=UTC) == (NOW - before, None)


def test_a_month_before_its_last_day_is_the_last_day_of_a_shorter_one() -> None:
    assert parse_time("1mo", now=datetime(2026, 3, 31, 8, tzinfo=UTC), zone=UTC).date() == date(2026, 2, 28)


@table(
    "text", ["", "soon", "next week", "2026-13", "2026-W54", "0000", "02-30", "13-01", "2 fortnights", "9" * 30 + "mo"]
)
def test_what_is_no_time_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(reread.Misuse, match="use 7d, 2 weeks ago, yesterday, tuesday, last week"):
        parse_span(text, now=NOW)


def test_a_period_as_both_bounds_is_that_period() -> None:
    zone = ZoneInfo("Europe/Berlin")
    august = [datetime(2026, month, 1, tzinfo=zone).timestamp() * 1000 for month in (8, 9)]
    assert list(parse_period_ms("2026-08", "2026-08", zone)) == august
    assert parse_bound_ms(date(2026, 8, 1), zone) == august[0]
    assert parse_bound_ms(date(2026, 8, 31), zone, end=True) == august[1]
    assert parse_bound_ms(datetime(2026, 8, 1), zone, end=True) == august[0]


def test_periods_in_queries() -> None:
    first, last = parse_days_ms("2026-08", None)
    assert parse_query("on:2026-08") == Period(first, last)
    assert parse_query("since:2026-08") == Period(since=first)
    assert parse_query("after:2026-08") == Period(since=last)
    assert parse_query("before:august-2026") == Period(until=first)
    assert parse_query('until:"aug 2026"') == Period(until=last)
    for word in ("last-week", '"last week"', "2-weeks-ago"):
        assert isinstance(parse_query(f"after:{word}"), Period)


def test_on_a_point_in_time_is_its_day() -> None:
    first, last = parse_days_ms("2026-11-15T09:30", UTC)
    assert datetime.fromtimestamp(first / 1000, UTC) == datetime(2026, 11, 15, tzinfo=UTC)
    assert last - first == 86_400_000


@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59.999-12:00", "0001-01-01T00:00:00+14:00"])
def test_times_at_the_ends_of_the_calendar_end_no_verb(tmp_path: Path, stamp: str) -> None:
    path, changed = tmp_path / "projects/p/11111111-1111-4111-8111-111111111111.jsonl", str(tmp_path / "a.py")
    Path(changed).write_text("x = 1\n")
    path.parent.mkdir(parents=True)
    write = reply("Done.", use("t", "Write", file_path=changed, content="x = 1\n"))
    created = {"type": "create", "filePath": changed, "content": "x = 1\n", "structuredPatch": []}
    records = told(user("write it", cwd=str(tmp_path)), write, answer(result("t", "written"), data=created))
    path.write_bytes(jsonl(*({**record, "timestamp": stamp} for record in records)))
    root = ("--root", str(tmp_path))
    for words in ("usage --by day", "stats --by hour", "stats --list", "digest --since 0002-01-01", "advise", "ls"):
        assert cli(*words.split(), *root).exit_code in (0, 1), words
    for words in (("blame", changed), ("files", str(path)), ("show", str(path), "--no-pager")):
        assert cli(*words, *(root if words[0] == "blame" else ())).exit_code == 0, words
