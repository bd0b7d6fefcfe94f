"""The server's answers about all sessions: search, figures, settings, what is shared and what runs."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import pytest
from asking import ask
from batches import table
from committing import Rig
from limits import PATIENCE, wait_until
from making import SESSION, jsonl, reply, thinking, told, user

import reread
from reread.accounting.prices import VARIABLE, current_prices
from reread.base.scope_options import OF_RESPONSES
from reread.base.version import __version__
from reread.catalog.config import change_config_value
from reread.disk.file_set import FileSet
from reread.disk.layout import default_store
from reread.errors import Misuse, NotFound
from reread.index.hits import Hit
from reread.index.search_process import SearchReply, SearchRequest
from reread.reader import review_view
from reread.reports.now_report import LiveSession
from reread.reports.report import Report, Row
from reread.server import library as running_module
from reread.server import library_search, reader_settings, reports, sharing, static_files
from reread.server.guard import GUEST
from reread.server.library import NOTHING, RunningSessions, SessionLibrary
from reread.server.library_search import SearchService
from reread.server.reports import REPORTS, counted_report
from reread.server.routes import make_app
from reread.server.sharing import ShareReviews
from reread.server.static_files import static_routes
from reread.session.pass_process import PassJob
from reread.storage.user_paths import cache_folder
from reread.tools.nodes import Diff, Hunk, Note

SAMPLES = Path(reread.__file__).parent / "samples"

# Search


def row(title: str, project: str = "", id: str = "") -> Any:
    return SimpleNamespace(title=title, project=project, id=id)


def reply_with(count: int, **more: Any) -> SearchReply:
    hits = [
        Hit(session=f"s{n // 2}", key=f"k{n // 2}", title="T", project="p", path="", line=n, kind="text", before="",
            match="m", after="", link=f"#{n}")
        for n in range(count)
    ]  # fmt: skip
    given = {
        "is_behind": False,
        "total": 9,
        "with_all": 2,
        "with_some": 1,
        "words": [],
        "facets": {},
        "note": "n",
        "pending": 3,
    }
    return SearchReply(hits=hits, **{**given, **more})


class Searching:
    """A search service whose library and children are known."""

    def __init__(self) -> None:
        self.ages: list[Any] = []
        self.rows: list[Any] = []
        self.asked: list[SearchRequest] = []
        self.reply = reply_with(0)
        self.library = Mock(is_watched=False, roots=[Path("r")], paths=[Path("p")])
        self.library.files = lambda age: self.ages.append(("files", age)) or FileSet(name="f")
        self.library.keys = lambda: {"path": "key"}
        self.library.listing = lambda age: self.ages.append(("rows", age)) or SimpleNamespace(sessions=self.rows)
        self.service = SearchService(self.library)
        self.processes: Any = Mock(search=lambda request: self.asked.append(request) or self.reply)
        self.service._processes = self.processes


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The jobs that were started, each with its process."""
    started: list[Any] = []

    def start(job: PassJob) -> Any:
        started.append((job, Mock(is_running=True)))
        return started[-1][1]

    monkeypatch.setattr(library_search, "start_pass", start)
    return started


def test_a_search_asks_a_child_and_says_where_to_go_on(builds: list[Any]) -> None:
    one = Searching()
    one.rows = [row("a title")]
    for words, start, limit in (
        ({}, 0, 20),
        ({"count": 0}, 0, 20),
        ({"count": 5}, 0, 5),
        ({"start": 1}, 1, 20),
        ({"start": 3, "count": 200}, 3, 200),
        ({"count": 201, "newest": True}, 0, 200),
    ):
        for found in (limit, limit - 1):
            one.asked.clear()
            one.reply = reply_with(found)
            answer = one.service.search("title", **words)
            [request] = one.asked
            newest = words.get("newest", False)
            assert request == SearchRequest(
                "title", start, limit, newest, FileSet(name="f"), {"path": "key"}, 4 << 20, start == 0
            )
            assert answer.next == (start + limit if found == limit else None)
            assert answer.titles == (one.rows if start == 0 else [])
    assert (answer.total, answer.with_all, answer.with_some, answer.note, answer.pending) == (9, 2, 1, "n", 3)
    assert [(each.id, each.key, [hit.link for hit in each.hits]) for each in answer.sessions][:2] == [
        ("s0", "k0", ["#0", "#1"]),
        ("s1", "k1", ["#2", "#3"]),
    ]
    for empty in ("", "  "):
        with pytest.raises(Misuse, match="Missing query parameter q"):
            one.service.search(empty)
    assert builds == []


