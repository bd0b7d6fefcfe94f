"""The sessions that the server has open, without a network: reading, following, what listeners are told, closing."""

import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from limits import run_async, wait_until
from making import SESSION, jsonl, printed, reply, told, use, user

import reread
from reread.catalog.store import Store
from reread.server import open_sessions as module
from reread.server.list_counts import CountJob, count_list
from reread.server.open_sessions import OpenSession, OpenSessions, ThreadKey
from reread.session import loader
from reread.session.changes import Change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "projects" / "p" / f"{SESSION}.jsonl"
    found.parent.mkdir(parents=True)
    found.write_bytes(jsonl(*told(user("go"), reply("on it", id="m1"))))
    return found


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[OpenSession]:
    """A session that has been read."""
    session = OpenSession("k", path, **options)
    wait_until(lambda: session.is_loaded)
    yield session
    session.close()


@pytest.fixture
def session(path: Path) -> Iterator[OpenSession]:
    with opened(path) as found:
        yield found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The time of the module."""
    found = Mock(monotonic=Mock(return_value=100.0), sleep=Mock())
    monkeypatch.setattr(module, "time", found)
    return found


def append(path: Path, *records: Any) -> None:
    """Append records that continue the session in a file."""
    have = path.read_bytes().count(b"\n")
    with path.open("ab") as file:
        file.write(b"".join(jsonl(*told(*([user("")] * have), *records)).splitlines(keepends=True)[have:]))


class Listens:
    """A listener that records what it is sent."""

    def __init__(self, *topic: Any) -> None:
        self.topic, self.sent = ThreadKey(*topic), list[Any]()
        self.close: Any = Mock()

    def send(self, event: str, value: Any) -> None:
        self.sent.append((event, value))

    def take(self, *names: str) -> list[tuple[Any, ...]]:
        """Return the events since the last call, with some of their fields."""
        taken, self.sent = self.sent, []
        return [(event, *(getattr(value, name) for name in names)) for event, value in taken]


@pytest.fixture
def listener(session: OpenSession) -> Any:
    found: Any = Listens()
    session.bus.listeners.add(found)
    return found


# Reading


def test_a_file_is_read_at_once_and_counting_pauses_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = Mock()
    monkeypatch.setattr(module.gc_pause, "freeze_heap", frozen)
    pauses: list[str] = []

    @contextmanager
    def pause() -> Iterator[None]:
        pauses.append("begin")
        yield
        pauses.append("end")

    before = set(threading.enumerate())
    monkeypatch.setattr(OpenSession, "_read", slowly := Slowly(OpenSession._read))
    session = OpenSession("k", path, pause_counting=pause)
    [thread] = [one for one in set(threading.enumerate()) - before if one.name == "open k"]
    assert thread.daemon and not session.is_loaded and not session.has_listeners and not session._live
    assert (session.progress.read, session.progress.size) == (0, path.stat().st_size)
    slowly.go_on.set()
    wait_until(lambda: session.is_loaded)
    assert pauses == ["begin", "end"] and frozen.call_count == 1
    assert session.failed is False and session._live is True and session.bytes_read == path.stat().st_size
    os.utime(path, (0, 0))
    with opened(path) as old:
        assert old._live is False
    path.unlink()
    assert session.progress.read == session.progress.size > 0


class Slowly:
    """A method that waits before it does anything."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.go_on, self._function = threading.Event(), function

    def __get__(self, owner: Any, kind: Any = None) -> Callable[..., Any]:
        return lambda *args: (self.go_on.wait(100), self._function(owner, *args))[1]


