"""The web server: its routes, the request guard, live events, start and shutdown."""

import gc
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock
from urllib.request import url2pathname

import msgspec
import pytest
from effort import one_in
from limits import PATIENCE, child_process, wait_until
from making import jsonl, reply, result, told, use, user

import reread
from reread.base.paths import SAMPLES
from reread.reader.session_view import SessionView
from reread.server.guard import Guard
from reread.server.library import SessionLibrary
from reread.server.list_counts import CountJob, count_list
from reread.server.open_sessions import MAX_IDLE, OpenSession
from reread.server.routes import SESSION_ROUTES, make_app
from reread.server.run import LimitedProtocol, Server, bind, host_names, is_loopback, private_page, serve
from reread.session.session import Session

pytestmark = one_in(2)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    headers: Message
    body: bytes


class Site:
    """A client of a running server that can send any headers."""

    def __init__(self, port: int, end: Callable[[], None] = lambda: None) -> None:
        self.port = port
        self.end = end
        self.host = f"127.0.0.1:{port}"

    @contextmanager
    def request(self, path: str, method: str, **headers: str | list[str]) -> Iterator[http.client.HTTPResponse]:
        """Send a request with only these headers and Host; `host=[]` sends no Host."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=150)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"host": self.host, **headers}.items():
                for each in value if isinstance(value, list) else [value]:
                    connection.putheader(name.replace("_", "-"), each)
            connection.endheaders()
            with connection.getresponse() as answer:
                yield answer

    def ask(self, path: str, method: str = "GET", **headers: str | list[str]) -> Answer:
        """Send a request and return the whole response."""
        with self.request(path, method, **headers) as answer:
            return Answer(answer.status, answer.headers, answer.read())

    def status(self, path: str, method: str = "GET", **headers: str | list[str]) -> int:
        """Send a request and return its status."""
        return self.ask(path, method, **headers).status

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        answer = self.ask(path)
        assert answer.status == 200, answer.body
        assert answer.headers["content-type"] == "application/json"
        return json.loads(answer.body)

    @contextmanager
    def events(self, path: str) -> Iterator["Events"]:
        """Open an event stream."""
        with self.request(path, "GET") as answer:
            assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")
            yield Events(answer)


class Events:
    """Server-sent events, read one by one."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer

    def next(self) -> tuple[str, Any]:
        """Return the name and the value of the next event."""
        name = ""
        while line := self._answer.readline():
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                return name, json.loads(line[6:])
        return "", None

    def until(self, name: str) -> Any:
        """Return the value of the next event with this name."""
        while True:
            found, value = self.next()
            assert found, f"the stream ended before {name}"
            if found == name:
                return value


@contextmanager
def running(library: SessionLibrary, *, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Site]:
    """Run a server on a free port."""
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app = make_app(library)
    server = Server(app, Guard(app, port=port, hosts=host_names(host), token=token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()

    def end() -> None:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server did not stop"

    try:
        yield Site(port, end)
    finally:
        end()


@pytest.fixture(scope="module")
def demo() -> Iterator[Site]:
    """A server with the sample sessions."""
    with running(SessionLibrary([SAMPLES], count=False)) as site:
        yield site


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Site, Path]]:
    """A server with one session, and the path of its file."""
    path = tmp_path / "projects" / "p" / "5e551017-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("go"), reply("on it", id="m1"))))
    with running(SessionLibrary([tmp_path], count=False)) as site:
        yield site, path


# Routes


def test_the_library_lists_every_session_newest_first(demo: Site) -> None:
    found = demo.get("/api/library")
    headers = list(reread.sessions(root=SAMPLES))
    assert [row["id"] for row in found["sessions"]] == [header.id for header in headers]
    assert [row["title"] for row in found["sessions"]] == [header.title for header in headers]


