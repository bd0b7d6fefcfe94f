"""How the server starts and ends, in-process: addresses, ports, signals, the page for the browser."""

import asyncio
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
import uvicorn
from limits import PATIENCE, run_apart, run_async

import reread
from reread.base.paths import SAMPLES
from reread.server import run
from reread.server.library import SessionLibrary
from reread.server.run import (
    LimitedProtocol,
    Server,
    ShutdownRequested,
    bind,
    ending_signals,
    host_names,
    open_page,
    private_page,
    raise_ended,
)

KEY = "d2a94e17-0c58-4f6b-8a1d-7be3905f26c4"

# Addresses


def test_all_interfaces_have_the_names_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    asked: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: asked.append(address), raising=False)
    monkeypatch.setattr(socket.socket, "getsockname", lambda _: ("192.0.2.7", 1234), raising=False)
    for host in ("0.0.0.0", "::", ""):
        assert host_names(host) == ["192.0.2.7", "box", "box.local"]
    assert {address for address, _ in asked} == {"192.0.2.1"}
    monkeypatch.setattr(socket.socket, "connect", Mock(side_effect=OSError))
    assert host_names("::") == ["box", "box.local"]
    assert (host_names("::1"), host_names("localhost")) == (["[::1]"], ["localhost"])


def test_fifty_ports_are_tried_and_then_any(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, free = list[tuple[str, int]](), list[int]()

    def listen(host: str, port: int) -> str:
        tried.append((host, port))
        if port in free:
            return "listens"
        raise OSError(errno.EADDRINUSE, "in use")

    monkeypatch.setattr(run, "_listen", listen)
    for ports in ([7373], [7373, 7374, 7375], [*range(7373, 7423), 0]):
        tried.clear()
        free[:] = ports[-1:]
        assert bind("h", None) == "listens" and tried == [("h", port) for port in ports]
    tried.clear()
    with pytest.raises(reread.Misuse, match=r"Cannot listen on h:9: in use; omit --port to use a free one\.$"):
        bind("h", 9)
    assert tried == [("h", 9)]
    assert bind("h", 0) == "listens"
    monkeypatch.setattr(run, "_listen", Mock(side_effect=OSError(errno.EACCES, "no")))
    for port, where in ((None, "h"), (0, "h"), (8, "h:8")):
        with pytest.raises(reread.Misuse, match=rf"Cannot listen on {where}: no\.$"):
            bind("h", port)


def test_a_socket_listens_or_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(run.socket, "socket", lambda *given: made.append((given, Mock())) or made[-1][1])
    for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
        own = run._listen(host, 8)
        assert made[-1][0] == (family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        own.bind.assert_called_once_with((host, 8))  # type: ignore[attr-defined]
        own.listen.assert_called_once_with(128)  # type: ignore[attr-defined]
        assert not own.close.called  # type: ignore[attr-defined]
        option = socket.SO_REUSEADDR if sys.platform != "win32" else socket.SO_EXCLUSIVEADDRUSE
        own.setsockopt.assert_called_once_with(socket.SOL_SOCKET, option, 1)  # type: ignore[attr-defined]
    broken = Mock(bind=Mock(side_effect=OSError))
    monkeypatch.setattr(run.socket, "socket", lambda *_: broken)
    with pytest.raises(OSError):
        run._listen("x", 8)
    assert broken.close.called


# The server


@pytest.fixture
def server() -> Server:
    return Server(Mock(), Mock())


def test_the_server_says_little_and_waits_for_a_second(server: Server) -> None:
    config = server.config
    assert (config.http, config.h11_max_incomplete_event_size, config.lifespan) == (LimitedProtocol, 1 << 14, "off")
    assert (config.ws, config.log_level, config.timeout_graceful_shutdown) == ("none", "error", 1)
    quiet = (config.access_log, config.server_header, config.date_header, config.proxy_headers)
    assert quiet == (False, False, False, False) and server.timed_out is False


def test_shutting_down_closes_everything_and_abandons_what_takes_too_long(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = AsyncMock()
    monkeypatch.setattr(uvicorn.Server, "shutdown", ended)
    later: list[Any] = []

    async def main() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda *given: later.append(given))
        await server.shutdown([])

    run_async(main())
    assert later == [(1, server._abandon_requests)] and ended.await_args.args == ([],)
    assert len(server._closables) == 3 and all(one.close.called for one in server._closables)  # type: ignore[attr-defined]


@pytest.fixture
def hangup() -> Iterator[Any]:
    """Sets a handler of SIGHUP, which is as it was afterwards."""
    before = signal.getsignal(signal.SIGHUP)
    yield lambda handler: signal.signal(signal.SIGHUP, handler)
    signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_signals_are_handled_while_the_server_runs(server: Server, hangup: Any) -> None:
    hangup(raise_ended)
    with server.capture_signals():
        assert signal.getsignal(signal.SIGHUP) == server.handle_exit
        assert signal.getsignal(signal.SIGINT) == server.handle_exit, "as uvicorn does"
    assert signal.getsignal(signal.SIGHUP) is raise_ended
    hangup(signal.SIG_IGN)
    with ending_signals(raise_ended, signal.SIG_DFL):
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, "as `nohup` wants it"
    hangup(signal.SIG_DFL)

    def in_a_thread() -> Any:
        with ending_signals(raise_ended, signal.SIG_DFL):
            return signal.getsignal(signal.SIGHUP)

    assert run_apart(in_a_thread) == signal.SIG_DFL
    with ending_signals(raise_ended, signal.SIG_DFL):
        assert signal.getsignal(signal.SIGHUP) is raise_ended
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


# The page for the browser


def test_the_page_leads_to_the_address_and_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_page("http://x/?a=1&b='\"") as page:
        assert page.name.startswith("reread-") and page.suffix == ".html"
        assert '<meta http-equiv="refresh" content="0; url=http://x/?a=1&amp;b=&#x27;&quot;">' in page.read_text()
        assert page.stat().st_mode & 0o777 == 0o600 or sys.platform == "win32"
    assert not page.exists()
    with private_page("http://x/") as page:
        page.unlink()
    with pytest.raises(KeyError), private_page("http://x/") as page:
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    opened = Mock()
    monkeypatch.setattr("webbrowser.open", opened)
    open_page(tmp_path / "a b.html")
    opened.assert_called_once_with((tmp_path / "a b.html").as_uri())


@pytest.mark.skipif(sys.platform == "win32", reason="users have numbers")
def test_only_own_pages_older_than_ten_minutes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "time", Mock(time=lambda: 10_000.0))

    def left(age: float) -> bool:
        path = tmp_path / "reread-x.html"
        path.write_bytes(run.HEAD)
        os.utime(path, (10_000 - age, 10_000 - age))
        run._remove_old_pages(tmp_path)
        return path.exists()

    assert [left(age) for age in (0, 600, 600.5)] == [True, True, False]
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert left(601), "of another user"
    monkeypatch.setattr(run, "sys", Mock(platform="win32"))
    assert not left(601), "there, a file has no such number"


# All together


class Serving:
    """Calls `serve` without running a server."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.servers: list[Any] = []
        self.ending: BaseException | None = None
        self.timed_out = False
        self.interval: list[float] = []
        self.pages: list[Path] = []
        self.started: list[Any] = []

    def run(self, server: Server, sockets: list[socket.socket]) -> None:
        self.servers.append(server)
        for each in sockets:
            each.close()
        server.timed_out = self.timed_out
        if self.ending is not None:
            raise self.ending

    def __call__(self, *paths: Path, **options: Any) -> str:
        """Start; return what is printed."""
        run.serve(*paths, **{"port": 0, "open_browser": False, "echo": self.lines.append, **options})
        return self.lines[-1]

    @property
    def guard(self) -> Any:
        return self.servers[-1].config.app

    @property
    def library(self) -> Any:
        return self.guard.app.state.library


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    found = Serving()
    monkeypatch.setattr(Server, "run", lambda server, sockets: found.run(server, sockets))
    monkeypatch.setattr(sys, "setswitchinterval", found.interval.append)
    monkeypatch.setattr(run, "SessionLibrary", lambda *given, **more: SessionLibrary(*given, **more, count=False))
    monkeypatch.setattr(run, "open_page", found.pages.append)
    monkeypatch.setattr(SessionLibrary, "start", lambda library: found.started.append(library))
    yield found
    for server in found.servers:
        for closable in server._closables:
            closable.close()


def test_the_printed_address_leads_to_what_was_asked_for(serving: Serving) -> None:
    path = next(SAMPLES.glob(f"projects/*/{KEY}.jsonl"))
    for paths, options, place in (
        ((), {"roots": [SAMPLES]}, ""),
        ((path,), {}, f"#/s/{KEY}"),
        ((path,), {"at": "#/usage"}, "#/usage"),
        ((path, path), {}, ""),
        ((path,), {"roots": [SAMPLES]}, ""),
    ):
        line = serving(*paths, **options)
        guard, library = serving.guard, serving.library
        port = guard.cookie.removeprefix("reread_")
        assert line == f"Serving at http://127.0.0.1:{port}/?token={guard.token}{place} (press Ctrl-C to stop)."
        assert len(guard.app.state.open_sessions) == (len(paths) == 1 and "roots" not in options), (
            "it is read while the browser starts"
        )
        assert (library.paths, library.roots) == ([*paths], options.get("roots")) and not library.listing().demo
        assert f"127.0.0.1:{port}" in guard.hosts and guard.sign_in is None and serving.started[-1] is library
    assert serving.interval == [0.001] * 5
    serving(roots=[SAMPLES], token=False, demo=True)
    assert serving.guard.token is None and serving.library.listing().demo and "token" not in serving.lines[-1]


def test_a_header_is_trusted_from_this_machine_or_from_a_named_proxy(serving: Serving) -> None:
    sign_in = run.SignIn("X-User")
    serving(roots=[SAMPLES], sign_in=sign_in)
    assert serving.guard.sign_in is sign_in
    serving(roots=[SAMPLES], sign_in=run.SignIn("X-User", ("10.0.0.1",)), host="0.0.0.0")
    assert serving.guard.sign_in.proxies == ("10.0.0.1",)
    for options, option in (({"sign_in": sign_in}, "HEADER@ADDRESS"), ({"token": False}, "--no-token")):
        with pytest.raises(reread.Misuse, match=option):
            serving(roots=[SAMPLES], host="0.0.0.0", **options)
    assert len(serving.servers) == 2


def test_the_exit_code_says_what_ended_the_server(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    serving.ending = KeyboardInterrupt()
    serving(roots=[SAMPLES])
    serving.ending = ShutdownRequested(143)
    with pytest.raises(SystemExit) as ended:
        serving(roots=[SAMPLES])
    assert ended.value.code == 143 and left == []
    serving.timed_out = True
    with pytest.raises(SystemExit):
        serving(roots=[SAMPLES])
    serving.ending = None
    serving(roots=[SAMPLES])
    assert left == [143, 0], "a thread that still works is not waited for"


def test_a_browser_is_opened_unless_that_is_not_wanted(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(threading, "Thread", starts := Starts(threading.Thread))
    serving(roots=[SAMPLES])
    assert serving.pages == [] and not starts.daemons
    run.serve(roots=[SAMPLES], port=0, echo=serving.lines.append)
    starts.last.join(PATIENCE)
    assert [page.parent for page in serving.pages] == [tmp_path] and starts.daemons == [True]


class Starts:
    """Makes threads, and remembers the one that opens the page."""

    def __init__(self, make: Callable[..., threading.Thread]) -> None:
        self._make, self.daemons = make, list[bool]()
        self.last: Any = None

    def __call__(self, **options: Any) -> threading.Thread:
        made = self._make(**options)
        if "args" in options and isinstance(options["args"][0], Path):
            self.last = made
            self.daemons.append(made.daemon)
        return made
