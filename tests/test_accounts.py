"""The rules of counting, case by case.

A case in `fixtures/accounts` is a text file: a comment on what it proves, its files (`== path`), and the expected
reports (`>> totals`, `>> by=day tz=UTC`), one JSON line for each row. Only the figures that are given are compared.
"""

import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from batches import table
from effort import one_in
from used import FIGURES

import reread
from reread.accounting import workers
from reread.accounting.dedupe import ForkPoints, ResponseCopy
from reread.accounting.digest import FileDigest, FileResponse, ResponseOrigin, UsageDigest
from reread.accounting.rows import AnyLine
from reread.accounting.slow_lines import fit, peek_line
from reread.render.report_table import report_value
from reread.reports.report import Report, Row
from reread.reports.usage_report import arrange

CASES = sorted((Path(__file__).parent / "fixtures" / "accounts").glob("*.case"))


@dataclass
class Case:
    """A parsed case file."""

    files: dict[str, list[str]] = field(default_factory=dict)
    expected: list[tuple[dict[str, str], list[Any]]] = field(default_factory=list)


def parse(path: Path) -> Case:
    case = Case()
    lines: list[Any] = []
    for line in path.read_bytes().decode().split("\n"):
        if line.startswith("== "):
            lines = case.files[line[3:]] = []
        elif line.startswith(">> "):
            lines = []
            case.expected.append((dict(word.split("=", 1) for word in line[3:].split() if "=" in word), lines))
        elif not line.startswith("# ") and line:
            lines.append(json.loads(line) if case.expected else line)
    return case


def write_files(case: Case, folder: Path, end: str = "\n") -> None:
    for name, lines in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(line + end for line in lines).encode())


def compare(got: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if isinstance(value, float):
            assert got[name] == pytest.approx(value, abs=1e-9), name
        else:
            assert got[name] == value, name


def check(case: Case, *sources: Any, **options: Any) -> None:
    for arguments, expected in case.expected:
        value = report_value(reread.usage(*sources, **options, **arguments))
        if arguments.get("by"):
            groups = arguments["by"].split(",")
            assert [[row[group] for group in groups] for row in value["rows"]] == [
                [row.get(group, value["rows"][n][group]) for group in groups] for n, row in enumerate(expected)
            ]
            for got, row in zip(value["rows"], expected, strict=True):
                compare(got, row)
        else:
            compare(value["totals"], expected[0])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.delenv("REREAD_PRICES", raising=False)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_counted_as_expected(path: Path, tmp_path: Path) -> None:
    case = parse(path)
    write_files(case, tmp_path)
    check(case, tmp_path)
    check(case, tmp_path)  # from the cache


@one_in(3)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_file_order_line_ends_and_byte_order_marks_do_not_matter(path: Path, tmp_path: Path) -> None:
    case = parse(path)
    write_files(case, tmp_path, end="\r\n")
    files = sorted((file for file in tmp_path.rglob("*.jsonl") if file.name != "journal.jsonl"), reverse=True)
    check(case, files, cache=False)
    for file in files:
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().rstrip(b"\r\n"))
    check(case, *files, cache=False)


@one_in(3)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_copies_of_files_add_nothing(path: Path, tmp_path: Path) -> None:
    case = parse(path)
    write_files(case, tmp_path / "one")
    write_files(case, tmp_path / "two")
    check(case, tmp_path / "one", tmp_path / "two", cache=False)


def test_every_row_has_every_figure(tmp_path: Path) -> None:
    write_files(parse(CASES[0]), tmp_path)
    value = report_value(reread.usage(tmp_path, by="day,model"))
    said = {"report", "by", "columns", "notes", "unread"}
    assert set(value) == {"rows", "totals", "prices", "comparison"} | said
    more = ("tokens", "unpriced_models", "lower_bound")
    assert all(list(row) == ["day", "model", *FIGURES, *more] for row in value["rows"])
    assert list(value["totals"]) == [*FIGURES, *more]


def test_a_line_of_many_megabytes(tmp_path: Path) -> None:
    line = {
        "type": "assistant",
        "sessionId": "a",
        "requestId": "r",
        "message": {
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "id": "m",
            "model": "claude-opus-5-5",
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "x" * 6_000_000}],
        },
    }
    small = {**line, "message": {**line["message"], "id": "m2", "content": []}, "requestId": "r2"}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(small) + "\n")
    assert reread.usage(tmp_path).totals.responses == 2
    assert reread.usage((tmp_path / "a.jsonl").read_bytes()).totals.output_tokens == 4