def test_every_route_answers_for_every_sample(demo: Site) -> None:
    for row in demo.get("/api/library")["sessions"]:
        base = f"/api/sessions/{row['key']}"
        overview = demo.get(base)
        page = demo.get(f"{base}/items?count=200")
        assert page["total"] == overview["items"] == len(page["items"])
        assert demo.get(f"{base}/outline")["total"] == overview["turns"]
        assert demo.get(f"{base}/usage")["figures"]["tokens"] > 0
        assert demo.get(f"{base}/filter?kinds=text")["indices"]
        assert demo.get(f"{base}/problems")["problems"] is not None
        for number, file in enumerate(demo.get(f"{base}/files")["files"]):
            for version in range(len(file["versions"])):
                assert demo.get(f"{base}/files/{number}/{version}")["nodes"]
                assert demo.get(f"{base}/files/{number}/{version}?whole=1")["nodes"]
        for item in page["items"]:
            assert demo.get(f"{base}/place?message={item['key'].replace(' ', '%20')}")["item"] == item["index"]
            for part in item["parts"]:
                if part["part"] == "call":
                    assert demo.get(f"{base}/calls/{part['index']}")["nodes"]
                    assert demo.get(f"{base}/lines?call={part['id']}")["lines"]
        for agent in overview["agents"]:
            assert demo.get(f"{base}/items?agent={agent['id']}")["items"]


def test_search_and_copy_as_markdown(demo: Site) -> None:
    key = next(row["key"] for row in demo.get("/api/library")["sessions"] if "flaky" in row["title"])
    hits = demo.get(f"/api/sessions/{key}/search?q=ceiling")["hits"]
    assert {"prompt", "text", "call"} <= {hit["where"] for hit in hits}
    answer = demo.ask(f"/api/sessions/{key}/markdown?turn=1")
    assert answer.headers["content-type"].startswith("text/markdown")
    assert "**You**" in answer.body.decode()
    assert demo.status(f"/api/sessions/{key}/markdown") == 400


def test_the_first_load_is_small(demo: Site) -> None:
    page = demo.ask("/").body
    linked = re.findall(rb'(?:src|href)="\.?/?(assets/[^"]+)"', page)
    assert len(linked) >= 2
    loaded = [page, *(demo.ask(f"/{name.decode()}").body for name in linked)]
    assert sum(len(gzip.compress(data)) for data in loaded) <= 250_000


def test_a_child_counts_the_rows_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path))
    for _ in range(2):  # the second time from the cache
        library = SessionLibrary([SAMPLES])
        with running(library) as site:
            assert site.get("/api/library")["pending"] > 0
            until = time.monotonic() + PATIENCE
            while (found := site.get("/api/library"))["pending"] and time.monotonic() < until:
                time.sleep(0.05)
        counted = count_list(CountJob([SAMPLES])).counts
        for row in found["sessions"]:
            expected = msgspec.to_builtins(counted[library.find(row["key"])])
            assert {name: row[name] for name in expected} == expected | {"models": expected["models"] or row["models"]}


def test_long_work_lets_other_requests_use_the_session(live: tuple[Site, Path]) -> None:
    _, path = live
    session = OpenSession("k", path)
    other_ran = threading.Event()

    def other_request() -> None:
        with session.locked_view():
            other_ran.set()

    def steps() -> Generator[None, None, bool]:
        threading.Thread(target=other_request).start()
        for _ in range(20_000):
            time.sleep(0.005)
            if other_ran.is_set():
                return True
            yield
        return False

    assert session.run_in_slices(steps())
    session.close()


