"""When a session was written: its last record with a time says so; the file's own time only if no record does."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from making import jsonl, reply, state, told, user

import reread
from reread.catalog import header_scan
from reread.catalog.headers import read_header
from reread.catalog.resolve import resolve_session
from reread.catalog.store import Store

OLD = "2026-01-05T10:00:00.000Z"
WHEN = datetime(2026, 1, 5, 10, tzinfo=UTC)
TITLE = state("custom-title", customTitle="Named", sessionId="s")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))


def put(root: Path, name: str, *records: Any, modified: float | None = None) -> Path:
    path = root / "projects" / "p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*records))
    if modified is not None:
        os.utime(path, (modified, modified))
    return path


def said(stamp: str | None = OLD, size: int = 10) -> list[Any]:
    return told(user("ask", timestamp="2026-01-05T09:00:00.000Z"), {**reply("x" * size), "timestamp": stamp})


def without_time(record: Any) -> Any:
    return {key: value for key, value in record.items() if key != "timestamp"}


@pytest.mark.parametrize("size", [10, 70_000, 1_100_000, 5_000_000])
def test_the_last_record_dates_a_session_however_long_it_is(size: int, tmp_path: Path) -> None:
    path = put(tmp_path, "s", *said(size=size))
    assert read_header(path).updated == WHEN == reread.open(path).ended


@pytest.mark.parametrize("size", [70_000, 3_000_000])
def test_what_has_no_time_after_it_changes_nothing(size: int, tmp_path: Path) -> None:
    path = put(tmp_path, "s", *said(), {**TITLE, "padding": "x" * size}, TITLE)
    assert read_header(path).updated == WHEN


def test_a_time_that_is_none_is_passed_over(tmp_path: Path) -> None:
    odd = {**user("later"), "timestamp": "yesterday"}
    assert read_header(put(tmp_path, "s", *said(), odd)).updated == WHEN
    assert read_header(put(tmp_path, "t", *said(), {**odd, "padding": "x" * 70_000})).updated == WHEN


def test_a_time_in_a_text_is_no_time(tmp_path: Path) -> None:
    quoted = without_time(user('{"timestamp":"2030-01-01T00:00:00Z"}' + "x" * 70_000))
    assert read_header(put(tmp_path, "s", *said(), quoted)).updated == WHEN


def test_the_file_dates_a_session_only_if_no_record_does(tmp_path: Path) -> None:
    records = [without_time(record) for record in said(size=70_000)]
    path = put(tmp_path, "s", *records, modified=WHEN.timestamp())
    assert read_header(path).updated == WHEN
    assert read_header(path).started is None


def test_what_lies_too_far_back_is_dated_by_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_scan, "FARTHEST", 100_000)
    path = put(tmp_path, "s", *said(), {**TITLE, "padding": "x" * 200_000})
    assert read_header(path).updated == datetime(2026, 1, 5, 9, tzinfo=UTC)


def test_copies_that_lost_their_times_are_listed_as_what_they_are(tmp_path: Path) -> None:
    put(tmp_path, "old", *said(size=70_000))  # just copied
    new = told({**user("ask"), "timestamp": "2026-06-05T10:00:00.000Z"})
    put(tmp_path, "new", *new, modified=0)

    def listed(**options: Any) -> list[str]:
        return [Path(header.path).stem for header in reread.sessions(root=tmp_path, **options)]

    assert listed() == ["new", "old"]
    assert listed(since="2026-06-01") == ["new"]
    assert listed(since=datetime.fromtimestamp(time.time() - 60, UTC)) == []
    assert listed(until="2026-02-01") == ["old"]
    assert Path(resolve_session("latest", root=tmp_path)).stem == "new"


def test_captured_conversations_come_in_the_order_of_their_records(tmp_path: Path) -> None:
    for name, day, modified in (("a", "2026-06-05", 1_000.0), ("b", "2026-01-05", None)):
        path = tmp_path / "conversations" / "w" / "main" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {"id": "1", "conversationId": name, "agentId": "main", "timestamp": f"{day}T10:00:00.000Z"}
        path.write_bytes(jsonl({**line, "claudeMessage": without_time(user("hi"))}))
        if modified is not None:
            os.utime(path, (modified, modified))
    assert [stored.id for stored in Store(tmp_path).conversations()] == ["a", "b"]
