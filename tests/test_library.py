"""The server's list of sessions: what a refresh keeps, and which events it publishes."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock, call

import msgspec
import pytest
from limits import PATIENCE, wait_until
from making import SESSION, jsonl, told, user

from reread.catalog.headers import read_headers
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet, find_files
from reread.disk.layout import default_roots, session_folders
from reread.errors import Misuse, NotFound
from reread.reader.schema import Figures
from reread.server import library as module
from reread.server.library import SessionLibrary
from reread.server.list_counts import CountJob, ListCounter, RowCounts, count_list

COUNTS = RowCounts(7, 0, [], 0, 0, [], False, Figures())


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
    library._set_counts({second: COUNTS})
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
    library._set_counts({path: COUNTS, path.with_name("unknown.jsonl"): COUNTS})
    assert events.take() == [("row", "one")]
    library._set_counts({path: msgspec.structs.replace(COUNTS)})
    assert events.take() == [], "they are the same"


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


def test_what_is_on_the_screen_is_counted_first(write: Callable[..., Path], tmp_path: Path) -> None:
    SessionLibrary([tmp_path], count=False).count_first(["older"])  # nobody counts
    library = SessionLibrary([tmp_path], count=False)
    counter = library._counter = cast(Any, Mock())
    older, _ = write("p/older.jsonl", "first"), write("p/newer.jsonl", "second")
    library.refresh()
    library.count_first(["older", "unknown"])
    assert counter.request.call_args_list == [call(), call([older])]
    library.refresh()
    assert counter.request.call_count == 2, "nothing changed"
    write("p/newer/subagents/agent-a.jsonl", "look")
    library.refresh()
    assert counter.request.call_count == 3


def test_a_captured_conversation_has_the_title_of_its_session(write: Callable[..., Path], tmp_path: Path) -> None:
    library = SessionLibrary([tmp_path], count=False)
    write(f"p/{SESSION}.jsonl", "first")
    captured = {"conversationId": "c1", "claudeMessage": {"type": "system", "subtype": "init", "session_id": SESSION}}
    path = tmp_path / "conversations/w/a/c1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(captured))
    library.refresh()
    library._set_counts(count_list(CountJob([tmp_path])).counts)
    rows = library.listing().sessions
    assert {(row.title, row.captured, row.turns) for row in rows} == {("first", False, 1), ("first", True, 0)}
    alone = tmp_path / "conversations/w/a/c2.jsonl"
    alone.write_bytes(jsonl({**captured, "conversationId": "c2", "claudeMessage": {"type": "system"}}))
    library.refresh()
    alone.unlink()
    library.refresh()
    assert {id: row.captured for id, row in library.rows_by_session().items()} == {SESSION: False, "c1": True}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The time of the library, in seconds."""
    found = Mock(monotonic=Mock(return_value=100.0), time=time.time)
    monkeypatch.setattr(module, "time", found)
    return found


@pytest.mark.parametrize(("now", "searched"), [(102.0, 0), (102.1, 1)])
def test_folders_are_searched_again_once_the_list_is_older_than_two_seconds(
    write: Callable[..., Path],
    library: SessionLibrary,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    now: float,
    searched: int,
) -> None:
    path = write("p/one.jsonl", "first")
    library.refresh()
    searches = Mock(side_effect=library.refresh)
    monkeypatch.setattr(library, "refresh", searches)
    clock.monotonic.return_value = now
    for ask in (library.listing, library.watched_files, lambda: library.files(2.0)):
        library._refreshed = 100.0
        searches.reset_mock()
        ask()
        assert searches.call_count == searched
    library._refreshed, library._watching = 0.0, threading.Event()
    searches.reset_mock()
    assert library.watched_files().states.keys() == {str(path)} and not searches.called, "the watch knows them"