def test_checking_a_file_does_not_block_other_requests(
    live: tuple[Site, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    site, path = live
    started, may_end = threading.Event(), threading.Event()

    def slow_check(session: Session) -> list[Any]:
        started.set()
        assert may_end.wait(100)
        return []

    monkeypatch.setattr(Session, "problems", property(slow_check))
    base = f"/api/sessions/{path.stem}"
    request = threading.Thread(target=site.get, args=(f"{base}/problems",))
    request.start()
    assert started.wait(100)
    assert site.get(base)["items"] == 2
    may_end.set()
    request.join(150)


@pytest.mark.parametrize("slow", ["reading", "answering"])
def test_many_requests_for_a_slow_session_do_not_keep_others_waiting(
    live: tuple[Site, Path], monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    site, path = live
    slow_paths = [path, *(path.with_name(f"slow-{n}.jsonl") for n in range(9))]
    for one in (*slow_paths, path.with_name("other.jsonl")):
        one.write_bytes(path.read_bytes())
    started, may_end = threading.Event(), threading.Event()

    def slowed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any) -> Any:
            if self.key != "other":
                started.set()
                may_end.wait(100)
            return function(self, *args)

        return call

    assert len(site.get("/api/library")["sessions"]) == 11
    if slow == "reading":
        monkeypatch.setattr(OpenSession, "_read", slowed(OpenSession._read))
    else:
        monkeypatch.setattr(SessionView, "counted_overview", slowed(SessionView.counted_overview))
    statuses: list[int] = []
    names = [one.stem for one in slow_paths] * 8 if slow == "reading" else [path.stem] * 80

    def ask(name: str) -> None:
        statuses.append(site.status(f"/api/sessions/{name}"))

    requests = [threading.Thread(target=ask, args=(name,)) for name in names]
    for request in requests:
        request.start()
    try:
        assert started.wait(100)
        assert site.get("/api/sessions/other")["items"] == 2
        assert len(site.get("/api/library")["sessions"]) == 11
        assert not statuses
    finally:
        may_end.set()
    for request in requests:
        request.join(150)
    assert statuses == [200] * 80


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
def test_many_requests_for_a_pipe_are_refused(live: tuple[Site, Path]) -> None:
    site, path = live
    path.with_name("other.jsonl").write_bytes(path.read_bytes())
    assert len(site.get("/api/library")["sessions"]) == 2
    path.unlink()
    os.mkfifo(path)
    with ThreadPoolExecutor(60) as pool:
        assert set(pool.map(site.status, [f"/api/sessions/{path.stem}"] * 60)) == {404}
    assert site.get("/api/sessions/other")["items"] == 2


def test_two_sessions_with_the_same_file_name_have_different_keys(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.jsonl").write_bytes(jsonl(*told(user(folder))))
    odd = tmp_path / "one" / "a b&c.jsonl"
    odd.write_bytes(jsonl(*told(user("odd"))))
    library = SessionLibrary(paths=[*tmp_path.glob("*/same.jsonl"), odd], count=False)
    keys = {row.title: row.key for row in library.listing().sessions}
    assert len(set(keys.values())) == 3
    assert all(re.fullmatch(r"[\w.~-]+", key) for key in keys.values())
    assert {title: library.find(key).parent.name for title, key in keys.items()} == {
        "one": "one",
        "two": "two",
        "odd": "one",
    }


# The guard


ROUTES = [
    "/",
    "/api/library",
    "/api/events",
    "/api/reports/usage",
    *(f"/api/sessions/x{path}" for path in SESSION_ROUTES),
]


@pytest.mark.parametrize("path", ROUTES)
def test_requests_of_other_sites_are_rejected(demo: Site, path: str) -> None:
    assert demo.status(path, host="evil.example") == 403
    assert demo.status(path, host=f"evil.example:{demo.port}") == 403
    assert demo.status(path, host="127.0.0.1") == 403
    assert demo.status(path, host=f"127.0.0.1:{demo.port + 1}") == 403
    assert demo.status(path, host=[demo.host, demo.host]) in (400, 403)
    assert demo.status(path, host=[]) in (400, 403)
    assert demo.status(path, origin="http://evil.example") == 403
    assert demo.status(path, origin="null") == 403
    assert demo.status(path, origin=f"https://{demo.host}") == 403
    for site in ("cross-site", "same-site"):
        assert demo.status(path, sec_fetch_site=site, sec_fetch_mode="cors", sec_fetch_dest="empty") == 403
        assert demo.status(path, sec_fetch_site=site, sec_fetch_mode="no-cors", sec_fetch_dest="script") == 403
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        assert demo.status(path, method) == 405


@pytest.mark.parametrize(
    "path",
    [
        "/api/sessions/..%2f..%2fetc%2fpasswd",
        "/api/sessions/%2fetc%2fpasswd",
        f"/api/sessions/{str(SAMPLES).replace('/', '%2f')}",
        "/api/sessions/../../etc/passwd",
        "/assets/../../../pyproject.toml",
        "/assets/%2e%2e/%2e%2e/routes.py",
        "/assets/..%5c..%5croutes.py",
        "/static/index.html",
        "/export.js",
        "/NOTICES.txt",
        "//etc/passwd",
        "/api/sessions/agent-7e6ca39e",
    ],
)
def test_no_file_can_be_requested_by_its_path(demo: Site, path: str) -> None:
    assert demo.status(path) == 404


def test_answers_are_compressed_for_browsers_that_take_it_but_events_and_downloads_are_not(demo: Site) -> None:
    whole, packed = demo.ask("/api/library"), demo.ask("/api/library", accept_encoding="gzip, br")
    assert packed.headers["content-encoding"] == "gzip" and "Accept-Encoding" in packed.headers["vary"]
    assert json.loads(gzip.decompress(packed.body)).keys() == json.loads(whole.body).keys()
    assert len(packed.body) < len(whole.body) / 2 and whole.headers["content-encoding"] is None
    key = json.loads(whole.body)["sessions"][0]["key"]
    assert demo.ask(f"/api/sessions/{key}/export", accept_encoding="gzip").headers["content-encoding"] is None
    with demo.request("/api/events", "GET", accept_encoding="gzip") as answer:
        assert answer.headers["content-encoding"] is None


def test_missing_things_are_404_and_invalid_parameters_400(demo: Site) -> None:
    key = demo.get("/api/library")["sessions"][0]["key"]
    base = f"/api/sessions/{key}"
    for path in (
        "?agent=none",
        "?branch=99",
        "/calls/99999",
        "/lines?message=no",
        "/place?call=no",
        "/items?agent=x",
    ):
        answer = demo.ask(base + path)
        assert answer.status == 404 and json.loads(answer.body)["error"]
    for start in ("x", "1e9", "%C2%B2", "99999999999999"):
        assert demo.status(f"{base}/items?start={start}") == 400
    for path in ("?branch=-1", "/search"):
        assert demo.status(base + path) == 400
    assert demo.status(f"{base}/calls/-1") == 404
    assert demo.get(f"{base}/items?start=999999999")["items"] == []


def test_an_unknown_path_answers_with_a_page_and_an_unknown_api_path_with_json(demo: Site) -> None:
    page = demo.ask("/nothing/here")
    assert page.status == 404 and b"<h1>Not found</h1>" in page.body and b'href="/"' in page.body
    assert json.loads(demo.ask("/api/nothing").body) == {"error": "There is nothing at this address."}


def test_loopback_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "localhost.evil.example", "")))