def test_a_request_looks_more_and_more_seldom_whether_a_file_has_been_read(
    session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(session, "_loaded", Mock(is_set=Mock(side_effect=[*[False] * 6, True])))
    monkeypatch.setattr(module, "asyncio", Mock(sleep=sleep))
    run_async(session.loaded())
    assert pauses == [0.001, 0.002, 0.004, 0.008, 0.01, 0.01]


def test_what_cannot_be_read_fails_each_request_and_is_tried_again(path: Path, tmp_path: Path) -> None:
    found = tmp_path / "none.jsonl"
    with opened(found) as session:
        assert session.failed is True
        for _ in range(2):
            with pytest.raises(reread.RereadError), session.locked_view():
                pass
    sessions = OpenSessions(lambda _: found)
    first = sessions.get("k")
    wait_until(lambda: first.is_loaded)
    assert sessions.get("k") is not first
    first._error, first._view = None, None
    with pytest.raises(reread.NotFound, match="Cannot open"), first.locked_view():
        pass


@pytest.mark.parametrize(("age", "malformed"), [(0, 0), (1_000_000, 1)])
def test_a_torn_line_counts_once_nobody_writes_it(path: Path, age: int, malformed: int) -> None:
    with path.open("ab") as file:
        file.write(b'{"type": "user", "mess')
    written = path.stat().st_mtime - age
    os.utime(path, (written, written))
    with opened(path) as session, session.locked_view() as view:
        assert len(view.session.records) == 2 + malformed
        assert view.key == "k" and view._base_url == "/api/sessions/k"


def test_what_the_counter_read_is_not_folded_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, object]] = []

    def follow(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *args: done.append((name, function(self, *args))) or done[-1][1]

    for name in ("save", "restore"):
        monkeypatch.setattr(loader.Loader, name, follow(name, getattr(loader.Loader, name)))
    monkeypatch.setattr(loader, "SMALLEST", 1)
    count_list(CountJob(None, [path]))
    assert done[0] == ("restore", False) and ("save", True) in done
    done.clear()
    with opened(path):
        assert done == [("restore", True)]


# Using


def test_a_request_waits_until_the_file_has_been_read(session: OpenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_loaded", waiting := Mock())
    with session.locked_view():
        waiting.wait.assert_called_once_with()


@pytest.mark.parametrize(("seconds", "followed", "looks"), [(1.0, False, 0), (1.1, False, 1), (1.1, True, 0)])
def test_a_session_that_nobody_follows_is_looked_at_once_a_second(
    session: OpenSession, clock: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, followed: bool, looks: int
) -> None:
    refresh = Mock()
    monkeypatch.setattr(session, "_refresh", refresh)
    session._refreshed, session._stop = 100.0, threading.Event() if followed else None
    clock.monotonic.return_value = 100.0 + seconds
    with session.locked_view() as view:
        assert view is session._view and session.last_used == 100.0 + seconds
    assert refresh.call_args_list == [((set(),),)] * looks


def test_long_work_is_done_in_slices_with_pauses(session: OpenSession, clock: Any) -> None:
    session._refreshed = 1e9
    now, slices = [0.0], list[float]()
    clock.monotonic.side_effect = lambda: now[0]
    clock.sleep.side_effect = slices.append

    def steps() -> Generator[None, None, str]:
        for _ in range(7):
            now[0] += 0.0101
            yield
        return "done"

    assert session.run_in_slices(steps()) == "done"
    assert slices == [0.001] * 3, "two steps each"


# Following


def test_a_listener_is_told_the_state_and_the_first_one_starts_following(
    session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    monkeypatch.setattr(OpenSession, "_follow", lambda self, stop: may_end.wait(100))
    one, other = Listens(), Listens()
    session.listen(one)  # type: ignore[arg-type]
    [thread] = [each for each in threading.enumerate() if each.name == "follow k"]
    stop = session._stop
    session.listen(other)  # type: ignore[arg-type]
    assert thread.daemon and session._stop is stop is not None
    assert sum(each.name == "follow k" for each in threading.enumerate()) == 1
    may_end.set()
    fields = ("items", "turns", "first", "branch", "live", "agents", "rewritten", "gone", "stamp")
    assert one.take(*fields) == other.take(*fields) == [("open", 2, 1, 2, 0, True, [], False, False, 2)]
    assert session.has_listeners and session.bus.listeners == {one, other}
    assert session._branches == {ThreadKey(): 0}
    session.close()
    assert stop.is_set() and session._stop is None and one.close.called and other.close.called
    session.close()


def test_a_follower_reads_at_each_tick_until_it_is_stopped(
    session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, seen, given = threading.Event(), list[Any](), list[Any]()

    def ticks(*args: Any) -> Iterator[set[Path]]:
        given.append(args)
        yield {session.path}
        yield set()
        stop.set()
        yield set()
        seen.append("it went on")

    monkeypatch.setattr(module, "ticks", ticks)
    monkeypatch.setattr(session, "_refresh", seen.append)
    session._follow(stop)
    assert seen == [{session.path}, set()] and given == [(session.path, stop, module.HEARTBEAT_MS)]


def test_listeners_are_told_what_changed_and_nothing_else(
    session: OpenSession, listener: Any, path: Path, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refrozen = Mock()
    monkeypatch.setattr(module.gc_pause, "refreeze_heap", refrozen)
    fields = ("items", "turns", "first", "live", "agents", "rewritten", "gone")

    def told_after(change: Callable[[], object] = lambda: None) -> list[tuple[Any, ...]]:
        change()
        session._refresh({path})
        return listener.take(*fields)

    assert told_after() == [] and session._refreshed == 100.0
    assert told_after(lambda: append(path, user("and this"))) == [("update", 3, 2, 1, True, [], False, False)]
    assert told_after() == []
    assert told_after(lambda: os.utime(path, (0, 0))) == [("update", 3, 2, 1, False, [], False, False)]
    task = reply(use("t", "Task", prompt="look"), id="m2")
    assert told_after(lambda: append(path, task)) == [("update", 4, 2, 2, True, [], False, False)]
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    agent = folder / "agent-a1.jsonl"
    agent.write_bytes(jsonl(*told(user("look", isSidechain=True, agentId="a1"))))
    session._refresh({agent})
    [(event, _, _, _, _, agents, rewritten, _)] = listener.take(*fields)
    assert (event, agents, rewritten) == ("update", ["a1"], False) and not refrozen.called
    again = path.with_suffix(".new")
    again.write_bytes(jsonl(*told(user("another"), reply("file"), user("now"))))
    again.replace(path)
    [(event, items, turns, first, *_, rewritten, gone)] = told_after()
    assert (event, items, turns, first, rewritten, gone) == ("update", 3, 2, 0, True, False)
    assert refrozen.call_count == 1
    path.unlink()
    [(event, items, *_, gone)] = told_after()
    assert (event, items, gone) == ("update", 3, True), "what was read stays"
    assert told_after() == []
    session._view = None
    session._refresh(set())


def test_each_listener_is_told_about_its_own_thread(session: OpenSession, listener: Any, path: Path) -> None:
    append(path, user("left"), reply("went left", id="m2"))
    old: Any = Listens(None, 0)
    session.bus.listeners.add(old)
    session._refresh({path})
    fields = ("branch", "first", "items")
    assert listener.take(*fields) == old.take(*fields) == [("update", 0, 1, 4)]
    append(path, user("right", parentUuid="u2"))
    session._refresh({path})
    assert listener.take(*fields) == [("update", 1, 1, 3)], "from the fork on"
    assert old.take(*fields)[0][1] == 0
    lost = session._update(ThreadKey("none"), ["a"], False)
    assert (lost.branch, lost.first, lost.rewritten, lost.agents, lost.items) == (1, 0, True, ["a"], 3)
    assert session._update(ThreadKey(), [], False, first=2).first == 2
    assert session._branches == {ThreadKey(): 1, ThreadKey(None, 0): 0}


def test_a_captured_conversation_is_merged_until_it_grows(path: Path, tmp_path: Path) -> None:
    Store(tmp_path).append("talk", jsonl(printed(reply("on it", id="m1"), uuid="u2")))
    [captured] = [one for one in tmp_path.rglob("*.jsonl") if one != path]
    with opened(captured, roots=[tmp_path]) as session:
        assert session._follower is None and session._view is not None
        assert [item.kind for item in session._view.page(0, 9).items] == ["prompt", "response"]
        listener: Any = Listens()
        session.bus.listeners.add(listener)
        session._refresh(set())
        assert session._follower is None and listener.sent == []
        Store(tmp_path).append("talk", jsonl(printed(reply("and more", id="m2"), uuid="u9")))
        session._refresh(set())
        assert session._follower is not None and listener.take("items") == [("update", 2)]


@pytest.mark.parametrize(
    ("kind", "agent", "rewrite"), [("rewritten", None, True), ("rewritten", Mock(), False), ("message", None, False)]
)
def test_only_the_file_of_the_session_itself_is_rewritten(kind: str, agent: Any, rewrite: bool) -> None:
    assert module._is_rewrite(Change(kind, 1, agent=agent)) is rewrite


# All of them


def test_four_idle_sessions_stay_open_the_last_used_ones(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refrozen = Mock()
    monkeypatch.setattr(module.gc_pause, "refreeze_heap", refrozen)
    sessions = OpenSessions(lambda _: path)

    def get(name: str, used: float) -> OpenSession:
        found = sessions.get(name)
        wait_until(lambda: found.is_loaded)
        found.last_used = used
        return found

    made = [get(f"s{n}", used) for n, used in enumerate((1.0, 9.0, 2.0, 8.0))]
    made[0].bus.listeners.add(Listens())  # type: ignore[arg-type]
    assert len(sessions) == 4 and not refrozen.called
    assert sessions.get("s1") is made[1]
    made.append(get("s4", 7.0))
    assert len(sessions) == 5 and not refrozen.called, "the one that is listened to does not count"
    closed = Mock()
    monkeypatch.setattr(made[2], "close", closed)
    made.append(get("s5", 3.0))
    assert set(sessions._sessions) == {"s0", "s1", "s3", "s4", "s5"} and closed.called and refrozen.call_count == 1
    made[5]._loaded.clear()
    made.append(get("s6", 6.0))
    assert set(sessions._sessions) == {"s0", "s1", "s3", "s4", "s5", "s6"}, "it is still being read"
    other = path.with_name("other.jsonl")
    other.write_bytes(path.read_bytes())
    sessions._find = lambda _: other
    assert sessions.get("s6").path == other
    for one in sessions._sessions.values():
        monkeypatch.setattr(one, "close", closed)
    closed.reset_mock()
    sessions.close()
    assert closed.call_count == len(sessions)


def test_open_sessions_read_agents_below_the_roots_and_pause_counting(path: Path, tmp_path: Path) -> None:
    pauses = Mock(side_effect=nullcontext)
    sessions = OpenSessions(lambda _: path, [tmp_path], pauses)
    session = sessions.get("k")
    wait_until(lambda: session.is_loaded)
    assert (session._roots, session.key, session.path) == ([tmp_path], "k", path) and pauses.call_count == 1