def test_synthetic_and_error_rows_do_not_count_for_their_message(tmp_path: Path) -> None:
    def row(output: int, model: str, **more: Any) -> str:
        usage = {"input_tokens": 1, "output_tokens": output}
        message = {
            "id": "m",
            "role": "assistant",
            "model": model,
            "stop_reason": "end_turn",
            "usage": usage,
            "content": [],
        }
        return json.dumps({"type": "assistant", "sessionId": "a", "requestId": "r", "message": message, **more}) + "\n"

    file = tmp_path / "a.jsonl"
    real = row(2, "claude-opus-5-5", uuid="1")
    file.write_text(
        real + row(3, "<synthetic>", uuid="2") + row(4, "claude-opus-5-5", uuid="3", isApiErrorMessage=True)
    )
    session = reread.open(file)
    assert [message.usage.output_tokens for message in session.messages if message.usage.responses] == [2]
    assert session.usage.output_tokens == 2


def test_a_price_file_overrides_the_bundled_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(parse(next(path for path in CASES if path.stem == "unknown-models")), tmp_path)
    prices = tmp_path / "prices.json"
    prices.write_text('{"models": {"kimi-k2": {"input": 1, "output": 10}}}')
    totals = reread.usage(tmp_path, prices=prices).totals
    assert totals.cost_usd == pytest.approx(0.008)
    assert "kimi-k2" not in totals.unpriced_models
    monkeypatch.setenv("REREAD_PRICES", str(prices))
    assert reread.usage(tmp_path).totals.cost_usd == pytest.approx(0.008)
    assert reread.open(tmp_path / "projects/q/b.jsonl").usage.cost_usd == pytest.approx(0.002)


class TestForkPoints:
    """Sessions a, b and c share a response; a and b share another one."""

    @pytest.fixture
    def points(self) -> ForkPoints:
        def copies(time_ms: int, *sessions: str) -> list[ResponseCopy]:
            response = FileResponse(0, "r", 0, time_ms)
            origins = [ResponseOrigin(session, None, None, None) for session in sessions]
            return [ResponseCopy(FileDigest(UsageDigest()), response, origin) for origin in origins]

        single = [*copies(40, "a"), *copies(50, "a"), *copies(30, "c"), *copies(5, "other")]
        return ForkPoints([copies(10, "a", "b", "c"), copies(20, "a", "b"), copies(25, "a", "b")], single)

    @pytest.mark.parametrize(
        ("session", "others", "times"),
        [
            ("a", "b", (40, 40)),
            ("a", "c", (20, 20)),
            ("a", "bc", (20, 40)),
            ("b", "a", (0, 0)),
            ("b", "ac", (20, 0)),
            ("c", "ab", (30, 30)),
        ],
    )
    def test_times_of_the_first_and_the_last_divergence(
        self, points: ForkPoints, session: str, others: str, times: tuple[int, int]
    ) -> None:
        origins = [ResponseOrigin(name, None, None, None) for name in session + others]
        sessions = points.sessions(
            [ResponseCopy(FileDigest(UsageDigest()), FileResponse(0, "r", 0), o) for o in origins]
        )
        assert points.times(session, sessions) == times