def test_only_what_was_touched_is_looked_at_if_it_is_known(
    write: Callable[..., Path], library: SessionLibrary, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("p/one.jsonl", "first")
    searched: list[Any] = []

    def search(*given: Any, **options: Any) -> Any:
        searched.append((*given, options))
        return find_files(*given, **options)

    monkeypatch.setattr(module, "find_files", search)
    library.refresh()
    assert searched == [(library.roots, [], {"prompts": True})] and library._swept == library._refreshed == 100.0
    write("p/one.jsonl", "first", "second")
    clock.monotonic.return_value = 200.0
    library.refresh({str(path)})
    assert len(searched) == 1 and (library._swept, library._refreshed) == (100.0, 200.0)
    library.refresh({str(path.with_name("new.jsonl"))})
    assert len(searched) == 2 and library._swept == 200.0


def test_a_session_is_found_by_its_key_or_its_id(
    write: Callable[..., Path], library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("p/one.jsonl", "first")
    assert library.find("one") == path, "it is searched for"
    searches = Mock()
    monkeypatch.setattr(library, "refresh", searches)
    assert library.find("one") == path and not searches.called
    assert library.find(SESSION) == path and searches.call_count == 1
    assert library.annotation(SESSION) == library.annotation("one")
    monkeypatch.undo()
    write("p/two.jsonl", "first")
    library.refresh()
    for key in (SESSION, "none"):
        with pytest.raises(NotFound, match="no longer exists"):
            library.find(key)
    assert library.key_of(path.with_name("none.jsonl")) is None


def test_what_a_library_reads(write: Callable[..., Path], tmp_path: Path) -> None:
    path, other = write("p/one.jsonl", "first"), tmp_path / "other.jsonl"
    other.write_bytes(path.read_bytes())
    (tmp_path / "conversations").mkdir()
    folders = [str(tmp_path / name) for name in ("projects", "conversations")]
    defaults = [str(folder) for folder in default_roots()]
    assert defaults
    for roots, paths, shown, watched, runs in (
        ([tmp_path], [], [str(tmp_path)], folders, True),
        ([tmp_path], [other], [str(tmp_path)], [str(other), *folders], True),
        ([], [other, tmp_path / "none.jsonl"], [str(other), str(tmp_path / "none.jsonl")], [str(other)], False),
        ([], [], defaults, [str(one) for one in session_folders()], True),
    ):
        library = SessionLibrary(roots, paths=paths, count=False)
        assert library.listing().roots == shown and set(library._watched()) == set(watched)
        assert (library.roots, library.paths) == (roots or None, paths)
        assert library.running._enabled is runs and library.running._roots == (roots or None)
        assert SessionLibrary(roots, paths=paths, count=False, demo=True).running._enabled is False
        assert not library.listing().demo and library._counter is None
    assert SessionLibrary(count=False, demo=True).listing().demo
    library = SessionLibrary([tmp_path])
    assert library.running._key_of(str(path)) is None
    library.refresh()
    assert library.running._key_of(str(path)) == "one" and isinstance(library._counter, ListCounter)
    library.close()


def test_rows_are_the_newest_first_and_those_without_a_time_last(
    write: Callable[..., Path], library: SessionLibrary
) -> None:
    for name, day in (("a", 12), ("c", 13), ("b", 13), ("d", 14)):
        time = f"2026-11-{day}T10:00:00Z"
        write(f"p/{name}.jsonl").write_bytes(jsonl(*told(user(name, sessionId=name, timestamp=time))))
    library.refresh()
    entry = library._entries[library.find("d")]
    entry.header = msgspec.structs.replace(entry.header, updated=None)
    assert [row.id for row in library.listing().sessions] == ["c", "b", "a", "d"]


def test_the_rows_that_are_not_counted_are_pending_and_prompts_need_no_counting(
    write: Callable[..., Path], library: SessionLibrary
) -> None:
    paths = [write(f"p/{name}.jsonl", "first") for name in ("one", "two", "three", "four")]
    assert library.listing().pending == 0, "nobody counts"
    counter = library._counter = cast(Any, Mock())
    library._set_counts({paths[0]: COUNTS})
    entry = library._entries[paths[1]]
    entry.header = msgspec.structs.replace(entry.header, prompts_only=True)
    assert library.listing().pending == 2
    assert library.pause_counting() is counter.paused()


def state(inode: int, modified: int = 0) -> FileState:
    return FileState(1, inode, 1, modified)


def test_a_session_has_its_file_and_its_agents_each_once(library: SessionLibrary, tmp_path: Path) -> None:
    top = tmp_path / "projects"
    main, agent, link = (str(top / name) for name in ("p/a.jsonl", "p/a/subagents/agent-x.jsonl", "p/b.jsonl"))
    lost, out = str(top / "p/gone/subagents/agent-y.jsonl"), str(tmp_path / "else.jsonl")
    numberless = [str(top / f"q/{name}.jsonl") for name in "cd"]
    states = {agent: state(2), main: state(1), link: state(1), lost: state(3), out: state(4)}
    states |= dict.fromkeys(numberless, state(0))
    found = library._sessions(FileSet(states, [str(top)]))
    assert found == {main: (state(1), state(2)), **{path: (state(0),) for path in numberless}}
    assert {path: library.owner(path) for path in (main, agent, out, "x")} == {
        main: main,
        agent: main,
        out: None,
        "x": None,
    }
    library._paths = [Path(out)]
    assert library._sessions(FileSet({out: state(4)}, [str(top)])) == {out: (state(4),)}


@pytest.mark.parametrize(("age", "live"), [(0, True), (29, True), (30, False), (31, False)])
def test_a_session_is_live_if_one_of_its_files_was_just_written(clock: Any, age: int, live: bool) -> None:
    clock.time = lambda: 10_000.0
    newest = state(1, (10_000 - age) * 10**9)
    assert module._is_live([state(1), newest, state(1)]) is live


def test_rows_say_whose_they_are_unless_the_settings_are_wrong(
    write: Callable[..., Path], library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("p/one.jsonl", "first")
    monkeypatch.setattr(module, "file_owners", lambda: lambda name, path: f"{name} of {Path(path or '').name}")
    [row] = library.listing().sessions
    assert (row.machine, row.person) == ("machine of one.jsonl", "person of one.jsonl")
    monkeypatch.setattr(module, "file_owners", Mock(side_effect=Misuse("wrong")))
    [row] = SessionLibrary(library.roots or (), count=False).listing().sessions
    assert (row.machine, row.person) == (None, None)
    library.refresh()
    assert library.listing().sessions[0].machine, "what has not changed is not asked for again"


def test_the_catalogue_is_swept_by_the_first_refresh_only(
    write: Callable[..., Path], library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def read(files: Any, folders: Any) -> Any:
        asked.append((sorted(Path(path).stem for path in files), [*folders]))
        return read_headers(files, folders)

    monkeypatch.setattr(module, "read_headers", read)
    write("p/same.jsonl", "first")
    write("q/same.jsonl", "first")
    library.refresh()
    assert len(set(library.keys().values())) == 2, "two sessions never have the same key"
    write("p/new.jsonl", "first")
    library.refresh()
    assert asked == [(["same", "same"], library._files.folders), (["new"], [])] and library._files.folders


def test_a_row_that_is_published_has_its_note_and_its_counts(
    write: Callable[..., Path], library: SessionLibrary, events: Events
) -> None:
    path = write("p/one.jsonl", "first")
    library.refresh()
    library.annotate("one", {"note": "mine", "starred": True})
    library._set_counts({path: COUNTS})
    row = events.events[-1][1]
    assert (row.key, row.note, row.starred, row.turns, row.live) == ("one", "mine", True, 7, True)
    events.take()
    library._publish_annotations()
    library.refresh()
    assert events.take() == []
    other: Any = SessionLibrary(library.roots or (), count=False)
    other.annotate("one", {"note": "theirs"})
    library.refresh()
    assert events.take() == [("row", "one")], "another process wrote it"


def test_closing_ends_all_that_goes_on(library: SessionLibrary) -> None:
    library._stop_watching()
    library._watching = watching = threading.Event()
    counter = library._counter = cast(Any, Mock())
    bus, running = Mock(), Mock()
    library.bus, library.running = bus, running
    library.close()
    assert library._stop.is_set() and watching.is_set()
    assert bus.close.called and running.close.called and counter.close.called


def test_threads_search_and_look_until_the_end_and_hold_nobody_up(
    write: Callable[..., Path], library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("p/one.jsonl", "first")
    watches = Mock(side_effect=library.bus.listeners.clear)
    monkeypatch.setattr(library, "_watch", watches)
    monkeypatch.setattr(module, "LISTENING_SECONDS", 0.001)
    before = set(threading.enumerate())
    library.start()
    started = set(threading.enumerate()) - before
    assert {thread.name for thread in started} == {"library", "now"} and all(thread.daemon for thread in started)
    wait_until(lambda: "one" in library._keys)
    assert not watches.called
    library.bus.listeners.add(cast(Any, Events()))
    wait_until(lambda: watches.called)
    library.close()
    for thread in started:
        thread.join(PATIENCE)
    assert watches.call_count == 1 and not any(thread.is_alive() for thread in started)


def test_the_watch_pauses_after_a_change_and_ends_when_it_is_told_to(
    library: SessionLibrary, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, done, given = Mock(is_set=Mock(return_value=False)), list[Any](), list[Any]()

    def ticks(*args: Any, **options: Any) -> Iterator[set[str]]:
        given.append((*args, options))
        assert library.is_watched and library._swept == -30.0
        yield {"x.txt"}
        assert not stop.wait.called
        yield {"a.jsonl"}
        stop.wait.assert_called_once_with(0.15)
        stop.is_set.return_value = True
        yield {"b.jsonl"}
        done.append("it went on")

    monkeypatch.setattr(module.threading, "Event", lambda: stop)
    monkeypatch.setattr(module, "folder_ticks", ticks)
    monkeypatch.setattr(library, "refresh", lambda touched=(): done.append({*touched}))
    library._swept = 5.0
    library._watch()
    assert done == [{"a.jsonl"}] and library._watching is None
    assert given == [(library._watched, stop, {"heartbeat": 5000, "step": 50})]


def test_what_is_not_reported_is_looked_at(
    write: Callable[..., Path], library: SessionLibrary, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, quiet = write("p/live.jsonl", "first"), write("p/quiet.jsonl", "first")
    library.refresh()
    library._entries[quiet].live = False
    done: list[Any] = []
    monkeypatch.setattr(library, "refresh", lambda touched=(): done.append({*touched}))
    monkeypatch.setattr(library, "_publish_annotations", lambda: done.append("notes"))
    for now, is_live in ((130.0, True), (129.9, True), (129.9, False)):
        clock.monotonic.return_value = now
        library._entries[live].live = is_live
        library._refresh_unreported()
    assert done == [set(), {str(live)}, "notes"]


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


def test_a_folder_that_is_gone_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_MS", 50)
    library, listener = SessionLibrary([tmp_path / "later"], count=False), Events()
    cast("set[Any]", library.bus.listeners).add(listener)
    library.start()
    try:
        with pytest.raises(NotFound):
            library.listing()
        path = tmp_path / "later" / "projects" / "p" / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(jsonl(*told(user("Hi"))))
        assert listener.wait("library")
    finally:
        library.close()


def test_what_cannot_be_read_is_left_alone_for_a_while(library: SessionLibrary) -> None:
    library._stop = stop = cast(Any, Mock())
    library._attempt(lambda: None)
    assert not stop.wait.called
    library._attempt(Mock(side_effect=NotFound("gone")))
    stop.wait.assert_called_once_with(5.0)
