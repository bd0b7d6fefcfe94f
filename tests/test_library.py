"""The server's list of sessions: what a refresh keeps, and which events it publishes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from making import jsonl, told, user

from reread.reader.row_counts import RowCounts
from reread.server import library as module
from reread.server.library import SessionLibrary


class Events:
    """A listener that records its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def send(self, event: str, value: Any) -> None:
        self.events.append((event, value))

    def take(self) -> list[tuple[str, Any]]:
        """Return the events since the last call: the name, and the key of the session if there is one."""
        taken, self.events = self.events, []
        return [(event, getattr(value, "key", None)) for event, value in taken]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a session with some prompts."""

    def write(name: str, *prompts: str) -> Path:
        path = tmp_path / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*told(*map(user, prompts))))
        return path

    return write


@pytest.fixture
def library(tmp_path: Path) -> SessionLibrary:
    return SessionLibrary([tmp_path], count=False)


@pytest.fixture
def events(library: SessionLibrary) -> Events:
    listener: Any = Events()
    library.bus.listeners.add(listener)
    return listener


def test_a_refresh_publishes_new_and_changed_sessions_only(
    write: Callable[..., Path], library: SessionLibrary, events: Events
) -> None:
    write("p/one.jsonl", "first")
    write("p/two.jsonl", "first")
    library.refresh()
    assert events.take() == [("library", None)]
    library.refresh()
    assert events.take() == []
    write("p/two.jsonl", "first", "second")
    library.refresh()
    assert events.take() == [("listed", "two")]


def test_a_session_that_is_no_longer_written_stops_being_live(
    write: Callable[..., Path], library: SessionLibrary, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("p/one.jsonl", "first")
    assert library.listing().sessions[0].live
    events.take()
    monkeypatch.setattr(module, "is_fresh", lambda path: False)
    library.refresh()
    assert events.take() == [("listed", "one")]
    assert not library.listing().sessions[0].live


def test_counts_and_key_stay_when_a_file_changes(write: Callable[..., Path], library: SessionLibrary) -> None:
    first, second = write("p/same.jsonl", "first"), write("q/same.jsonl", "second")
    library.refresh()
    key = library.key_of(second)
    library._set_counts(second, RowCounts(turns=7))
    first.unlink()
    library.refresh()
    write("q/same.jsonl", "second", "third")
    library.refresh()
    (row,) = library.listing().sessions
    assert (row.key, row.turns) == (key, 7)


def test_new_counts_are_published(write: Callable[..., Path], library: SessionLibrary, events: Events) -> None:
    path = write("p/one.jsonl", "first")
    library.refresh()
    events.take()
    library._set_counts(path, RowCounts(turns=7))
    library._set_counts(path.with_name("unknown.jsonl"), RowCounts(turns=8))
    assert events.take() == [("listed", "one")]


def test_only_the_options_of_the_usage_report_are_used(write: Callable[..., Path], library: SessionLibrary) -> None:
    write("p/one.jsonl", "first")
    assert library.usage({"by": "model", "root": "/", "price_file": "/etc/passwd"}) == library.usage({"by": "model"})