# Live events


def append(path: Path, *records: Any) -> None:
    """Append records that continue the session in a file."""
    have = path.read_bytes().count(b"\n")
    with path.open("ab") as file:
        file.write(b"".join(jsonl(*told(*([user("")] * have), *records)).splitlines(keepends=True)[have:]))


def test_a_session_that_grows_sends_updates(live: tuple[Site, Path]) -> None:
    site, path = live
    base = f"/api/sessions/{path.stem}"
    with site.events(f"{base}/events") as events:
        state = events.until("open")
        assert (state["items"], state["turns"], state["first"], state["live"]) == (2, 1, 2, True)
        append(path, user("and this"))
        update = events.until("update")
        assert (update["items"], update["turns"], update["first"]) == (3, 2, 1)
        append(path, reply(use("a", "Bash", command="ls"), id="m2"))
        assert events.until("update")["first"] == 2
        append(path, user([result("a", "x")]))
        update = events.until("update")
        assert (update["items"], update["first"]) == (4, 3)
        page = site.get(f"{base}/items?start=3")
        assert page["stamp"] == update["stamp"] and page["items"][0]["parts"][0]["state"] == "done"


def test_a_new_agent_sends_an_update(live: tuple[Site, Path]) -> None:
    site, path = live
    append(path, reply(use("t", "Task", prompt="look"), id="m2"))
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    with site.events(f"/api/sessions/{path.stem}/events") as events:
        events.until("open")
        (folder / "agent-a1.jsonl").write_bytes(jsonl(*told(user("look", isSidechain=True, agentId="a1"))))
        update = events.until("update")
        assert update["agents"] == ["a1"]
        assert site.get(f"/api/sessions/{path.stem}")["agents"][0]["call"] == "t"


