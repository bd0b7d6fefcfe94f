"""The server: what it answers, whom it refuses, how it follows, and how it ends."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from making import image, jsonl, printed, reply, result, text, told, use, user

import reread
from reread.catalog.store import Store
from reread.cli._options import SAMPLES
from reread.reader.counts import count_session
from reread.reader.session_view import SessionView
from reread.server.counter_process import CounterProcess
from reread.server.guard import HEADERS, Guard
from reread.server.library import Library
from reread.server.open_sessions import OpenSession
from reread.server.routes import ANSWERS, make_app
from reread.server.run import Server, bind, is_loopback, names_of
from reread.session.session import Session

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
HTML = "<script>alert(1)</script>"


class Answer(NamedTuple):
    """How a request was answered."""

    status: int
    headers: Message
    body: bytes


class Site:
    """A running server, and requests to it with any headers."""

    def __init__(self, port: int, end: Callable[[], None] = lambda: None) -> None:
        self.port = port
        self.end = end
        self.host = f"127.0.0.1:{port}"

    @contextmanager
    def asked(self, path: str, method: str, **headers: str | list[str]) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request with just these headers besides Host; `host=[]` sends none."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"host": self.host, **headers}.items():
                for each in value if isinstance(value, list) else [value]:
                    connection.putheader(name.replace("_", "-"), each)
            connection.endheaders()
            with connection.getresponse() as answer:
                yield answer

    def ask(self, path: str, method: str = "GET", **headers: str | list[str]) -> Answer:
        """The whole answer to a request."""
        with self.asked(path, method, **headers) as answer:
            return Answer(answer.status, answer.headers, answer.read())

    def status(self, path: str, method: str = "GET", **headers: str | list[str]) -> int:
        """Only how a request was answered."""
        return self.ask(path, method, **headers).status

    def get(self, path: str) -> Any:
        """The JSON that is at a path."""
        answer = self.ask(path)
        assert answer.status == 200, answer.body
        assert answer.headers["content-type"] == "application/json"
        return json.loads(answer.body)

    @contextmanager
    def events(self, path: str) -> Iterator["Events"]:
        """The events of a stream."""
        with self.asked(path, "GET") as answer:
            assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")
            yield Events(answer)


class Events:
    """Server-sent events, one after the other."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer

    def next(self) -> tuple[str, Any]:
        """The next event and what it says."""
        name = ""
        while line := self._answer.readline():
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                return name, json.loads(line[6:])
        return "", None

    def until(self, name: str) -> Any:
        """What the next event of a name says."""
        while True:
            found, value = self.next()
            assert found, f"the stream ended before {name}"
            if found == name:
                return value


@contextmanager
def running(library: Library, *, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Site]:
    """A server over a library."""
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = make_app(library)
    server = Server(app, Guard(app, port=port, hosts=names_of(host), token=token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()

    def end() -> None:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the server did not end"

    try:
        yield Site(port, end)
    finally:
        end()


@pytest.fixture(scope="module")
def demo() -> Iterator[Site]:
    """The sample sessions, served."""
    with running(Library([SAMPLES], count=False)) as site:
        yield site


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Site, Path]]:
    """One session in a folder, served."""
    path = tmp_path / "projects" / "p" / "5e551017-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("go"), reply("on it", id="m1"))))
    with running(Library([tmp_path], count=False)) as site:
        yield site, path


# What it answers


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
        for item in page["items"]:
            assert demo.get(f"{base}/place?message={item['key'].replace(' ', '%20')}")["item"] == item["index"]
            for part in item["parts"]:
                if part["part"] == "call":
                    assert demo.get(f"{base}/calls/{part['index']}")["nodes"]
                    assert demo.get(f"{base}/lines?call={part['id']}")["lines"]
        for agent in overview["agents"]:
            assert demo.get(f"{base}/items?agent={agent['id']}")["items"]


