"""The routes of the server: each parameter arrives where it belongs, and each answer is what the library returns."""

import asyncio
import json
import logging
import re
import signal
import threading
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest
from asking import ask
from limits import run_async, wait_until
from requested import conversation

import reread
from reread.base import jsontext
from reread.base.paths import SAMPLES
from reread.catalog.config import config_value
from reread.disk.layout import default_store
from reread.reader import session_search
from reread.reader.file_view import file_blame, file_diff, list_changed_files, version_body
from reread.reader.library_schema import LibraryNow
from reread.reader.request_view import list_requests, request_body, request_context
from reread.reader.session_search import ItemFilter, filter_items, search_session
from reread.reader.session_view import SessionView
from reread.reports.cost_parts import cost_parts
from reread.reports.now_report import LiveSession
from reread.server import library as running_module
from reread.server import reports, routes
from reread.server.guard import GUEST
from reread.server.library import NOTHING, RunningSessions, SessionLibrary
from reread.server.open_sessions import OpenSession
from reread.server.reports import MOST_DIGITS, REPORTS, OfferedReport
from reread.server.routes import make_app
from reread.server.run import Server, ShutdownRequested, ending_signals, raise_ended
from reread.server.sharing import ShareReviews

KEY, AGENT = "d2a94e17-0c58-4f6b-8a1d-7be3905f26c4", "ac605ed2d8f598271"
BASE = f"/api/sessions/{KEY}"


@pytest.fixture(scope="module")
def library() -> Iterator[SessionLibrary]:
    """The samples, which no test changes."""
    found = SessionLibrary([SAMPLES], count=False)
    yield found
    found.close()


@pytest.fixture
def app(library: SessionLibrary) -> Any:
    return make_app(library)  # in each test: a change of a route is tried against the tests that make it


def done(value: Any) -> Any:
    """What a handler returns, once all of its steps are taken."""
    while isinstance(value, Generator):
        try:
            while True:
                next(value)
        except StopIteration as end:
            value = end.value
    return done(value()) if callable(value) else value


View = Callable[[SessionView], Any]
QUERIES: dict[str, dict[str, View]] = {
    "": {
        "": lambda view: view.counted_overview(),
        f"agent={AGENT}": lambda view: view.counted_overview(AGENT),
        "branch=0": lambda view: view.counted_overview(None, 0),
    },
    "/items": {
        "": lambda view: view.page(0, 50),
        "start=3&count=2": lambda view: view.page(3, 2),
        f"agent={AGENT}&count=1": lambda view: view.page(0, 1, agent=AGENT),
        "branch=0&start=20&whole=true": lambda view: view.page(20, 50, branch=0, whole=True),
    },
    "/outline": {
        "": lambda view: view.outline(0, 500),
        "start=2&count=3": lambda view: view.outline(2, 3),
        "branch=0": lambda view: view.outline(0, 500, branch=0),
        f"agent={AGENT}": lambda view: view.outline(0, 500, agent=AGENT),
    },
    "/calls/1": {
        "": lambda view: view.call(1),
        f"agent={AGENT}&whole=1": lambda view: view.call(1, agent=AGENT, whole=True),
    },
    "/lines": {
        "line=5": lambda view: view.lines(line=5),
        f"line=5&agent={AGENT}": lambda view: view.lines(line=5, agent=AGENT),
    },
    "/place": {
        "turn=3": lambda view: view.place(turn=3),
        "turn=7&branch=0": lambda view: view.place(turn=7, branch=0),
        "line=5": lambda view: view.place(line=5),
        f"turn=1&agent={AGENT}": lambda view: view.place(turn=1, agent=AGENT),
    },
    "/search": {
        "q=dead": lambda view: search_session(view, "dead", ItemFilter()),
        "q=dead&start=9": lambda view: search_session(view, "dead", ItemFilter(), start=9),
        "q=dead&kinds=prompt": lambda view: search_session(view, "dead", ItemFilter(frozenset({"prompt"}))),
        "q=dead&branch=0": lambda view: search_session(view, "dead", ItemFilter(), branch=0),
        f"q=dead&agent={AGENT}": lambda view: search_session(view, "dead", ItemFilter(), agent=AGENT),
    },
    "/filter": {
        "": lambda view: filter_items(view, ItemFilter(), count=10_000),
        "kinds=prompt,,text": lambda view: filter_items(view, ItemFilter(frozenset({"prompt", "text"})), count=10_000),
        "tools=Bash&start=9&count=2": lambda view: filter_items(
            view, ItemFilter(tools=frozenset({"Bash"})), start=9, count=2
        ),
        "errors=1": lambda view: filter_items(view, ItemFilter(errors=True), count=10_000),
        "branch=0": lambda view: filter_items(view, ItemFilter(), count=10_000, branch=0),
    },
    "/usage": {
        "branch=0": lambda view: view.usage(None, 0),
        f"agent={AGENT}": lambda view: view.usage(AGENT),
    },
    "/waterfall": {
        "": lambda view: view.waterfall(),
        "branch=0": lambda view: view.waterfall(None, 0),
        f"agent={AGENT}": lambda view: view.waterfall(AGENT),
    },
    "/context": {
        "": lambda view: request_context(view.thread(), turn=None, request=None, agent=None),
        "turn=3": lambda view: request_context(view.thread(), turn=3, request=None, agent=None),
        f"agent={AGENT}": lambda view: request_context(view.thread(AGENT), turn=None, request=None, agent=AGENT),
    },
    "/problems": {"": lambda view: view.problems()},
    "/files": {"": lambda view: list_changed_files(view.session)},
    "/files/1/0": {
        "": lambda view: version_body(view.session, 1, 0, whole=False),
        "whole=1": lambda view: version_body(view.session, 1, 0, whole=True),
    },
    "/files/1/diff": {"": lambda view: file_diff(view.session, 1)},
    "/files/1/blame": {"": lambda view: file_blame(view.session, 1)},
}