def test_folders_are_searched_less_often_while_they_are_watched() -> None:
    one = Searching()
    for watched, files, rows in ((False, 0.3, 2.0), (True, 10.0, 10.0)):
        one.library.is_watched = watched
        one.ages.clear()
        one.service.search("title")
        assert one.ages == [("files", files), ("rows", rows)]


@table(
    ("query", "found"),
    [
        ("red blue", ["red blue", "BLUE red"]),
        ("red blue green", ["red blue", "BLUE red"]),
        ("red", ["red blue", "red", "BLUE red", "redder"]),
        ("what is the red", ["red blue", "red", "BLUE red", "redder"]),
        ("what is", ["what is"]),
        ("shop", ["in a project"]),
        ("1234-5678", ["with an id"]),
        ("is:error", []),
        ("grey", [f"grey {n}" for n in range(8)]),
    ],
)
def test_titles_have_more_than_half_of_the_words_all_of_them_first(query: str, found: list[str]) -> None:
    one = Searching()
    titles = ["red blue", "red", "BLUE red", "redder", "what is", *(f"grey {n}" for n in range(9))]
    one.rows = [*map(row, titles), row("in a project", "shop"), row("with an id", id="1234-5678-9")]
    assert [each.title for each in one.service.search(query).titles] == found


def test_those_with_all_words_go_first() -> None:
    one = Searching()
    one.rows = [row("red blue"), row("red blue green")]
    assert [each.title for each in one.service.search("red blue green").titles] == ["red blue green", "red blue"]


def test_everything_is_indexed_once_at_first_and_when_the_index_is_behind(builds: list[Any]) -> None:
    one = Searching()
    for _ in range(2):
        one.service.prepare()
    assert [job for job, _ in builds] == [PassJob(["r"], ["p"])] and one.processes.prepare.call_count == 1
    [(_, first)] = builds
    wait_until(lambda: first.wait.called)
    one.reply = reply_with(1, is_behind=True)
    one.service.search("x")
    assert len(builds) == 1, "one is at it"
    first.is_running = False
    one.library.roots = None
    one.service.search("x")
    assert [job for job, _ in builds][1:] == [PassJob([], ["p"])]
    one.service.close()
    assert builds[1][1].kill.called and not first.kill.called and one.processes.close.called
    builds[1][1].is_running = False
    one.service.search("x")
    assert len(builds) == 2, "it is closed"
    Searching().service.close()