def test_finding_and_copying_over_http(demo: Site) -> None:
    key = next(row["key"] for row in demo.get("/api/library")["sessions"] if "flaky" in row["title"])
    hits = demo.get(f"/api/sessions/{key}/search?q=ceiling")["hits"]
    assert {"prompt", "text", "call"} <= {hit["where"] for hit in hits}
    answer = demo.ask(f"/api/sessions/{key}/markdown?turn=1")
    assert answer.headers["content-type"].startswith("text/markdown")
    assert "**You**" in answer.body.decode()
    assert demo.status(f"/api/sessions/{key}/markdown") == 400


def test_usage_is_the_usage_report(demo: Site) -> None:
    found = demo.get("/api/usage?by=model")
    expected = reread.usage(root=SAMPLES, by="model")
    assert found["totals"]["output_tokens"] == expected.totals.output_tokens
    assert [row["model"] for row in found["rows"]] == [row["model"] for row in expected.rows]
    assert demo.status("/api/usage?by=nonsense") == 400


def test_pictures_are_served_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    fake = image(b64encode(HTML.encode()).decode())
    path.write_bytes(jsonl(*told(user([text("see"), image(b64encode(PNG).decode()), fake, image("%%%")]))))
    with running(Library(paths=[path], count=False)) as site:
        parts = site.get("/api/sessions/s/items")["items"][0]["parts"]
        urls = [node["url"] for part in parts if part["part"] == "nodes" for node in part["nodes"]]
        answer = site.ask(urls[0])
        assert (answer.status, answer.headers["content-type"], answer.body) == (200, "image/png", PNG)
        assert [site.status(url) for url in urls[1:]] == [404, 404]


def test_a_clerk_fills_the_library_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path))
    for _ in range(2):  # the second time from what was kept
        library = Library([SAMPLES])
        with running(library) as site:
            assert site.get("/api/library")["pending"] > 0
            until = time.monotonic() + 30
            while (found := site.get("/api/library"))["pending"] and time.monotonic() < until:
                time.sleep(0.05)
        for row in found["sessions"]:
            counted = count_session(reread.open(library.find(row["key"])))
            assert (row["turns"], row["agents"]) == (counted.turns, counted.agents)
            assert counted.figures is not None and row["figures"]["tokens"] == counted.figures.tokens


def test_nothing_is_counted_while_a_session_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path))
    counted: list[Path] = []
    clerk = CounterProcess(lambda path, _: counted.append(path))
    first, *rest = ((path, 0) for path in sorted(SAMPLES.rglob("*.jsonl"))[:4])
    clerk.want([first])
    wait_until(lambda: len(counted) == 1)
    with clerk.held(), clerk.held():
        clerk.want(rest)
        time.sleep(0.3)
        assert len(counted) == 1
    wait_until(lambda: len(counted) == 4)
    clerk.close()


def wait_until(true: Callable[[], bool]) -> None:
    """Wait until something is true; at most half a minute."""
    until = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_long_work_lets_others_to_the_desk(live: tuple[Site, Path]) -> None:
    _, path = live
    room = OpenSession("k", path)
    came = threading.Event()

    def come() -> None:
        with room.viewing():
            came.set()

    def steps() -> Generator[None, None, str]:
        threading.Thread(target=come).start()
        for _ in range(1000):
            time.sleep(0.005)
            if came.is_set():
                return "someone came"
            yield
        return "nobody came"

    assert room.finish(steps()) == "someone came"
    room.close()