def assert_answers(app: Any, base: str, view: SessionView, queries: dict[str, dict[str, View]]) -> None:
    for path, wanted in queries.items():
        for query, make in wanted.items():
            expected = json.loads(jsontext.dumps(done(make(view))))
            assert ask(app, f"{base}{path}", query).value == expected, (path, query)


def test_the_answers_about_a_session_are_those_of_its_view(
    library: SessionLibrary, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_search, "SECONDS", 600.0)
    view = SessionView(reread.open(library.find(KEY)), KEY, base_url=BASE)
    assert_answers(app, BASE, view, QUERIES)
    for path, queries in QUERIES.items():
        answers = {ask(app, f"{BASE}{path}", query).body for query in queries}
        assert len(answers) == len(queries) or path == "/files/1/0", f"{path}: its queries tell nothing apart"
    for query, words in (("turn=2", {"turn": 2}), ("turn=7&branch=0", {"turn": 7, "branch": 0})):
        assert ask(app, f"{BASE}/markdown", query).body.decode() == view.markdown(**words)
    assert ask(app, f"{BASE}/search").status == 400


def test_requests_are_listed_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(conversation(4).data)
    library = SessionLibrary(paths=[path], count=False)
    app, view = make_app(library), SessionView(reread.open(path), "s", base_url="/api/sessions/s")
    thread = view.thread()
    queries: dict[str, dict[str, View]] = {
        "/requests": {
            "": lambda _: list_requests(thread, 0, 500),
            "start=2&count=3": lambda _: list_requests(thread, 2, 3),
        },
        "/requests/3": {
            "": lambda _: request_body(thread, 3, changes=False, whole=False),
            "changes=1": lambda _: request_body(thread, 3, changes=True, whole=False),
        },
        "/context": {"request=2": lambda _: request_context(thread, turn=None, request=2, agent=None)},
    }
    assert_answers(app, "/api/sessions/s", view, queries)


def test_an_open_session_whose_file_is_gone_can_still_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(conversation(2).data)
    app = make_app(SessionLibrary(paths=[path], count=False))
    assert ask(app, "/api/sessions/s").status == 200
    path.unlink()
    answer = ask(app, "/api/sessions/s/export")
    assert answer.status == 200 and answer.body.startswith(b"<!doctype html>")
    assert answer.headers["content-disposition"] == 'attachment; filename="s.html"'