def test_a_file_that_is_rewritten_or_deleted_sends_an_update(live: tuple[Site, Path]) -> None:
    site, path = live
    base = f"/api/sessions/{path.stem}"
    with site.events(f"{base}/events") as events:
        events.until("open")
        again = path.with_suffix(".new")
        again.write_bytes(jsonl(*told(user("another"), reply("file"), user("now"))))
        again.replace(path)
        update = events.until("update")
        assert (update["rewritten"], update["first"], update["turns"]) == (True, 0, 2)
        path.unlink()
        assert events.until("update")["gone"]
        assert site.get(f"{base}/items")["total"] == 3, "what was read stays visible"
        assert site.get(base)["replaced"]


def test_a_file_that_reappears_can_be_opened_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "projects" / "-p"
    project.mkdir(parents=True)
    path = project / "one.jsonl"
    path.write_bytes(jsonl(user("hello")))
    with running(SessionLibrary([tmp_path], count=False)) as site:
        site.get("/api/library")
        path.rename(project / "away")
        assert site.status("/api/sessions/one") == 404
        assert b"event: open\n" not in site.ask("/api/sessions/one/events").body
        (project / "away").rename(path)
        assert site.status("/api/sessions/one") == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_null_character_is_rejected(demo: Site) -> None:
    assert demo.status("/api/reports/usage?project=%00") == 400


def test_idle_sessions_are_closed_the_least_recently_used_first(tmp_path: Path) -> None:
    gc.collect()  # what other tests left
    for n in range(8):
        (tmp_path / f"s{n}.jsonl").write_bytes(jsonl(*told(user(f"session {n}"))))
    library = SessionLibrary(paths=sorted(tmp_path.glob("*.jsonl")), count=False)
    open_sessions = make_app(library).state.open_sessions
    listened, used = open_sessions.get("s0"), open_sessions.get("s1")
    listened.bus.listeners.add(Mock())
    views: list[weakref.ref[SessionView]] = []
    for n in range(2, 8):
        with open_sessions.get(f"s{n}").locked_view() as view:
            assert view.overview().title == f"session {n}"
            views.append(weakref.ref(view))
        with used.locked_view():
            pass
    del view
    assert len(open_sessions) <= MAX_IDLE + 1
    assert sum(view() is not None for view in views) < MAX_IDLE, "with the one that is used all the time"
    assert (open_sessions.get("s0"), open_sessions.get("s1")) == (listened, used)


# Start and shutdown


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[str, Guard]]]:
    """Call `serve` without running the server; return the printed address and the guard."""
    guards: list[Any] = []

    def run(server: Server, sockets: list[socket.socket]) -> None:
        guards.append(server.config.app)
        for each in sockets:
            each.close()

    def start(*paths: Path, **options: Any) -> tuple[str, Guard]:
        lines: list[str] = []
        serve(*paths, **{"port": 0, "open_browser": False, "echo": lines.append, **options})
        return lines[0].split()[2], guards[-1]

    monkeypatch.setattr(Server, "run", run)
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)
    yield start
    for guard in guards:
        guard.app.state.open_sessions.close()
        guard.app.state.library.close()