def test_checking_a_file_keeps_nobody_waiting(live: tuple[Site, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    site, path = live
    checking, enough = threading.Event(), threading.Event()

    def slowly(session: Session) -> list[Any]:
        checking.set()
        assert enough.wait(20)
        return []

    monkeypatch.setattr(Session, "problems", property(slowly))
    base = f"/api/sessions/{path.stem}"
    about = threading.Thread(target=site.get, args=(f"{base}/problems",))
    about.start()
    assert checking.wait(20)
    assert site.get(base)["items"] == 2
    enough.set()
    about.join(20)


def test_two_sessions_of_one_name_have_keys_of_their_own(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.jsonl").write_bytes(jsonl(*told(user(folder))))
    odd = tmp_path / "one" / "a b&c.jsonl"
    odd.write_bytes(jsonl(*told(user("odd"))))
    library = Library(paths=[*tmp_path.glob("*/same.jsonl"), odd], count=False)
    keys = {row.title: row.key for row in library.value().sessions}
    assert len(set(keys.values())) == 3
    assert all(re.fullmatch(r"[\w.~-]+", key) for key in keys.values())
    assert {title: library.find(key).parent.name for title, key in keys.items()} == {
        "one": "one",
        "two": "two",
        "odd": "one",
    }


def test_captured_conversations_are_beside_transcripts_and_joined_with_them(tmp_path: Path) -> None:
    session = "5e551017-0000-4000-8000-000000000001"
    transcript = tmp_path / "projects" / "p" / f"{session}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(jsonl(*told(user("what was asked"), reply("the answer", id="m1"))))
    for line in jsonl(printed(reply("the answer", id="m1"), uuid="u2")).splitlines(keepends=True):
        Store(tmp_path).append("talk", line)
    with running(Library([tmp_path], count=False)) as site:
        rows = {row["captured"]: row for row in site.get("/api/library")["sessions"]}
        assert rows[True]["title"] == rows[False]["title"] == "what was asked"
        base = f"/api/sessions/{rows[True]['key']}"
        assert [p["kind"] for p in site.get(f"{base}/items")["items"]] == ["prompt", "response"]
        with site.events(f"{base}/events") as events:
            events.until("open")
            Store(tmp_path).append("talk", jsonl(printed(reply("and more", id="m2"), uuid="u9")))
            assert events.until("update")["items"] == 2


# Whom it refuses


ROUTES = ["/", "/api/library", "/api/events", "/api/usage", *(f"/api/sessions/x{path}" for path in ANSWERS)]


@pytest.mark.parametrize("path", ROUTES)
def test_only_its_own_page_may_ask(demo: Site, path: str) -> None:
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


def test_its_own_page_may(demo: Site) -> None:
    for host in (f"127.0.0.1:{demo.port}", f"localhost:{demo.port}", f"[::1]:{demo.port}", f"LOCALHOST:{demo.port}"):
        assert demo.status("/api/library", host=host) == 200
        assert (
            demo.status("/api/library", host=host, origin=f"http://{host.lower()}", sec_fetch_site="same-origin") == 200
        )
    assert demo.status("/api/library", "HEAD") == 200


def test_a_link_from_elsewhere_leads_to_the_page_but_to_no_data(demo: Site) -> None:
    visit = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert demo.status("/", **visit) != 403
    assert demo.status("/api/library", **visit) == 403
    assert demo.status("/", **{**visit, "sec_fetch_dest": "iframe"}) == 403


@pytest.mark.parametrize("path", ["/", "/api/library", "/nothing", "/api/sessions/none"])
def test_every_answer_says_what_a_browser_must_not_do(demo: Site, path: str) -> None:
    for headers in ({}, {"host": "evil.example"}):
        answer = demo.ask(path, **headers)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert "unsafe" not in HEADERS["content-security-policy"]


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
        "//etc/passwd",
        "/api/sessions/agent-7e6ca39e",
    ],
)
def test_no_file_can_be_asked_for_by_its_path(demo: Site, path: str) -> None:
    assert demo.status(path) == 404


def test_what_is_not_there_is_not_found_and_nonsense_is_refused(demo: Site) -> None:
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
    for path in ("?branch=-1", "/items?start=x", "/items?count=1e9", "/search", "/place?line=99999999999999"):
        assert demo.status(base + path) == 400
    assert demo.status(f"{base}/calls/-1") == 404
    assert demo.get(f"{base}/items?start=999999999")["items"] == []


def test_another_address_needs_the_token() -> None:
    with running(Library([SAMPLES], count=False), host="reader.example", token="sesame") as site:
        host = f"reader.example:{site.port}"
        assert site.status("/api/library", host=host) == 401
        assert site.status("/api/library?token=guess", host=host) == 401
        assert site.status("/api/library", host=host, authorization="Bearer guess") == 401
        assert site.status("/api/library", host=host, authorization="Bearer sesame") == 200
        welcome = site.ask("/?token=sesame&x=1", host=host)
        assert (welcome.status, welcome.headers["location"]) == (303, "/?x=1")
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert site.status("/api/library", host=host, cookie=cookie.split(";")[0]) == 200
        assert site.status("/api/library", host=host, cookie=f"reread_{site.port}=guess") == 401


def test_what_counts_as_this_machine() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "localhost.evil.example", "")))