def test_a_star_and_a_note_are_kept_and_a_note_that_changed_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    library = SessionLibrary([SAMPLES], count=False)
    app, address = make_app(library), f"{BASE}/annotation"
    before = ask(app, address).value
    own = library.annotation(KEY)
    assert before == {"starred": own.starred, "note": own.note, "tags": []}
    assert ask(app, address, send={"starred": True, "note": "mine"}).value == {
        "starred": True,
        "note": "mine",
        "tags": [],
        "saved": True,
    }
    assert ask(app, address, send={"note": "theirs", "was": "nothing"}).value == {
        "starred": True,
        "note": "mine",
        "tags": [],
        "saved": False,
    }
    assert ask(app, address, send={"tag": ["New", "old"]}).value["tags"] == ["new", "old"]
    assert ask(app, address, send={"untag": ["old"]}).value["tags"] == ["new"]
    assert ask(app, address).value == {"starred": True, "note": "mine", "tags": ["new"]}
    [row] = [row for row in ask(app, "/api/library").value["sessions"] if row["key"] == KEY]
    assert (row["starred"], row["note"], row["tags"]) == (True, "mine", ["new"])
    for wrong in (
        {"tag": "x"},
        {"tag": [1]},
        {"tag": ["two words"]},
        {"starred": "yes"},
        {"note": 1},
        {"other": "x"},
        {"note": None},
    ):
        assert ask(app, address, send=wrong).status == 400, wrong
    assert ask(app, "/api/sessions/none/annotation").status == 404


def test_budgets_are_set_and_removed_in_the_settings(app: Any, library: SessionLibrary) -> None:
    assert ask(app, "/api/settings").value == {"day": None, "week": None, "month": None}
    assert ask(app, "/api/settings", send={"day": 5, "month": 70.5}).value == {"day": 5, "week": None, "month": 70.5}
    assert ask(app, "/api/settings", send={"day": None, "week": 9}).value == {"day": None, "week": 9, "month": 70.5}
    assert config_value(default_store(), "budgets") == {"week": 9, "month": 70.5}
    for wrong in ({"year": 1}, {"day": -1}, {"day": "5"}, {"day": True}):
        assert ask(app, "/api/settings", send=wrong).status == 400, wrong
    states = ask(app, "/api/reports/budgets", "tz=UTC").value["budgets"]
    assert {state["per"]: state["amount_usd"] for state in states} == {"week": 9, "month": 70.5}
    assert ask(app, "/api/reports/budgets", "tz=Nowhere").status == 400


def test_reports_count_the_sessions_of_the_library() -> None:
    named = [next(SAMPLES.glob(f"projects/*/{KEY[:8]}*.jsonl"))]
    for library, given in (
        (SessionLibrary([SAMPLES], count=False), {"root": SAMPLES}),
        (SessionLibrary(paths=named, count=False), {}),
    ):
        paths, known = library.paths, library.rows_by_session()
        whole = [row["session"] for row in reread.usage(*paths, by="session", **given).rows]
        value = REPORTS["usage"].answer(library, {"by": "session"})
        assert [row["session"] for row in value["rows"]] == whole
        listed = {id: {"key": known[id].key, "title": known[id].title, "project": known[id].project} for id in known}
        assert value["sessions_by_id"] == {id: listed[id] for id in whole if id in known} != {}
        assert [
            row["session"] for row in REPORTS["usage"].answer(library, {"by": "session", "limit": "1"})["rows"]
        ] == [max(reread.usage(*paths, by="session", **given).rows, key=lambda row: row.cost_usd)["session"]]
        cost = cost_parts(*paths, **given).totals.cost_usd
        assert REPORTS["cost"].answer(library, {})["totals"]["cost_usd"] == pytest.approx(cost) and cost > 0
        assert REPORTS["stats"].answer(library, {})["totals"]["calls"] == reread.stats(*paths, **given).totals.calls
        broken = REPORTS["cache"].answer(library, {"by": "cause,session"})
        assert broken["labels"].keys() == {row["cause"] for row in broken["rows"]}
    for limit in ("x", "-1", "0", "9" * (MOST_DIGITS + 1)):
        with pytest.raises(reread.Misuse):
            REPORTS["usage"].answer(library, {"limit": limit})


