"""The limits of the server: connections, bytes, threads, and how many answers it keeps."""

import asyncio
import gzip
import json
import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import h11
import pytest
from asking import ask
from limits import PATIENCE, run_async
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from reread.base.paths import SAMPLES
from reread.disk.cache import FileState
from reread.facts import sessions
from reread.server import open_sessions, routes, run
from reread.server.answer_cache import AnswerCache
from reread.server.guard import Guard
from reread.server.library import SessionLibrary
from reread.server.open_sessions import ThreadLimit
from reread.server.routes import make_app
from reread.server.run import LimitedProtocol, Server
from reread.server.static_files import Compression

# Connections


class Clock:
    """A loop that sets timers and starts nothing."""

    def __init__(self) -> None:
        self.now = 0.0

    def call_later(self, seconds: float, call: Any) -> Any:
        """Return a timer that can be cancelled."""
        self.now += 1.0
        return Mock(seconds=seconds, call=call, when=Mock(return_value=self.now + seconds))

    def create_task(self, work: Any) -> Any:
        """Return a task that never begins."""
        work.close()
        return Mock()


@pytest.fixture(scope="module")
def config() -> Any:
    app = make_app(SessionLibrary([SAMPLES], count=False))
    found = Server(app, Guard(app, port=1)).config
    found.load()
    return found


class Line:
    """Connections to one server, each with a transport that records what is done to it."""

    def __init__(self, config: Any) -> None:
        self.state, self.clock, self._config = ServerState(), Clock(), config

    def connect(self) -> LimitedProtocol:
        connection = LimitedProtocol(self._config, self.state, {}, _loop=self.clock)  # type: ignore[arg-type]
        transport = Mock(get_extra_info=Mock(return_value=None), is_closing=Mock(return_value=False))
        connection.connection_made(transport)
        return connection


def timer(connection: LimitedProtocol) -> float | None:
    """In how many seconds a connection will be closed."""
    set_now: Any = connection._timer
    return None if set_now is None else set_now.seconds


REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


def answer(connection: LimitedProtocol) -> None:
    """Let a request be answered."""
    connection.conn.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
    connection.conn.send(h11.EndOfMessage())
    connection.conn.start_next_cycle()
    connection.cycle.response_complete = True


def test_a_client_has_time_for_its_request_and_for_reading_the_answer(config: Any) -> None:
    connection = Line(config).connect()
    first: Any = connection._timer
    assert first.seconds == 10.0 and first.call == connection.abort
    connection.data_received(REQUEST[:9])
    assert connection._timer is first and connection.is_idle, "a part of a request gains no time"
    connection.data_received(REQUEST[9:])
    assert first.cancel.called and timer(connection) is None and connection.is_idle is False
    connection.pause_writing()
    assert timer(connection) == 30.0 and not connection.flow._is_writable_event.is_set()
    connection.resume_writing()
    assert timer(connection) is None and connection.flow._is_writable_event.is_set()
    answer(connection)
    assert connection.is_idle is True
    connection.data_received(REQUEST[:9])
    assert timer(connection) == 10.0
    last: Any = connection._timer
    connection.connection_lost(ConnectionError())
    assert last.cancel.called and timer(connection) is None and connection not in connection.connections
    connection.abort()
    assert connection.transport.abort.called


def test_one_connection_too_many_closes_the_one_that_has_waited_longest(config: Any) -> None:
    line = Line(config)
    connected = [line.connect() for _ in range(256)]
    assert not any(one.transport.abort.called for one in connected)
    connected[0].data_received(REQUEST)
    connected.append(line.connect())
    assert [n for n, one in enumerate(connected) if one.transport.abort.called] == [1]
    connected[0].cycle.response_complete = True
    connected.append(line.connect())
    assert [n for n, one in enumerate(connected) if one.transport.abort.called] == [0, 1], (
        "answered, it has no time left"
    )