def test_the_names_of_an_address() -> None:
    assert names_of("192.168.1.2") == ["192.168.1.2"]
    assert names_of("fe80::1") == ["[fe80::1]"]
    assert socket.gethostname() in names_of("0.0.0.0")


# How it follows


def append(path: Path, *records: Any) -> None:
    """Append records to a session, with what it holds told before them."""
    have = path.read_bytes().count(b"\n")
    with path.open("ab") as file:
        file.write(b"".join(jsonl(*told(*([user("")] * have), *records)).splitlines(keepends=True)[have:]))


def test_a_session_that_grows_is_told(live: tuple[Site, Path]) -> None:
    site, path = live
    base = f"/api/sessions/{path.stem}"
    with site.events(f"{base}/events") as events:
        stood = events.until("open")
        assert (stood["items"], stood["turns"], stood["first"], stood["live"]) == (2, 1, 2, True)
        append(path, user("and this"))
        grown = events.until("update")
        assert (grown["items"], grown["turns"], grown["first"]) == (3, 2, 1)
        append(path, reply(use("a", "Bash", command="ls"), id="m2"))
        assert events.until("update")["first"] == 2
        append(path, user([result("a", "x")]))
        grown = events.until("update")
        assert (grown["items"], grown["first"]) == (4, 3)
        page = site.get(f"{base}/items?start=3")
        assert page["stamp"] == grown["stamp"] and page["items"][0]["parts"][0]["state"] == "done"


def test_agents_that_appear_are_told(live: tuple[Site, Path]) -> None:
    site, path = live
    append(path, reply(use("t", "Task", prompt="look"), id="m2"))
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    with site.events(f"/api/sessions/{path.stem}/events") as events:
        events.until("open")
        (folder / "agent-a1.jsonl").write_bytes(jsonl(*told(user("look", isSidechain=True, agentId="a1"))))
        grown = events.until("update")
        assert grown["agents"] == ["a1"]
        assert site.get(f"/api/sessions/{path.stem}")["agents"][0]["call"] == "t"


def test_a_file_that_vanishes_or_is_rewritten_is_told(live: tuple[Site, Path]) -> None:
    site, path = live
    base = f"/api/sessions/{path.stem}"
    with site.events(f"{base}/events") as events:
        events.until("open")
        again = path.with_suffix(".new")
        again.write_bytes(jsonl(*told(user("another"), reply("file"), user("now"))))
        again.replace(path)
        grown = events.until("update")
        assert (grown["rewritten"], grown["first"], grown["turns"]) == (True, 0, 2)
        path.unlink()
        assert events.until("update")["gone"]
        assert site.get(f"{base}/items")["total"] == 3, "what was read is still shown"
        assert site.get(base)["replaced"]


def test_a_file_that_comes_back_can_be_read_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "projects" / "-p"
    project.mkdir(parents=True)
    path = project / "one.jsonl"
    path.write_bytes(jsonl(user("hello")))
    with running(Library([tmp_path], count=False)) as site:
        site.get("/api/library")
        path.rename(project / "away")
        assert site.status("/api/sessions/one") == 404
        assert b"event: open\n" not in site.ask("/api/sessions/one/events").body
        (project / "away").rename(path)
        assert site.status("/api/sessions/one") == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_null_character_is_refused(demo: Site) -> None:
    assert demo.status("/api/usage?project=%00") == 400


def test_a_rewind_is_told_from_where_it_leaves(live: tuple[Site, Path]) -> None:
    site, path = live
    append(path, user("left"), reply("went left", id="m2"))
    with site.events(f"/api/sessions/{path.stem}/events") as events:
        assert events.until("open")["branch"] == 0
        append(path, user("right", parentUuid="u2"))
        grown = events.until("update")
        assert (grown["branch"], grown["first"], grown["items"]) == (1, 1, 3)