def test_a_report_says_what_its_columns_are_and_what_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(conversation(2).data)
    library = SessionLibrary(paths=[path], count=False)
    value = ask(make_app(library), "/api/reports/stats", "by=project").value
    names = [column["name"] for column in value["columns"]]
    assert (value["report"], value["by"], names[0], names[-1]) == ("stats", ["project"], "turns", "cost_usd")
    assert all(set(column["figures"]) <= value["totals"].keys() for column in value["columns"])
    assert {"failed", "denied", ""} == {column["state"] for column in value["columns"] if "state" in column}
    assert "turns" not in [column["name"] for column in ask(make_app(library), "/api/reports/stats").value["columns"]]
    report = reread.stats(path)
    report.unread = ("/own/place.jsonl",)
    offered = reports.counted_report(lambda *_, **__: report, ())
    told = "Cannot read /own/place.jsonl: not included; run `reread check` on it."
    assert told in [note["text"] for note in offered.answer(library, {})["notes"]]
    assert "/own" not in json.dumps(offered.answer(library, {GUEST: "1"}))
    assert ask(make_app(library), "/api/reports/none").status == 404


def test_a_row_says_what_a_session_does_now() -> None:
    running = RunningSessions({"/a/s.jsonl": "k"}.get, [], enabled=False)
    since = datetime(2026, 11, 15, tzinfo=UTC)
    first = LiveSession(
        session="s", path="/a/s.jsonl", state="working", since=since, title="T `x`", project="/home/shop"
    )
    row = running._row(first)
    assert (row.id, row.key, row.title, row.project) == ("s", "k", "T x", "shop")
    assert (row.state, row.since) == ("working", since)
    other = running._row(LiveSession(session="s2", path=None, state="idle", since=None, git_branch="b"))
    assert (other.key, other.title, other.git_branch) == (None, "s2", "b")
    assert running.now().sessions == []


def test_what_is_shared_is_what_was_chosen_and_decided(app: Any) -> None:
    def change(**body: Any) -> Any:
        return ask(app, f"{BASE}/share", send=body)

    first = ask(app, f"{BASE}/share").value
    assert first["choices"] == {"turns": "", "thinking": True, "agents": True, "images": False}
    for form, media, suffix in (
        ("html", "text/html; charset=utf-8", "html"),
        ("markdown", "text/markdown; charset=utf-8", "md"),
        ("json", "application/json", "json"),
        ("jsonl", "application/x-ndjson", "jsonl"),
    ):
        headers = ask(app, f"{BASE}/share/document", f"form={form}").headers
        assert headers["content-type"] == media
        assert headers["content-disposition"] == f'attachment; filename="{KEY}-shared.{suffix}"'
    assert change(action="text", text="harbor").status == 200
    [own] = [one for one in ask(app, f"{BASE}/share").value["findings"] if one["kind"] == "text"]
    assert change(action="decide", ids=[first["findings"][0]["id"]], decision="keep").status == 200
    chosen = {"turns": "2-3", "thinking": False, "agents": False}
    after = change(action="choose", choices=chosen).value
    assert after["choices"] == {**chosen, "images": False}
    decided = {one["id"]: one["decision"] for one in after["findings"]}
    assert decided[first["findings"][0]["id"]] == "keep" and own["id"] in decided
    assert sum(one["count"] for one in after["findings"]) < sum(one["count"] for one in first["findings"])
    document = ask(app, f"{BASE}/share/document", "form=markdown")
    assert b"harbor" not in document.body and document.body.count(b"**You**") == 2
    for wrong in (
        {"action": "other"},
        {"action": "choose", "choices": {"turns": 3}},
        {"action": "choose", "choices": {"turns": "99-100"}},
        {"action": "decide", "ids": [first["findings"][0]["id"]], "decision": "burn"},
    ):
        assert change(**wrong).status == 400, wrong
    assert ask(app, f"{BASE}/share").value["choices"] == {**chosen, "images": False}
    shown = ask(app, f"{BASE}/share/document", "preview=1&form=json")
    assert shown.headers["content-type"].startswith("text/html") and "content-disposition" not in shown.headers
    assert shown.headers["x-frame-options"] == "SAMEORIGIN" and "sandbox" in shown.headers["content-security-policy"]
    assert ask(app, f"{BASE}/share/document", "form=docx").status == 400