def test_if_all_are_being_answered_the_new_one_is_closed(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAX_CONNECTIONS", 1)
    line = Line(config)
    busy = line.connect()
    busy.data_received(REQUEST)
    late = line.connect()
    assert (busy.transport.abort.called, late.transport.abort.called) == (False, True)


@pytest.mark.parametrize("then", [b"", REQUEST[:1], REQUEST * 3])
def test_a_client_that_asks_on_before_it_is_answered_is_closed(config: Any, then: bytes) -> None:
    """Hundreds that ask hundreds of times at once would be busy for ever, and no place would be left."""
    at_once, later = (Line(config).connect() for _ in range(2))
    at_once.data_received(REQUEST + then)
    later.data_received(REQUEST)
    assert not later.transport.abort.called
    later.data_received(then) if then else None
    assert at_once.transport.abort.called == later.transport.abort.called == bool(then)
    answered = Line(config).connect()
    answered.data_received(REQUEST)
    answer(answered)
    answered.data_received(REQUEST)
    assert not answered.transport.abort.called


def test_a_client_that_reads_nothing_makes_way(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAX_CONNECTIONS", 3)
    line = Line(config)
    reading, unread, later = connected = [line.connect() for _ in range(3)]
    for one in connected:
        one.data_received(REQUEST)
    for one in (unread, later):
        one.pause_writing()
    newest = line.connect()
    aborted = [one.transport.abort.called for one in (reading, unread, later, newest)]
    assert aborted == [False, True, False, False]


def test_a_large_answer_is_sent_in_pieces_each_after_the_one_before() -> None:
    body = bytes(range(256)) * 1000
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [(b"host", b"localhost:1")]}
    run_async(Guard(app, port=1)(scope, None, send))  # type: ignore[arg-type]
    pieces = [message for message in sent if message["type"] == "http.response.body"]
    assert b"".join(piece["body"] for piece in pieces) == body and max(len(one["body"]) for one in pieces) == 1 << 16
    assert [piece["more_body"] for piece in pieces] == [True] * 3 + [False]


@pytest.mark.parametrize(("size", "refused"), [(1 << 14, False), ((1 << 14) + 1, True)])
def test_the_head_of_a_request_has_a_limit(config: Any, size: int, refused: bool) -> None:
    connection = Line(config).connect()
    connection.data_received(b"GET / HTTP/1.1\r\nx: ".ljust(size, b"x"))
    assert connection.transport.write.called is refused


# Bytes


@pytest.mark.parametrize(
    ("size", "path", "packed"),
    [
        (999, "/", False),
        (1000, "/", True),
        (5000, "/api/sessions/k/export", False),
        (5000, "/api/sessions/k/share/document", False),
        (5000, "/api/sessions/k/share", True),
    ],
)
def test_answers_are_compressed_from_1000_bytes_on_but_downloads_are_not(size: int, path: str, packed: bool) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"accept-encoding", b"gzip")]}
    run_async(Compression(PlainTextResponse("x" * size))(scope, Mock(), send))
    headers, body = dict(sent[0]["headers"]), b"".join(one.get("body", b"") for one in sent)
    assert (headers.get(b"content-encoding") == b"gzip") is packed
    assert (gzip.decompress(body) if packed else body) == b"x" * size


def test_what_is_no_request_is_passed_on() -> None:
    passed: list[Any] = []

    async def app(*given: Any) -> None:
        passed.append(given)

    run_async(Compression(app)({"type": "lifespan"}, 1, 2))  # type: ignore[arg-type]
    assert passed == [({"type": "lifespan"}, 1, 2)]


def test_a_request_of_one_megabyte_is_read_and_a_byte_more_is_refused() -> None:
    app = make_app(SessionLibrary([SAMPLES], count=False))
    for extra, error in ((0, "Invalid budget"), (1, "send at most 1 MB")):
        padding = "x" * ((1 << 20) - len(json.dumps({"day": ""})) + extra)
        answer = ask(app, "/api/settings", send={"day": padding})
        assert answer.status == 400 and error in answer.value["error"]


# Threads


def test_no_more_work_runs_at_once_than_there_are_threads() -> None:
    running, most, everyone = 0, 0, threading.Barrier(3)
    lock = threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        everyone.wait(PATIENCE)
        with lock:
            running -= 1
        return number

    async def main() -> list[int]:
        limit = ThreadLimit(3)
        return await asyncio.gather(*(limit.run(work, n) for n in range(9)))

    assert run_async(main()) == [*range(9)] and most == 3