def test_the_browser_gets_a_private_page_and_not_the_address(
    started: Callable[..., tuple[str, Guard]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int, str]] = []

    def browse(uri: str) -> None:
        path = Path(url2pathname(uri.removeprefix("file://")))
        opened.append((uri, path.stat().st_mode & 0o777, path.read_text()))

    run = Server.run
    monkeypatch.setattr(Server, "run", lambda server, sockets: (wait_until(lambda: bool(opened)), run(server, sockets)))
    monkeypatch.setattr("webbrowser.open", browse)
    path = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
    address, guard = started(path, open_browser=True)
    ((uri, mode, page),) = opened
    assert guard.token and guard.token not in uri
    assert mode == 0o600 or sys.platform == "win32"
    assert f'content="0; url={address}"' in page
    assert not Path(url2pathname(uri.removeprefix("file://"))).exists()


def answers(host: str) -> bool:
    """True once a server answers, whatever it says."""
    connection = http.client.HTTPConnection(host, timeout=150)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    finally:
        connection.close()


@one_in(4)
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_page_with_the_token_is_left_behind(ending: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "BROWSER": "true %s", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "reread", "--demo", "serve", "--port", "0"]
    with child_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as server:
        address = re.search(r"http://([^/?\s]+)", server.stdout.readline())
        assert address is not None
        wait_until(lambda: bool(list(tmp_path.glob("reread-*.html"))))
        assert answers(address[1])
        server.send_signal(ending)
        server.wait(PATIENCE)
        assert server.stderr.read() == ""
    left = list(tmp_path.glob("reread-*.html"))
    assert len(left) == (ending is signal.SIGKILL)


def test_pages_that_were_left_behind_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_page("http://x/") as page:
        content = page.read_text()
    kept = {"new": content, "foreign": "<html>"}
    for name, words in {**kept, "old": content}.items():
        (tmp_path / f"reread-{name}.html").write_text(words)
    (tmp_path / "reread-link.html").symlink_to(tmp_path / "reread-new.html")
    for name in ("old", "foreign", "link"):
        os.utime(tmp_path / f"reread-{name}.html", (1, 1), follow_symlinks=False)
    with private_page("http://y/") as page:
        assert {path.stem for path in tmp_path.iterdir()} == {page.stem, "reread-new", "reread-foreign", "reread-link"}


# Limits


def connected(site: Site, stack: ExitStack) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE))


