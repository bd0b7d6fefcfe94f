"""The server's list of sessions: what a refresh keeps, and which events it publishes."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from limits import PATIENCE, wait_until
from making import SESSION, jsonl, told, user

from reread.disk.cache import FileState
from reread.reader.row_counts import RowCounts
from reread.server import library as module
from reread.server.count_cache import CountCache
from reread.server.counter_process import CounterProcess
from reread.server.library import SessionLibrary
from reread.server.library_usage import library_usage


class Events:
    """A listener that records its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def send(self, event: str, value: Any) -> None:
        self.events.append((event, value))

    def wait(self, name: str, seconds: float = PATIENCE) -> bool:
        """Wait for an event with this name."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if any(event == name for event, _ in self.events):
                return True
            time.sleep(0.01)
        return False

    def close(self) -> None: ...

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
    assert events.take() == [("row", "two"), ("grown", None)]


def test_a_session_that_is_no_longer_written_stops_being_live(
    write: Callable[..., Path], library: SessionLibrary, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("p/one.jsonl", "first")
    assert library.listing().sessions[0].live
    events.take()
    monkeypatch.setattr(module, "LIVE_SECONDS", -1.0)
    library.refresh()
    assert events.take() == [("row", "one")]
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
    assert events.take() == [("row", "one")]


def test_only_the_options_of_the_usage_report_are_used(write: Callable[..., Path], library: SessionLibrary) -> None:
    write("p/one.jsonl", "first")
    expected = library_usage(library, {"by": "model"})
    assert library_usage(library, {"by": "model", "root": "/", "price_file": "/etc/passwd"}) == expected


def test_what_an_agent_writes_changes_the_row_of_its_session(
    write: Callable[..., Path], library: SessionLibrary, events: Events
) -> None:
    main = write("p/one.jsonl", "first")
    agent = write("p/one/subagents/agent-a.jsonl", "look")
    write("p/two.jsonl", "first")
    old = write("p/agent-b.jsonl", "look")
    old.write_bytes(old.read_bytes().replace(SESSION.encode(), b"two"))
    library.refresh()
    events.take()
    for path, key in ((agent, "one"), (old, "two")):
        path.write_bytes(path.read_bytes() * 2)
        library.refresh({str(path)})
        assert events.take() == [("row", key), ("grown", None)]
    write("p/one/subagents/agent-c.jsonl", "another")
    library.refresh()
    assert events.take() == [("row", "one"), ("grown", None)]
    assert library.key_of(main) == "one"


def test_nothing_is_made_for_nobody(
    write: Callable[..., Path], library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("p/one.jsonl", "first")
    library.refresh()
    published: list[str] = []
    monkeypatch.setattr(library.bus, "publish", lambda event, value: published.append(event))
    path.write_bytes(path.read_bytes() * 2)
    library.refresh()
    assert published == []


def test_only_the_row_whose_note_changed_is_published(
    write: Callable[..., Path], library: SessionLibrary, events: Events
) -> None:
    for name in ("one", "two"):
        path = write(f"p/{name}.jsonl", "first")
        path.write_bytes(path.read_bytes().replace(SESSION.encode(), name.encode()))
    library.refresh()
    events.take()
    library.annotate("two", {"note": "mine"})
    assert events.take() == [("row", "two")]


def test_the_watch_reads_what_was_touched_and_ends_when_nobody_listens(
    write: Callable[..., Path], library: SessionLibrary, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(write("p/one.jsonl", "first").parent)
    library.refresh()
    asked: list[object] = []

    def ticks(*_: object, **__: object) -> Iterator[set[str]]:
        yield from (set(), {"x.txt"}, {"a.jsonl", "x.txt"}, {folder})
        library.bus.listeners.clear()
        yield {"b.jsonl"}

    monkeypatch.setattr(module, "folder_ticks", ticks)
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(library, "refresh", lambda touched=(): asked.append({*touched}))
    library._watch()
    assert asked == [set(), {"a.jsonl"}, {folder}, set()] and not library.is_watched
    asked.clear()
    library._swept = time.monotonic()
    library._refresh_unreported()
    for entry in library._entries.values():
        entry.live = False
    library._refresh_unreported()
    assert asked == [{f"{folder}/one.jsonl"}], "only what is being written"


def test_what_is_on_the_screen_is_counted_first_and_then_the_newest(write: Callable[..., Path], tmp_path: Path) -> None:
    requests: list[list[tuple[Path, Any]]] = []
    library = SessionLibrary([tmp_path], count=False)
    library._counter = cast(Any, Counter(requests))
    for name, day in (("old", 12), ("older", 11), ("newest", 14), ("new", 13)):
        write(f"p/{name}.jsonl").write_bytes(jsonl(*told(user(name, timestamp=f"2026-11-{day}T10:00:00Z"))))
    library.refresh()
    assert [path.stem for path, _ in requests[-1]] == ["newest", "new", "old", "older"]
    library.count_first(["older", "unknown"])
    assert [path.stem for path, _ in requests[-1]] == ["older", "newest", "new", "old"]


def test_sessions_are_counted_once_and_the_latest_request_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    may_go_on, began = threading.Event(), threading.Event()

    def count(self: CounterProcess, path: Path) -> RowCounts:
        began.set()
        assert may_go_on.wait(PATIENCE)
        return RowCounts(turns=1)

    def files(*names: str, size: int = 1) -> list[tuple[Path, tuple[FileState, ...]]]:
        return [(Path(name), (FileState(1, 1, size, 1),)) for name in names]

    monkeypatch.setattr(CounterProcess, "_count_in_child", count)
    counter = CounterProcess(lambda path, _: counted.append(path.name))
    counter.request(files("a", "b"))
    assert began.wait(PATIENCE)
    counter.request(files("c"))
    may_go_on.set()
    wait_until(lambda: counted == ["a", "c"])
    counter.request(files("a", "c", "d"))
    wait_until(lambda: counted == ["a", "c", "d"])
    counter._recount_times[Path("a")] = math.inf
    counter.request(files("a", "c", size=2))
    wait_until(lambda: counted == ["a", "c", "d", "c"])
    counter.close()


def test_counts_are_of_all_files_of_a_session(write: Callable[..., Path], tmp_path: Path) -> None:
    main, agent = write("p/one.jsonl", "first"), write("p/one/subagents/agent-a.jsonl", "look")
    states = (FileState.at(main), FileState.at(agent))
    counts = CountCache()
    counts.put(main, states, RowCounts(agents=1))
    counts.put(agent, states[1:], RowCounts(agents=2))
    counts.forget([])
    assert counts.get(main, states) == RowCounts(agents=1)
    counts.forget([agent])
    assert counts.get(agent, states[1:]) is None and counts.get(main, states) == RowCounts(agents=1)
    write("p/one/subagents/agent-a.jsonl", "look", "again")
    assert counts.get(main, (FileState.at(main), FileState.at(agent))) is None
    counts.close()


def test_the_counts_of_a_captured_conversation_depend_on_its_transcript(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    requests: list[list[tuple[Path, tuple[FileState, ...]]]] = []
    library = SessionLibrary([tmp_path], count=False)
    library._counter = cast(Any, Counter(requests))
    write(f"p/{SESSION}.jsonl", "first")
    captured = {"conversationId": "c1", "claudeMessage": {"type": "system", "subtype": "init", "session_id": SESSION}}
    path = tmp_path / "conversations/w/a/c1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(captured))
    library.refresh()
    assert [len(states) for _, states in requests[-1]] == [2, 2]
    assert {id: row.captured for id, row in library.rows_by_session().items()} == {SESSION: False, "c1": True}


class Counter:
    """A counter that only records what it is asked for."""

    def __init__(self, requests: list[Any]) -> None:
        self.request = requests.append

    def forget(self, paths: Any) -> None: ...
    def close(self) -> None: ...


def test_what_is_written_is_published_within_a_second(
    write: Callable[..., Path], library: SessionLibrary, events: Events
) -> None:
    path = write("p/one.jsonl", "first")
    library.start()
    try:
        assert events.wait("library")
        time.sleep(2 * module.LISTENING_SECONDS)  # now the folders are watched
        for change in (lambda: path.write_bytes(path.read_bytes() * 2), lambda: write("p/one/subagents/agent-a.jsonl")):
            events.take()
            change()
            assert events.wait("row")
        events.take()
        write("q.new/two.jsonl", "first")
        assert events.wait("library")
    finally:
        library.close()


def test_nothing_is_watched_if_nobody_listens(
    write: Callable[..., Path], library: SessionLibrary, events: Events
) -> None:
    write("p/one.jsonl", "first")
    library.start()
    try:
        assert events.wait("library")
        time.sleep(2 * module.LISTENING_SECONDS)
        assert library._watching is not None
        library.bus.listeners.clear()
        library._stop_watching()
        deadline = time.monotonic() + PATIENCE
        while library._watching is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert library._watching is None
    finally:
        library.close()