def test_the_thread_that_waits_for_the_index_holds_nobody_up(
    builds: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = Mock()
    monkeypatch.setattr(library_search.threading, "Thread", threads)
    Searching().service.prepare()
    threads.assert_called_once_with(target=builds[0][1].wait, daemon=True)
    assert threads.return_value.start.called


# Figures


def item(
    tool: str,
    state: str,
    time: int | None,
    path: str = "a",
    project: str = "p",
    *,
    failure: str | None = None,
    group: str | None = None,
) -> Row:
    told = {"state": state, "failure": failure, "time_ms": time, "path": path, "project": project}
    return Row({"tool": group}, {**told, "tool": tool})


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The report on the statistics: its calls can be set, and the options that it was asked with are kept."""
    found = SimpleNamespace(items=[], by=("tool",), asked=[], unread=())
    monkeypatch.setattr(reports, "stats", lambda *given, **more: found.asked.append((given, more)) or found)
    return found


def test_failures_are_the_most_frequent_first_with_the_last_of_each(reported: Any) -> None:
    reported.items = [
        item("Bash", "failed", 3, project="q"),
        item("Read", "failed", 2),
        item("Bash", "failed", 9),
        item("Bash", "failed", None, path="c"),
        item("Bash", "done", 99),
        item("Edit", "failed", None),
        item("Bash", "failed", 1),
        item("Bash", "failed", 5, path="b", project="q", failure="timeout"),
    ]
    answer = REPORTS["failures"].answer(Mock(paths=[], roots=None, keys=lambda: {"a": "A"}), {"by": "model"})
    assert answer["totals"] == {"failed": 7, "calls": 8} and reported.asked == [((), {"root": None, "by": "tool"})]
    kept = ("tool", "failure", "failed", "calls", "sessions", "project", "there", "first_ms")
    assert [tuple(one[name] for name in kept) for one in answer["rows"]] == [
        ("Bash", "other", 4, 6, 2, "p", 3, 1),
        ("Bash", "timeout", 1, 6, 1, "q", 1, 5),
        ("Edit", "other", 1, 1, 1, "p", 1, None),
        ("Read", "other", 1, 1, 1, "p", 1, 2),
    ]
    assert [one["share"] for one in answer["rows"]] == [4 / 6, 1 / 6, 1, 1]
    assert [(one["last"]["key"], one["last"]["time_ms"]) for one in answer["rows"]] == [
        ("A", 9),
        (None, 5),
        ("A", None),
        ("A", 2),
    ]
    assert all("path" not in one["last"] for one in answer["rows"]), "where a file lies is the server's own"


def test_calls_of_a_group_are_the_newest_first_and_at_most_200(reported: Any) -> None:
    library = Mock(paths=[], roots=None, keys=lambda: {"a": "A"})
    reported.items = [item("Bash", "done", n, group="x") for n in range(201)]
    reported.items += [
        item("Bash", "done", None, group="x"),
        item("Bash", "done", 999, group="y"),
        item("B", "d", 7),
    ]
    answer = REPORTS["calls"].answer(library, {"group": "x"})
    assert answer["total"] == 202 and [one["time_ms"] for one in answer["calls"]] == [*range(200, 0, -1)]
    assert answer["calls"][0]["key"] == "A"
    for none in ({}, {"group": ""}):
        answer = REPORTS["calls"].answer(library, none)
        assert answer["total"] == 1 and [(one["key"], one["time_ms"]) for one in answer["calls"]] == [("A", 7)]
    for by in ((), ("a", "b")):
        reported.by = by
        with pytest.raises(Misuse, match=f"the calls of {len(by)} groups"):
            REPORTS["calls"].answer(library, {})


SOURCES = [
    ([], None, (), {"root": None}),
    ([], [Path("r")], (), {"root": [Path("r")]}),
    ([Path("f")], None, (Path("f"),), {}),
    ([Path("f")], [Path("r")], (Path("f"), Path("r")), {}),
]


@pytest.mark.parametrize(("paths", "roots", "sources", "root"), SOURCES)
def test_reports_read_what_the_library_lists_with_the_options_of_the_request(
    paths: list[Path], roots: Any, sources: Any, root: Any, reported: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Mock(paths=paths, roots=roots, rows_by_session=lambda: {"s": SimpleNamespace(key="k")}, keys=dict)
    query = {"by": "tool", "since": "x", "model": "m", "tool": "T", "state": "", "root": "/", "cache": "0"}
    REPORTS["calls"].answer(library, query)
    assert reported.asked.pop() == (sources, {**root, "by": "tool", "since": "x", "model": "m", "tool": "T"})
    asked: list[Any] = []
    monkeypatch.setattr(reports, "advise", lambda *given, **more: asked.append((given, more)))
    value = {"advice": [{"places": [{"session": "s"}, {"session": "t"}]}, {"places": [{"session": "s"}]}]}
    monkeypatch.setattr(reports, "advice_value", lambda _: value)
    assert REPORTS["advice"].answer(library, query) is value and asked.pop() == (sources, {**root, "since": "x"})
    assert [one["key"] for item in value["advice"] for one in item["places"]] == ["k", None, "k"]

    def ask(*given: Any, **more: Any) -> Report:
        asked.append((given, more))
        return Report("failures", (), [], Row({}, {}))

    for options, wanted in (
        (("by", "limit"), {"by": "tool", "limit": 7}),
        (OF_RESPONSES, {"since": "x", "model": "m"}),
    ):
        counted_report(ask, options).answer(library, {**query, "limit": "7"})
        assert asked.pop() == (sources, {**root, **wanted})
    for wrong in ("9" * 13, "x", "1.5", "\u00b2", "-1"):
        with pytest.raises(Misuse, match="whole number"):
            counted_report(ask, ("limit",)).answer(library, {"limit": wrong})
    monkeypatch.setattr(reports, "budgets", lambda **more: asked.append(more) or ["b"])
    for tz in ("", "UTC"):
        assert REPORTS["budgets"].answer(library, {"tz": tz}) == {"budgets": ["b"]}
        assert asked.pop() == {"root": roots, "tz": tz or None}
    assert REPORTS["budgets"].answer(library, {GUEST: "1"}) == {"budgets": []} and asked == []


def test_commits_are_reviewed_in_the_folder_of_their_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path)
    session = rig.session()
    rig.prompt(session, "Write it")
    rig.write(session, "a.py", 0, 0, ["one = 1", "two = 2", "x" * 20_000])
    first = rig.commit(session, "Add a")
    rig.hand("a.py", 0, 1, ["uno = 1"])
    last = rig.commit(session, "Rename one")
    like_patches = ["diff --git a/x b/x", "@@ -1 +1 @@", first, "", "-- x", "++ y", r"\ No newline at end of file"]
    rig.hand("b.txt", 0, 0, like_patches)
    rig.rename(None, "a.py", "c.py")
    rig.hand("d.txt", 0, 0, ["last"])
    by_hand = rig.commit(None, "By hand")
    rig.finish()
    path = rig.projects / f"{rig.id(session)}.jsonl"
    library = Mock(roots=[rig.claude], find=Mock(return_value=path))
    whole = reports.library_review(library, "k", {})
    assert library.find.call_args_list == [call("k")]
    assert [commit.sha for commit in whole.review.commits] == [first, last] and whole.others == 0
    assert [(file.sha, file.path, file.added, file.removed) for file in whole.files] == [
        (first, "a.py", 3, 0),
        (last, "a.py", 1, 1),
    ]
    (diff,) = whole.files[1].nodes
    assert isinstance(diff, Diff) and [line[:8] for line in diff.hunks[0].lines] == [
        "-one = 1",
        "+uno = 1",
        " two = 2",
        " xxxxxxx",
    ]
    assert len(diff.hunks[0].lines[-1]) == 10_001
    for sha, others in ((last[:9], 1), (by_hand, 2)):
        assert reports.library_review(library, "k", {"commit": sha}).others == others
    written, moved, new = reports.library_review(library, "k", {"commit": by_hand}).files
    assert written.nodes == [
        Diff(path="b.txt", hunks=[Hunk(old_start=0, new_start=1, lines=[f"+{line}" for line in like_patches])])
    ]
    assert (moved.path, moved.old_path, [type(node) for node in moved.nodes]) == ("c.py", "a.py", [Note])
    assert (new.path, new.added) == ("d.txt", 1)
    monkeypatch.setattr(review_view, "MOST_LINES", 2)
    cut = reports.library_review(library, "k", {"commit": first}).files[0]
    assert [type(node) for node in cut.nodes] == [Diff, Note] and len(cut.nodes[0].hunks[0].lines) == 2
    for wrong in ("HEAD", "--help"):
        with pytest.raises(Misuse, match="by its hash"):
            reports.library_review(library, "k", {"commit": wrong})
    with pytest.raises(NotFound, match="may have been rebased"):
        reports.library_review(library, "k", {"commit": "0123abc"})
    monkeypatch.setattr(review_view, "is_local", lambda folder: False)
    with pytest.raises(NotFound, match="not on this machine"):
        reports.library_review(library, "k", {})


def test_files_are_listed_with_the_sessions_that_changed_them(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    one, other = rig.session(), rig.session()
    rig.prompt(one, "Write both")
    rig.write(one, "src/a.py", 0, 0, ["one = 1", "two = 2"])
    rig.write(one, "B.md", 0, 0, ["# B"])
    rig.prompt(other, "Change one")
    rig.call(other, "Read", {"file_path": str(rig.repository / "README.md")}, {"type": "text"})
    rig.prompt(other, "No, that one")
    rig.write(other, "src/a.py", 1, 1, ["two = 3"])
    rig.finish()
    library = SessionLibrary([rig.claude], count=False)
    library.refresh()
    found = REPORTS["files"].answer(library, {})
    assert [(row["file"], row["count"], row["added"], row["removed"]) for row in found["files"]] == [
        ("src/a.py", 2, 3, 1),
        ("B.md", 1, 1, 0),
    ]
    first = found["files"][0]
    assert first["path"] == str(rig.repository / "src/a.py") and first["last_ms"] == first["sessions"][0]["last_ms"]
    assert [(row["session"], row["turn"], row["added"]) for row in first["sessions"]] == [
        (rig.id(other), 2, 1),
        (rig.id(one), 1, 2),
    ]
    assert first["sessions"][0]["key"] == library.keys()[str(rig.projects / f"{rig.id(other)}.jsonl")]
    assert [row["file"] for row in REPORTS["files"].answer(library, {"path": "b.M"})["files"]] == ["B.md"]
    assert REPORTS["files"].answer(library, {"path": "zzz"}) == {"files": [], "total": 0}


def test_responses_behind_a_part_of_the_cost_lead_to_their_places() -> None:
    library = SessionLibrary([SAMPLES], count=False)
    library.refresh()
    found = REPORTS["responses"].answer(library, {"part": "output"})
    assert found["total"] >= len(found["responses"]) > 0
    assert all(one["key"] and one["title"] and one["message"] and "path" not in one for one in found["responses"])
    with pytest.raises(Misuse, match="No part 'x' of the cost; use output"):
        REPORTS["responses"].answer(library, {"part": "x"})


# Settings and the installation


def test_what_is_stored_and_no_budget_is_taken_as_not_set() -> None:
    for stored in ({"day": -1, "week": "9", "month": 5, "year": 7}, {"day": 0, "month": 5}):
        change_config_value(default_store(), "budgets", lambda _, stored=stored: stored)
        assert (settings := reader_settings.read_reader_settings()).month == 5
        assert (settings.day, settings.week) == (None, None)
    change_config_value(default_store(), "budgets", lambda _: ["x"])
    assert reader_settings.change_reader_settings({"week": 3}).week == 3
    for wrong in ({"day": 1, "year": 2}, {"day": 1, "week": 0}, {"day": 1, "week": ""}):
        with pytest.raises(Misuse, match="send dollars for a day, week, month"):
            reader_settings.change_reader_settings(wrong)
    assert reader_settings.change_reader_settings({}).day is None, "all or nothing"
    assert reader_settings.change_reader_settings({"week": None}).week is None


def test_the_installation_names_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.mkdir()
    monkeypatch.setattr(reader_settings, "archive_folders", lambda: [there, gone])
    rows = [SimpleNamespace(kept=kept, gone=gone) for kept, gone in ((True, False), (True, True), (False, False))]
    library: Any = Mock(listing=lambda: SimpleNamespace(sessions=rows, roots=["r"]))
    setup = reader_settings.read_setup(library)
    assert (setup.version, setup.store) == (__version__, str(default_store()))
    assert (setup.archives, setup.kept, setup.only_kept, setup.roots) == ([str(there)], 2, 1, ["r"])
    assert (setup.cache, setup.prices, setup.price_file) == (str(cache_folder()), current_prices().table.as_of, None)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "prices.json"))
    monkeypatch.setattr(reader_settings, "current_prices", lambda: Mock(table=Mock(as_of="x")))
    assert reader_settings.read_setup(library).price_file == str(tmp_path / "prices.json")


# The page


def test_the_page_and_its_files_are_served_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_files, "STATIC", tmp_path)
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<html><p><html>")
    names = ("a.js", "a.css", "a.svg", "a.png", "a.woff2", "a.json", "a.txt", "index-12345678.js", "x-1234567.js")
    for name in names:
        (tmp_path / "assets" / name).write_text(f"<html {name}")
    assert {one.path for one in static_routes(())} == {"/", *(f"/assets/{name}" for name in names)}
    library = SessionLibrary([tmp_path], count=False)
    for given, page in ((None, b"<html><p><html>"), ({"x": 1}, b"<html data-x><p><html>")):
        app = make_app(library, given)
        answer = ask(app, "/")
        assert (answer.status, answer.body, answer.headers["cache-control"]) == (200, page, "no-cache")
        files = {name: ask(app, f"/assets/{name}") for name in names}
        assert all(found.body == f"<html {name}".encode() for name, found in files.items())
    types = [found.headers["content-type"].partition(";")[0] for found in files.values()]
    assert types[:4] == ["text/javascript", "text/css", "image/svg+xml", "image/png"]
    assert types[4:7] == ["font/woff2", "application/json", "text/plain"]
    kept = [found.headers["cache-control"] for found in files.values()]
    assert kept == [*["no-cache"] * 7, "max-age=31536000, immutable", "no-cache"]
    (tmp_path / "index.html").unlink()
    assert ask(make_app(library), "/").status == 503, "it is not built"


# What is shared


@pytest.fixture
def reviews(tmp_path: Path) -> ShareReviews:
    """Reviews of a session with one likely secret in a prompt and another in what was thought."""
    path = tmp_path / f"{SESSION}.jsonl"
    first = user('use password = "hunter2!x" here')
    second = reply(thinking('the db_password: "s3cr3t-99z" is odd'), "fine", id="m1")
    path.write_bytes(jsonl(*told(user("go on"), reply("ok", id="m2"), first, second)))
    return ShareReviews({"k": path}.__getitem__)


def test_findings_are_those_of_what_is_chosen(reviews: ShareReviews) -> None:
    def likely(**choices: Any) -> list[str]:
        found = reviews.change("k", {"action": "choose", "choices": choices})
        assert found == reviews.review("k") and found.undecided == sum(one.decision is None for one in found.findings)
        return sorted(one.name for one in found.findings if one.level == "likely")

    both = sorted(one.name for one in reviews.review("k").findings if one.level == "likely")
    assert len(both) == 2 and likely() == both and likely(turns="2") == both
    assert likely(thinking=False) == [both[1]] == likely(turns="2", thinking=False)
    assert likely(turns="1") == [] == likely(turns="1", thinking=False)
    assert likely(agents=False) == likely(images=True) == likely(turns=" ") == both


def test_decisions_and_texts_stay_when_something_else_is_chosen(
    reviews: ShareReviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [one.id for one in reviews.review("k").findings if one.level == "likely"]
    after = reviews.change("k", {"action": "decide", "ids": ids[:1], "decision": "keep"})
    assert {one.id: one.decision for one in after.findings}[ids[0]] == "keep"
    after = reviews.change("k", {"action": "text", "text": "go on"})
    assert [one.count for one in after.findings if one.kind == "text"] == [1]
    first = reviews._shared("k").redaction
    reviews.change("k", {"action": "choose", "choices": {"thinking": True}})
    assert reviews._shared("k").redaction is first, "the same agents and pictures"
    for choices in ({"images": True}, {"images": True, "agents": False}):
        before = reviews._shared("k").redaction
        after = reviews.change("k", {"action": "choose", "choices": choices})
        assert reviews._shared("k").redaction is not before
        found = {one.id: one.decision for one in after.findings}
        assert found[ids[0]] == "keep" and found[ids[1]] is None
        assert [one.kind for one in after.findings].count("text") == 1
    decide = Mock()
    monkeypatch.setattr(reviews._shared("k").redaction, "decide", decide)
    for everywhere in (True, "true", None):
        reviews.change("k", {"action": "decide", "ids": [1, "b"], "decision": "keep", "everywhere": everywhere})
    assert decide.call_args_list == [call(["1", "b"], "keep", everywhere=one) for one in (True, False, False)]
    replaced = Mock()
    monkeypatch.setattr(reviews._shared("k"), "replace_text", replaced)
    for text in ("x", None):
        reviews.change("k", {"action": "text", "text": text})
    assert replaced.call_args_list == [call("x"), call("")]


def test_a_document_is_made_of_what_is_chosen(reviews: ShareReviews, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = Mock(return_value=b"document")
    monkeypatch.setattr(reviews._shared("k").redaction, "export", exported)
    reviews.change("k", {"action": "choose", "choices": {"turns": " 1-2 ", "thinking": False}})
    assert reviews.document("k", "markdown") == (b"document", "text/markdown; charset=utf-8", "k-shared.md")
    turns = sharing.parse_turns("1-2")
    assert exported.call_args_list == [call("markdown", thinking=False, images=False, turns=turns)]
    reviews.change("k", {"action": "choose", "choices": {}})
    reviews.document("k", "html")
    assert exported.call_args_list[1:] == [call("html", thinking=True, images=False)]
    for form in ("docx", "otlp"):
        with pytest.raises(Misuse, match=r"use html, markdown, json, jsonl\.$"):
            reviews.document("k", form)
    for wrong in ({}, {"action": "burn"}, "x"):
        with pytest.raises(Misuse, match="Unknown action"):
            reviews.change("k", wrong)
    for choices, error in (({"images": 1}, "Invalid choices"), ({"turns": "9"}, "9")):
        with pytest.raises(Misuse, match=error):
            reviews.change("k", {"action": "choose", "choices": choices})
    assert reviews.review("k").choices.turns == ""


# What runs


def live(session: str, state: str, **more: Any) -> LiveSession:
    return LiveSession(session=session, path=f"/{session}.jsonl", state=state, since=None, **more)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningSessions]:
    found = RunningSessions({"/a.jsonl": "k"}.get, [Path("/r")], enabled=True)
    monkeypatch.setattr(found, "_watch", Mock(update=Mock(return_value=[])))
    yield found
    found.close()


def test_sessions_that_ended_do_not_run(running: RunningSessions) -> None:
    assert running._roots == [Path("/r")] and RunningSessions({}.get, [], enabled=True)._roots is None
    update: Any = running._watch.update
    assert running.now() == NOTHING and update.call_args_list == [call(None)]
    update.return_value = [live("a", "waiting"), live("b", "ended"), live("c", "working"), live("d", "waiting")]
    found = running._look({"x"})
    assert update.call_args_list[-1] == call({"x"}) and running._now is found
    assert [(one.id, one.key) for one in found.sessions] == [("a", "k"), ("c", None), ("d", None)]
    assert found.waiting == 2 and found.summary == running_module.summary_text(
        [one for one in update.return_value if one.session != "b"]
    )
    off = RunningSessions({}.get, [], enabled=False)
    off._watch = running._watch
    assert off.now() is NOTHING


def test_what_runs_is_looked_at_while_somebody_listens(
    running: RunningSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Mock(side_effect=running.bus.listeners.clear)
    monkeypatch.setattr(running, "_publish_while_heard", looked)
    monkeypatch.setattr(running_module, "LISTENING_SECONDS", 0.001)
    before = set(threading.enumerate())
    RunningSessions({}.get, [], enabled=False).start()
    assert set(threading.enumerate()) == before
    running.start()
    [thread] = set(threading.enumerate()) - before
    assert (thread.name, thread.daemon) == ("now", True)
    running.bus.listeners.add(Mock())
    wait_until(lambda: looked.called)
    running.close()
    thread.join(PATIENCE)
    assert looked.call_count == 1 and not thread.is_alive()


def test_a_row_has_what_a_session_does(running: RunningSessions) -> None:
    one = live("a", "working", call="ls `x`", turn=3, cost_usd=1.5, model="claude-x")
    found = running._row(one)
    assert found.activity == running_module.heading(running_module.activity_text(one), running_module.TITLE) != ""