def test_browsers_are_told_what_runs_when_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    running = RunningSessions({}.get, [], enabled=True)
    one = LibraryNow(summary="1 running", waiting=0, sessions=[])
    looks, told = iter([NOTHING, one, one, NOTHING, one]), list[object]()

    def look(_: object) -> LibraryNow:
        running._now = next(looks)
        if len(told) == 2:
            running.bus.listeners.clear()
        return running._now

    listener = Mock(send=lambda event, value: told.append((event, value)))
    running.bus.listeners.add(listener)
    monkeypatch.setattr(running, "_look", look)
    monkeypatch.setattr(running_module, "ticks_of", lambda *_: iter([set()] * 9))
    running._publish_while_heard()
    assert told == [("now", one), ("now", NOTHING)] and next(looks, None) is None


def test_the_end_of_a_server_is_asked_for_by_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ending_signals(raise_ended, before), pytest.raises(ShutdownRequested) as ended:  # type: ignore[arg-type]
        assert signal.getsignal(signal.SIGTERM) is raise_ended
        raise_ended(signal.SIGTERM, None)
    assert ended.value.args == (143,) and signal.getsignal(signal.SIGTERM) == before
    with ending_signals(raise_ended, raise_ended):
        assert signal.getsignal(signal.SIGTERM) == before, "it is not the one to be replaced"
    log = logging.getLogger("uvicorn.error")
    monkeypatch.setattr(log, "disabled", False)
    server = Server(make_app(SessionLibrary([SAMPLES], count=False)), Mock())
    assert not server.timed_out
    server._abandon_requests()
    assert server.timed_out and log.disabled


# What a handler is given


def asked(app: Any, handler: Mock, path: str, query: str = "") -> Any:
    """Ask, and return how the handler was called."""
    handler.reset_mock()
    assert ask(app, path, query).status == 200, (path, query)
    [(args, options)] = handler.call_args_list
    return args, options