def test_idle_connections_do_not_stop_the_server(
    demo: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reread.server.run.MAX_CONNECTIONS", 20)
    with ExitStack() as stack:
        idle = [connected(demo, stack) for _ in range(60)]
        assert demo.status("/api/library") == 200
        idle[0].settimeout(PATIENCE)
        assert idle[0].recv(1) == b""
        idle[-1].sendall(f"GET /api/library HTTP/1.1\r\nhost: {demo.host}\r\n\r\n".encode())
        assert idle[-1].recv(12) == b"HTTP/1.1 200"
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_a_connection_is_closed_at_the_time_that_was_set_last() -> None:
    connection, first, second = LimitedProtocol.__new__(LimitedProtocol), Mock(), Mock()
    connection._timer, connection.loop, connection.transport = None, Mock(), Mock()
    assert connection.expires == 0.0
    connection.loop.call_later.side_effect = [first, second]
    connection._expire_after(3.0)
    connection._expire_after(4.0)
    assert first.cancel.called and not second.cancel.called and connection.expires is second.when()
    assert [call.args[0] for call in connection.loop.call_later.call_args_list] == [3.0, 4.0]
    connection._cancel()
    assert second.cancel.called and connection._timer is None


def test_a_client_that_does_not_read_is_closed(demo: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, abort = threading.Event(), LimitedProtocol.abort
    monkeypatch.setattr(LimitedProtocol, "abort", lambda connection: (abort(connection), closed.set()))
    monkeypatch.setattr("reread.server.run.READ_SECONDS", 0.3)
    key = demo.get("/api/library")["sessions"][0]["key"]
    with ExitStack() as stack:
        slow = stack.enter_context(socket.socket())
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(PATIENCE)
        slow.connect(("127.0.0.1", demo.port))
        slow.sendall(f"GET /api/sessions/{key}/export HTTP/1.1\r\nhost: {demo.host}\r\n\r\n".encode() * 15)
        assert closed.wait(PATIENCE)
        received = 0
        with suppress(ConnectionResetError):
            while chunk := slow.recv(1 << 16):
                received += len(chunk)
        assert received < 15 * len(demo.ask(f"/api/sessions/{key}/export").body)


DIGITS = "9" * 4301
HOSTILE = [
    f"/api/sessions/{{key}}/calls/{DIGITS}",
    f"/api/sessions/{{key}}/pictures/call/{DIGITS}/0",
    f"/api/sessions/{{key}}/pictures/message/0/{DIGITS}",
    f"/api/sessions/{{key}}/items?start={DIGITS}",
    f"/api/sessions/{{key}}/place?turn={DIGITS}",
    "/api/sessions/{key}/calls/%D9%A3",
    "/api/sessions/{key}/items?start=%D9%A3",
    "/api/sessions/%00",
    "/api/sessions/%FF%FE",
    "/api/reports/usage?since=" + "9" * 400,
    "/api/reports/usage?tz=%00",
    "/api/reports/usage?by=%00,x",
    "/api/reports/usage?project=%00",
    "/api/sessions/{key}/search?q=%ED%A0%80",
    "/api/sessions/{key}/lines?message=%00",
    "/" + "a" * 20_000,
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path[:60])
def test_what_a_client_sends_causes_no_failure(
    demo: Site, path: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    key = demo.get("/api/library")["sessions"][0]["key"]
    assert demo.status(path.replace("{key}", key)) in (200, 400, 404)
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_a_server_with_open_streams_stops_quickly(live: tuple[Site, Path]) -> None:
    _, path = live
    library = SessionLibrary([path.parent.parent.parent], count=False)
    with running(library) as site, ExitStack() as streams:
        for address in (f"/api/sessions/{path.stem}/events", "/api/events"):
            streams.enter_context(site.events(address))
        time.sleep(0.3)
        began = time.monotonic()
        site.end()
    assert time.monotonic() - began < PATIENCE / 2
    assert library._stop.is_set()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_stops_the_server_while_a_browser_listens(tmp_path: Path) -> None:
    environment = {**os.environ, "REREAD_CACHE": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "reread", "--demo", "serve", "--no-token", "--no-open", "--port", "0"]
    with child_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as server:
        printed_line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", printed_line)
        assert found, printed_line + server.stderr.read()
        site = Site(int(found[1]))
        key = site.get("/api/library")["sessions"][0]["key"]
        with site.events(f"/api/sessions/{key}/events") as events:
            events.until("open")
            server.send_signal(signal.SIGINT)
            assert server.wait(PATIENCE) == 0
        assert server.stderr.read() == ""


SLOW = """
import threading, reread.cli, reread.server.reports
reread.server.reports.REPORTS["usage"] = reread.server.reports.OfferedReport(
    lambda *_: print("counting", flush=True) or threading.Event().wait(100), ()
)
reread.cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_stops_the_server_during_a_slow_request() -> None:
    command = [sys.executable, "-c", SLOW, "--demo", "serve", "--no-token", "--no-open", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with child_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as server:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
        assert found
        request = threading.Thread(target=Site(int(found[1])).status, args=("/api/reports/usage",))
        request.start()
        assert server.stdout.readline() == "counting\n"
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0
        request.join(PATIENCE)
        assert server.stderr.read() == ""


def test_a_port_in_use_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "reread", "--demo", "serve", "--no-open", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    assert done.returncode == 2
    assert re.fullmatch(rf"reread: Cannot listen on 127\.0\.0\.1:{port}: .*\n", done.stderr)