class TestSelection:
    """Filters, sources and groups."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        rows = [
            ("a", "m1", "2026-11-10T10:00:00Z", "claude-opus-5-5", "/w/one"),
            ("a", "m2", "2026-11-11T10:00:00Z", "claude-sonnet-5-5", "/w/one/sub"),
            ("b", "m3", "2026-11-12T10:00:00Z", "claude-opus-5", "/w/onetwo"),
        ]
        for session, message_id, timestamp, model, cwd in rows:
            path = tmp_path / "projects" / "p" / f"{session}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            message = {"id": message_id, "model": model, "stop_reason": "end_turn", "usage": {"output_tokens": 1}}
            ids = {"sessionId": session, "requestId": message_id}
            row = {"type": "assistant", **ids, "timestamp": timestamp, "cwd": cwd}
            with path.open("a") as file:
                file.write(json.dumps({**row, "message": message}) + "\n")
        return tmp_path

    @pytest.mark.parametrize(
        ("options", "responses"),
        [
            ({"since": "2026-11-11", "tz": "UTC"}, 2),
            ({"since": "2026-11-11T10:00:00+00:00"}, 2),
            ({"since": "2026-11-11T10:00:01+00:00"}, 1),
            ({"until": "2026-11-11", "tz": "UTC"}, 2),
            ({"until": "2026-11-11", "since": "2026-11-11", "tz": "UTC"}, 1),
            ({"until": "2026-11-11T10:00:00+00:00"}, 1),
            ({"since": "2026-11-12", "tz": "+14:00"}, 2),
            ({"model": "opus"}, 2),
            ({"model": "claude-opus-5"}, 1),
            ({"model": ["claude-opus-5", "sonnet"]}, 2),
            ({"model": "claude-opus-*"}, 2),
            ({"model": "haiku"}, 0),
            ({"project": "/w/one"}, 2),
            ({"project": "/w/one/sub"}, 1),
            ({"project": ["/w/one/sub", "/w/onetwo"]}, 2),
        ],
    )
    def test_by_time_model_and_project(self, tree: Path, options: dict[str, Any], responses: int) -> None:
        assert reread.usage(root=tree, **options).totals.responses == responses

    @pytest.mark.parametrize(
        ("by", "expected"),
        {
            "day": ["2026-11-10", "2026-11-11", "2026-11-12"],
            "week": ["2026-11-09"],
            "month": ["2026-11"],
            "weekday": ["Tue", "Wed", "Thu"],
            "hour": ["10:00"],
            "block": ["2026-11-10T10:00:00+00:00", "2026-11-11T10:00:00+00:00", "2026-11-12T10:00:00+00:00"],
            "session": ["a", "b"],
            "project": ["/w/one", "/w/one/sub", "/w/onetwo"],
            "model": ["claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5"],
            "branch": [None],
            "agent": ["main"],
            "agent_type": ["main"],
            "thread": ["main"],
        }.items(),
    )
    def test_groups_have_names_and_an_order(self, tree: Path, by: str, expected: list[str | None]) -> None:
        report = reread.usage(root=tree, by=by, tz="UTC")
        assert [row[by] for row in report.rows] == expected
        assert sum(row["responses"] for row in report.rows) == 3 and report.by == (by,)

    def test_a_worktree_belongs_to_its_repository(self, tmp_path: Path) -> None:
        (tmp_path / "work" / ".git").mkdir(parents=True)
        message = {"id": "m", "model": "x", "usage": {"output_tokens": 1}}
        row = {
            "type": "assistant",
            "sessionId": "s",
            "cwd": f"{tmp_path}/work/below/",
            "requestId": "r",
            "message": message,
        }
        (tmp_path / "s.jsonl").write_text(json.dumps(row) + "\n")
        for by, folder in (("repository", "work"), ("project", "work/below")):
            assert reread.usage(tmp_path / "s.jsonl", by=by).rows[0][by] == f"{tmp_path}/{folder}"

    def test_a_session_by_path_or_id(self, tree: Path) -> None:
        assert reread.usage(tree / "projects/p/a.jsonl").totals.responses == 2
        assert reread.usage("b", root=tree).totals.responses == 1
        assert reread.usage([tree / "projects/p/a.jsonl", "b"], root=tree).totals.responses == 3
        assert reread.usage(reread.open(tree / "projects/p/b.jsonl")).totals.responses == 1
        with (tree / "projects/p/b.jsonl").open("rb") as file:
            assert reread.usage(file).totals.responses == 1

    def test_symbolic_links_are_followed_once(self, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        root = tmp_path_factory.mktemp("linked") / "root"
        root.symlink_to(tree)
        before = reread.usage(root=tree).totals.responses
        (tree / "projects" / "again").symlink_to(tree / "projects" / "p")
        (tree / "projects" / "round").symlink_to(tree / "projects")
        assert reread.usage(root=root).totals.responses == before == 3

    def test_misuse_says_what_to_do(self, tree: Path) -> None:
        wrong = {
            "by": ("colour", "Cannot group by 'colour'"),
            "tz": ("Mars", "Invalid time zone 'Mars'"),
            "since": ("x", "Invalid time 'x'"),
        }
        for option, (value, words) in wrong.items():
            with pytest.raises(reread.Misuse, match=words):
                reread.usage(root=tree, **{option: value})
        with pytest.raises(reread.Misuse, match="Empty path"):
            reread.usage("")
        with pytest.raises(reread.NotFound):
            reread.usage(tree / "nowhere.jsonl")

    def test_groups_and_figures_can_be_read_by_name(self, tree: Path) -> None:
        report = reread.usage(root=tree, by="session")
        assert report["rows"][0]["session"] == "a"
        assert report.rows[0]["responses"] == report.rows[0].responses == 2
        assert report["totals"]["output_tokens"] == report.totals.output_tokens == 3


def test_fields_of_the_wrong_type_are_left_out_at_any_depth() -> None:
    usage = {"input_tokens": "x", "output_tokens": 5}
    odd = {"type": "assistant", "uuid": {"a": 1}, "cwd": "/w", "isSidechain": "yes", "message": {"id": 7, "model": "m"}}
    line = fit({**odd, "message": {**odd["message"], "usage": usage}}, AnyLine)  # type: ignore[dict-item]
    assert (line.type, line.uuid, line.cwd, line.isSidechain) == ("assistant", None, "/w", None)
    assert (line.message.id, line.message.model) == (None, "m")
    assert (line.message.usage.input_tokens, line.message.usage.output_tokens) == (None, 5)
    assert fit([], AnyLine) == fit({}, AnyLine) == AnyLine()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"type":"user","sessionId":"a","timestamp":"1970-01-01T00:00:01Z"}', (1000, False)),
        (
            b'{"type":"user","session_id":"a","timestamp":"1970-01-01T00:00:01Z","parent_tool_use_id":null}',
            (1000, True),
        ),
        (b'{"type":"user","sessionId":"a"}{"type":"user","timestamp":"1970-01-01T00:00:02Z"}', (2000, False)),
        (b" \x00\t", (None, False)),
    ],
)
def test_a_first_look_at_a_line(line: bytes, expected: tuple[int | None, bool]) -> None:
    assert peek_line(line) == expected


def test_work_is_shared_among_as_many_processes_as_it_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(3), raising=False)
    monkeypatch.setattr(workers, "has_connected", lambda: False)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    share = workers.BYTES_PER_PROCESS
    sizes = (0, share - 1, share, 2 * share - 1, 2 * share, 9 * share)
    assert [workers.process_count(size) for size in sizes] == [1, 1, 1, 1, 2, 3]
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert workers.process_count(9 * share) == 1, "a fork would copy the locks of other threads"
    jobs: list[Any] = [SimpleNamespace(remaining=size) for size in (1, 2, 3, 4, 5)]
    shares = [[job.remaining for job in part] for part in workers._split_jobs(jobs, 2)]
    assert shares == [[5, 2, 1], [4, 3]]


def grouped(name: str, responses: int, tokens: int, cost: float | None, reported: float | None = None) -> Row:
    values = {"responses": responses, "tokens": tokens, "cost_usd": cost, "reported_cost_usd": reported}
    return Row({"day": name}, values)


@table(
    ("options", "shown", "hidden"),
    [
        ({}, "abcd", ""),
        ({"sort": "cost"}, "cabd", ""),
        ({"sort": "tokens"}, "bcad", ""),
        ({"sort": "responses"}, "dcba", ""),
        ({"min_cost": 1.0}, "abc", "d"),
        ({"min_cost": 1.1}, "ac", "bd"),
        ({"limit": 4}, "abcd", ""),
        ({"limit": 1}, "d", "abc"),
        ({"limit": 3, "sort": "cost"}, "cab", "d"),
        ({"limit": 1, "min_cost": 1.0}, "c", "dab"),
    ],
)
def test_rows_are_sorted_and_hidden(options: dict[str, Any], shown: str, hidden: str) -> None:
    """Of a timeline, the newest rows are shown, of all else the dearest; a reported cost goes before a computed one."""
    rows = [grouped("a", 1, 10, 3.0), grouped("b", 2, 30, 1.0), grouped("c", 3, 20, 0.5, 5.0), grouped("d", 4, 5, None)]
    report = arrange(Report("usage", ("day",), rows, Row({}, {})), **options)
    assert ["".join(row["day"] for row in found) for found in (report.rows, report.hidden)] == [shown, hidden]
    if options == {"limit": 1}:
        models = arrange(Report("usage", ("model", "day"), rows, Row({}, {})), limit=1)
        assert [row["day"] for row in models.rows] == ["c"] and len(models.hidden) == 3


@pytest.mark.parametrize("options", [{"sort": "colour"}, {"limit": 0}])
def test_rows_cannot_be_arranged_in_any_way(options: dict[str, Any]) -> None:
    with pytest.raises(reread.Misuse):
        arrange(Report("usage", ("day",), [], Row({}, {})), **options)


def test_without_sources_all_sessions_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(parse(CASES[0]), tmp_path)
    (tmp_path / "history.jsonl").write_text("{}\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert reread.usage().totals == reread.usage(tmp_path).totals
    assert os.environ["CLAUDE_CONFIG_DIR"] == str(tmp_path)