def test_each_parameter_of_a_session_arrives(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = {"agent": None, "branch": None}
    for name, path, given, options in (
        ("lines", "/lines", {"message": "m", "call": "c", "line": 5, "whole": True}, {"agent": None}),
        ("lines", "/lines", {}, {"message": None, "call": None, "line": None, "whole": False, "agent": None}),
        (
            "place",
            "/place",
            {"message": "m", "call": "c", "line": 5, "turn": 3, **nobody, "branch": 0},
            {"agent": None},
        ),
        ("place", "/place", {}, {"message": None, "call": None, "line": None, "turn": None, **nobody}),
        ("markdown", "/markdown", {"message": "m", "turn": 4, "agent": "a", "branch": 1}, {}),
    ):
        method = Mock(return_value="")
        monkeypatch.setattr(SessionView, name, method)
        query = "&".join(
            f"{key}={int(value) if value is True else value}" for key, value in given.items() if value is not None
        )
        assert asked(app, method, f"{BASE}{path}", query) == ((), {**given, **options})
    for name, path, args, options in (
        ("file_diff", "/files/7/diff", (7,), {}),
        ("file_blame", "/files/8/blame", (8,), {}),
        ("version_body", "/files/7/8", (7, 8), {"whole": False}),
        ("request_body", "/requests/9", (9,), {"changes": False, "whole": False}),
    ):
        function = Mock(return_value={})
        monkeypatch.setattr(routes, name, function)
        (_, *rest), given_options = asked(app, function, f"{BASE}{path}")
        assert (tuple(rest), given_options) == (args, options)
        if "whole" in options:
            assert asked(app, function, f"{BASE}{path}", "whole=true")[1]["whole"] is True
    for query, filter in (
        ("kinds=a,b", ItemFilter(frozenset("ab"))),
        ("tools=a,,b", ItemFilter(tools=frozenset("ab"))),
        ("errors=1", ItemFilter(errors=True)),
        ("stopped=true", ItemFilter(stopped=True)),
        ("errors=yes&stopped=0", ItemFilter()),
    ):
        for name, path in (("filter_items", "/filter"), ("search_session", "/search")):
            function = Mock(return_value={})
            monkeypatch.setattr(routes, name, function)
            args, options = asked(app, function, f"{BASE}{path}", f"q=x&start=4&{query}")
            assert args[1:] == ((filter,) if name == "filter_items" else ("x", filter))
            count = {"count": 10_000} if name == "filter_items" else {}
            assert options == {"start": 4, **count, **nobody}


@pytest.mark.parametrize(
    ("path", "place", "name", "usual", "most"),
    [
        ("/items", SessionView, "page", 50, 200),
        ("/outline", SessionView, "outline", 500, 2000),
        ("/filter", routes, "filter_items", 10_000, 10_000),
        ("/requests", routes, "list_requests", 500, 500),
    ],
)
def test_a_page_has_a_usual_and_a_largest_size(
    app: Any, monkeypatch: pytest.MonkeyPatch, path: str, place: Any, name: str, usual: int, most: int
) -> None:
    page = Mock(return_value={})
    monkeypatch.setattr(place, name, page)
    for query, first, size in (
        ("", 0, usual),
        ("count=0&start=0", 0, usual),
        ("count=1&start=7", 7, 1),
        (f"count={most}", 0, most),
        (f"count={most + 1}", 0, most),
    ):
        args, options = asked(app, page, f"{BASE}{path}", query)
        numbers = [one for one in args if isinstance(one, int)]
        assert (numbers or [options["start"], options["count"]]) == [first, size], query


@pytest.mark.parametrize(
    ("query", "slow", "brief"), [("brief=1", True, True), ("brief=1", False, False), ("", True, False)]
)
def test_a_page_that_would_wait_gets_a_brief_overview(
    app: Any, monkeypatch: pytest.MonkeyPatch, query: str, slow: bool, brief: bool
) -> None:
    monkeypatch.setattr(SessionView, "takes_a_while_to_count", slow)
    monkeypatch.setattr(SessionView, "overview", lambda view, *thread: {"brief": thread})
    monkeypatch.setattr(SessionView, "counted_overview", lambda view, *thread: {"counted": thread})
    assert ask(app, BASE, f"{query}&agent=a&branch=2").value == {"brief" if brief else "counted": ["a", 2]}


def test_an_export_leaves_out_what_is_not_wanted(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, opened = list[Any](), list[Any]()
    monkeypatch.setattr(routes, "open", opened.append, raising=False)
    monkeypatch.setattr(routes, "session_html", lambda session, selection: chosen.append(selection) or iter([b"page"]))
    for query in ("", "no_thinking=1", "no_images=1"):
        answer = ask(app, f"{BASE}/export", query)
        assert (answer.body, answer.headers["content-type"]) == (b"page", "text/html; charset=utf-8")
        assert answer.headers["content-disposition"] == f'attachment; filename="{KEY}.html"'
    assert {type(one) for one in opened} == {type(SAMPLES)} and {one.stem for one in opened} == {KEY}, "read anew"
    assert [(one.thinking, one.images) for one in chosen] == [(True, True), (False, True), (True, False)]


PICTURES = {
    b"\x89PNG\r\n\x1a\n..": "image/png",
    b"\xff\xd8\xff..": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"RIFF0123WEBPVP8 ": "image/webp",
    b"RIFF0123WAVE": None,
    b"RIFX0123WEBP": None,
    b"<script>": None,
    b"": None,
}


@pytest.mark.parametrize(("data", "media"), PICTURES.items())
def test_a_picture_has_the_type_of_its_bytes(
    app: Any, monkeypatch: pytest.MonkeyPatch, data: bytes, media: str | None
) -> None:
    picture = Mock(return_value=Mock(data=b64encode(data).decode() or None))
    monkeypatch.setattr(SessionView, "picture", picture)
    answer = ask(app, f"{BASE}/pictures/call/3/4", "agent=a")
    assert picture.call_args_list == [call("call", 3, 4, agent="a")]
    assert answer.status == (404 if media is None else 200)
    if media is not None:
        assert (answer.body, answer.headers["content-type"]) == (data, media)
        assert answer.headers["cache-control"] == "private, max-age=3600"
    for wrong in ("%%%", f"%{b64encode(next(iter(PICTURES))).decode()}"):
        picture.return_value.data = wrong
        assert ask(app, f"{BASE}/pictures/other/3/4").status == 404 and picture.call_args.args == ("message", 3, 4)


@pytest.mark.parametrize(
    ("query", "status"),
    [("start=" + "9" * 12, 200), ("start=" + "9" * 13, 400), ("start=-1", 400), ("start=", 200), ("start=x", 400)],
)
def test_a_number_has_at_most_twelve_digits(app: Any, query: str, status: int) -> None:
    assert ask(app, f"{BASE}/items", query).status == status
    assert ask(app, f"{BASE}/calls/{'9' * 13}").status == 404
    assert routes.NumberConvertor().to_string(12) == "12"


def test_each_parameter_about_all_sessions_arrives(library: SessionLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REPORTS:
        made = OfferedReport(
            lambda library, query, name=name: {name: query, "all": len(library.keys())}, (), lasts=name != "budgets"
        )
        monkeypatch.setitem(REPORTS, name, made)
    monkeypatch.setattr(routes, "library_review", lambda library, key, query: {key: query})
    asked_for: list[Any] = []
    monkeypatch.setattr(library, "count_first", asked_for.append)
    app = make_app(library)
    library.refresh()
    for name in REPORTS:
        answer = ask(app, f"/api/reports/{name}", "a=1")
        assert answer.value == {name: {"a": "1"}, "all": len(library.keys())}
        assert answer.headers["content-type"] == "application/json"
    assert ask(app, f"{BASE}/review", "commit=c").value == {KEY: {"commit": "c"}}
    assert ask(app, "/api/library/shown", "keys=a,b").value == {} and asked_for == [{"a", "b"}]
    searched = Mock(return_value={})
    monkeypatch.setattr(app.state.library_search, "search", searched)
    for query in ("", "q=x&start=2&count=3&order=newest", "q=x&order=best"):
        ask(app, "/api/search", query)
    assert searched.call_args_list == [
        call("", start=0, count=None, newest=False),
        call("x", start=2, count=3, newest=True),
        call("x", start=0, count=None, newest=False),
    ]
    monkeypatch.setattr(library.running, "now", lambda: {"now": 1})
    assert ask(app, "/api/now").value == {"now": 1}
    assert (app.state.library, app.state.open_sessions._find) == (library, library.find)
    assert app.state.open_sessions._pause_counting == library.pause_counting


def test_a_request_waits_for_its_session_without_a_thread(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited, loaded = list[str](), OpenSession.loaded

    async def wait(session: OpenSession) -> None:
        waited.append(session.key)
        await loaded(session)

    monkeypatch.setattr(OpenSession, "loaded", wait)
    assert ask(app, BASE).status == 200 and waited == [KEY]


def test_what_is_undecided_is_a_conflict_and_what_is_no_json_is_refused(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Mock(side_effect=reread.Undecided("decide first"))
    monkeypatch.setattr(ShareReviews, "document", document)
    answer = ask(app, f"{BASE}/share/document")
    assert (answer.status, answer.value) == (409, {"error": "decide first"}) and document.call_args.args == (
        KEY,
        "html",
    )
    document.side_effect, document.return_value = None, (b"it", "text/x", "n.x")
    for query, form in (("", "html"), ("form=json", "json")):
        answer = ask(app, f"{BASE}/share/document", query)
        assert answer.body == b"it" and document.call_args.args == (KEY, form)
        assert answer.headers["content-disposition"] == 'attachment; filename="n.x"'
        assert "x-frame-options" not in answer.headers
    document.side_effect = reread.Undecided("decide first")
    monkeypatch.setattr(ShareReviews, "preview", lambda reviews, key: b"so far")
    answer = ask(app, f"{BASE}/share/document", "form=json&preview=1")
    assert answer.body == b"so far" and answer.headers.items() >= routes.PREVIEW_HEADERS.items()
    monkeypatch.setattr(ShareReviews, "review", lambda reviews, key: {"review": key})
    monkeypatch.setattr(ShareReviews, "change", lambda reviews, key, body: {key: body})
    assert ask(app, f"{BASE}/share").value == {"review": KEY}
    assert ask(app, f"{BASE}/share", send=["x"]).value == {KEY: ["x"]}
    monkeypatch.setattr(json, "dumps", lambda _: "{")
    answer = ask(app, "/api/settings", send={})
    assert (answer.status, json.loads(answer.body)) == (400, {"error": "Invalid request; send JSON."})
    for path, form in (
        ("/api/x", "application/json"),
        ("/x", "text/html; charset=utf-8"),
        ("/apix", "text/html; charset=utf-8"),
    ):
        answer = ask(app, path)
        assert (answer.status, answer.headers["content-type"]) == (404, form)
    sheets = [f'href="/assets/{path.name}"'.encode() for path in routes.STATIC.glob("assets/*.css")]
    assert sheets and all(sheet in answer.body for sheet in sheets)


# Events


class Stream:
    """Reads the events of a stream until it ends."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.on: dict[str, Callable[[], Any]] = {}
        """What to do once an event has come."""

    def read(self, app: Any, path: str) -> list[tuple[str, Any]]:
        """Return the events of a path."""
        run_async(
            app(
                {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []},
                self._receive,
                self._send,
            )
        )
        return self.events

    async def _receive(self) -> Any:
        await asyncio.Event().wait()

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            assert (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]
        for name, data in re.findall(rb"event: (.*)\ndata: (.*)\n\n", message.get("body", b"")):
            self.events.append((name.decode(), json.loads(data)))
            self.on.pop(name.decode(), lambda: None)()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SessionLibrary]:
    """A library with one session, `s`."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(conversation(2).data)
    found = SessionLibrary(paths=[path], count=False)
    yield found
    found.close()


@pytest.mark.parametrize("runs", [False, True])
def test_a_browser_is_told_what_runs_and_then_what_changes(
    own: SessionLibrary, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    app, stream = make_app(own), Stream()
    prepared = Mock()
    monkeypatch.setattr(app.state.library_search, "prepare", prepared)
    now = LibraryNow(
        summary="one",
        waiting=0,
        sessions=[own.running._row(LiveSession(session="x", path=None, state="idle", since=None))],
    )
    monkeypatch.setattr(own.running, "now", lambda: now if runs else NOTHING)
    heard: list[int] = []

    def listen() -> None:
        heard.append(len(own.running.bus.listeners))
        own.running.bus.publish("now", {"again": True})
        own.bus.publish("row", {"key": "s"})

    def begin() -> None:
        wait_until(lambda: bool(own.bus.listeners))
        listen()

    threading.Thread(target=begin).start()
    stream.on["row"] = own.bus.close
    events = stream.read(app, "/api/events")
    first = [("now", json.loads(jsontext.dumps(now)))] if runs else []
    assert events == [*first, ("now", {"again": True}), ("row", {"key": "s"})]
    assert heard == [1] and not own.running.bus.listeners and not own.bus.listeners and prepared.call_count == 1


def test_a_stream_of_a_session_has_its_progress_its_state_and_its_changes(
    own: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, stream, pauses = make_app(own), Stream(), list[float]()
    session = app.state.open_sessions.get("s")
    wait_until(lambda: session.is_loaded)
    session._loaded.clear()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            session._loaded.set()

    monkeypatch.setattr(routes, "asyncio", Mock(sleep=sleep))
    stream.on["open"] = lambda: session.bus.publish("update", {})
    stream.on["update"] = session.bus.close
    events = stream.read(app, "/api/sessions/s/events")
    assert [name for name, _ in events] == ["opening", "opening", "open", "update"] and pauses == [0.1, 0.1]
    assert events[0][1]["read"] == events[0][1]["size"] > 0 and events[2][1]["turns"] == 2
    monkeypatch.setattr(session, "listen", Mock(side_effect=reread.Unreadable("gone")))
    assert Stream().read(app, "/api/sessions/s/events") == []
    assert ask(app, "/api/sessions/none/events").status == 404