def test_who_does_not_watch_sees_what_is_new_too(live: tuple[Site, Path]) -> None:
    site, path = live
    base = f"/api/sessions/{path.stem}"
    assert site.get(base)["items"] == 2
    append(path, user("and this"))
    until = time.monotonic() + 5
    while site.get(base)["items"] == 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert site.get(base)["items"] == 3


def test_a_torn_tail_is_shown_once_nobody_will_finish_it(live: tuple[Site, Path]) -> None:
    site, path = live
    with path.open("ab") as file:
        file.write(b'{"type": "user", "mess')
    os.utime(path, (0, 0))
    assert site.get(f"/api/sessions/{path.stem}")["malformed"] == 1


def test_sessions_that_come_and_go_are_told(live: tuple[Site, Path]) -> None:
    site, path = live
    assert len(site.get("/api/library")["sessions"]) == 1
    with site.events("/api/events") as events:
        shutil.copy(path, path.with_name("another.jsonl"))
        site.get("/api/library")
        time.sleep(2.1)
        assert len(site.get("/api/library")["sessions"]) == 2
        assert events.next()[0] == "library"


def test_sessions_that_nobody_uses_are_closed(tmp_path: Path) -> None:
    for n in range(8):
        (tmp_path / f"s{n}.jsonl").write_bytes(jsonl(*told(user(f"session {n}"))))
    library = Library(paths=sorted(tmp_path.glob("*.jsonl")), count=False)
    app = make_app(library)
    desks: list[weakref.ref[SessionView]] = []
    for n in range(8):
        with app.state.open_sessions.room(f"s{n}").viewing() as view:
            assert view.overview().title == f"session {n}"
            desks.append(weakref.ref(view))
    del view
    assert len(app.state.open_sessions) <= 4
    assert sum(view() is not None for view in desks) <= 5


# How it begins and ends


def test_answers_are_sent_at_once() -> None:
    with bind("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # by which asyncio knows that it may set TCP_NODELAY


def test_a_port_in_use_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(reread.Misuse, match=f"cannot listen on 127.0.0.1:{port}: .*leave --port out"):
            bind("127.0.0.1", port)
        monkeypatch.setattr("reread.server.run.PORT", port)
        with bind("127.0.0.1", None) as other:
            assert other.getsockname()[1] != port
    with pytest.raises(reread.Misuse, match=r"cannot listen on 203\.0\.113\.1"):
        bind("203.0.113.1", None)


def test_a_server_with_open_streams_ends_at_once(live: tuple[Site, Path]) -> None:
    _, path = live
    with running(Library([path.parent.parent.parent], count=False)) as site, ExitStack() as watching:
        for address in (f"/api/sessions/{path.stem}/events", "/api/events"):
            watching.enter_context(site.events(address))
        time.sleep(0.3)
        began = time.monotonic()
        site.end()
    assert time.monotonic() - began < 3


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_ends_it_cleanly_even_while_someone_watches(tmp_path: Path) -> None:
    environment = {**os.environ, "REREAD_CACHE": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "reread", "--demo", "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None and server.stderr is not None
        said = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", said)
        assert found, said + server.stderr.read()
        site = Site(int(found[1]))
        key = site.get("/api/library")["sessions"][0]["key"]
        with site.events(f"/api/sessions/{key}/events") as events:
            events.until("open")
            server.send_signal(signal.SIGINT)
            assert server.wait(5) == 0
        assert server.stderr.read() == ""


SLOW = """
import threading, reread.cli, reread.server.library
reread.server.library.Library.usage = lambda *_: print("counting", flush=True) or threading.Event().wait(60)
reread.cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_ends_it_soon_and_quietly_even_while_it_counts() -> None:
    command = [sys.executable, "-c", SLOW, "--demo", "serve", "--no-open", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None and server.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
        assert found
        asking = threading.Thread(target=Site(int(found[1])).status, args=("/api/usage",))
        asking.start()
        assert server.stdout.readline() == "counting\n"
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0
        asking.join(10)
        assert server.stderr.read() == ""


def test_a_taken_port_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "reread", "--demo", "serve", "--no-open", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert re.fullmatch(rf"reread: cannot listen on 127\.0\.0\.1:{port}: .*\n", done.stderr)