def test_each_kind_of_work_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    for module in (routes, open_sessions):
        monkeypatch.setattr(module, "ThreadLimit", made.append)
    app = make_app(SessionLibrary([SAMPLES], count=False))
    app.state.open_sessions.get(app.state.library.listing().sessions[0].key)
    assert made == [8, 4, 4, 6]


# Answers


class Files:
    """A library of which only the files are known."""

    def __init__(self) -> None:
        self.states = {name: FileState(1, number, 1, 1) for number, name in enumerate("ab")}

    def watched_files(self) -> Any:
        return SimpleNamespace(states=dict(self.states))

    def owner(self, path: str) -> str | None:
        """The session of a file that has one: an agent's has another's."""
        return {"a": "a", "b": "b", "b/agent": "b"}.get(path)

    def change(self, path: str) -> None:
        self.states[path] = FileState(1, 1, 1 + len(self.states), 2)


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def cache(files: Files) -> AnswerCache:
    return AnswerCache(files)  # type: ignore[arg-type]


class Maker:
    """Makes answers and counts how often."""

    def __init__(self) -> None:
        self.made: list[dict[str, str]] = []

    def __call__(self, library: Any, query: Mapping[str, str]) -> Any:
        assert isinstance(library, Files)
        self.made.append(dict(query))
        return {"n": len(self.made)}


def test_the_last_64_answers_are_kept(cache: AnswerCache) -> None:
    make = Maker()
    answers = [cache.answer(make, {"q": str(n), "r": ""}) for n in range(64)]
    assert [cache.answer(make, {"r": "", "q": str(n)}) for n in range(64)] == answers and len(make.made) == 64
    assert answers[2] == b'{"n":3}'
    cache.answer(make, {"q": "new"})
    assert cache.answer(make, {"q": "1", "r": ""}) == answers[1] and len(make.made) == 65
    assert cache.answer(make, {"q": "0", "r": ""}) != answers[0] and len(make.made) == 66
    assert cache.answer(Maker(), {"q": "0", "r": ""}) == b'{"n":1}', "another question"


def test_answers_are_kept_until_a_file_changes_appears_or_is_gone(cache: AnswerCache, files: Files) -> None:
    make = Maker()
    for change in (lambda: files.change("a"), lambda: files.change("c"), lambda: files.states.pop("b")):
        cache.answer(make, {})
        made = len(make.made)
        cache.answer(make, {})
        assert len(make.made) == made
        change()
        cache.answer(make, {})
        assert len(make.made) == made + 1


def test_an_answer_that_files_outlived_is_returned_and_not_kept(cache: AnswerCache, files: Files) -> None:
    made: list[object] = []

    def slow(library: Any, query: Mapping[str, str]) -> Any:
        made.append(query)
        files.change("a")
        cache._forget_changes()
        return {}

    assert cache.answer(slow, {}) == cache.answer(slow, {}) == b"{}" and len(made) == 2


@pytest.mark.parametrize(
    ("changed", "left"), [("a", {"b"}), ("b/agent", {"a"}), ("unknown", set[str]()), ("", {"a", "b"})]
)
def test_only_sessions_that_changed_are_looked_at_again(
    cache: AnswerCache, files: Files, changed: str, left: set[str]
) -> None:
    cache.answer(Maker(), {})
    cache._known = dict.fromkeys("ab", Mock())
    if changed:
        files.change(changed)
    cache._forget_changes()
    assert set(cache._known) == left


def test_an_answer_says_how_many_sessions_are_left_and_is_made_again(
    cache: AnswerCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def make(library: Any, query: Mapping[str, str]) -> Any:
        reading = sessions._reading.get()
        assert reading is not None and reading.known is cache._known
        given.append(reading.until)
        reading.left = 3 - len(given)
        return {"n": len(given)}

    monkeypatch.setattr(sessions.time, "monotonic", lambda: 100.0)
    answers = [cache.answer(make, {}) for _ in range(4)]
    said = [
        (one["n"], one.get("pending"), [note["text"] for note in one.get("notes", [])])
        for one in map(json.loads, answers)
    ]
    counting = [(1, 2, ["Counting: 2 sessions left."]), (2, 1, ["Counting: 1 session left."])]
    assert said == [*counting, (3, None, []), (3, None, [])]
    assert given == [101.0] * 3
