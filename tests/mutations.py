"""Mutate transcripts in their structure, and read them in every way there is."""

import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from making import encode
from poison import POISON, STRUCTURE
from walk import accounts, walk

import reread
from reread.base import jsontext
from reread.catalog.headers import read_header
from reread.disk.file_set import find_files
from reread.disk.layout import NON_SESSION_FILES
from reread.disk.sources import FileSource
from reread.errors import Undecided
from reread.history.line_trace import trace_lines
from reread.index.answer import Answer
from reread.index.file_pass import scan
from reread.index.hits import HitBuilder, hit_value
from reread.index.matching import snippet
from reread.index.query import And, Words
from reread.index.update import unindexed
from reread.reader.export_formats import format_names, require_format
from reread.reader.file_view import list_changed_files, version_body
from reread.reader.session_search import search_session
from reread.reader.session_view import SessionView
from reread.reader.thread_view import run_steps
from reread.render.diff_table import difference_lines
from reread.render.file_listing import history_lines, version_lines
from reread.render.listings import check_lines, drift_lines, header_lines, secret_lines, short_ids
from reread.render.report_table import item_lines, report_lines, report_value
from reread.render.search_results import result_lines
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, make_console
from reread.reports.check_report import check_report
from reread.reports.file_report import history_value
from reread.reports.item_list import listed_items
from reread.reports.secrets_report import secrets_report
from reread.session.follower import Follower
from reread.session.session import Session
from reread.tools import tool_names
from reread.value_types import Hits

NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 0.5, -0.0, 2**31, 2**53 + 1, -(2**63), 2**64, 10**30, 10**400, 10**3999, -(10**3999)),
    *(1e300, -1e300, 1.7976931348623157e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    *(1738160130123, -62135596800001, 253402300800000),
)
SHORT_NUMBERS = tuple(number for number in NUMBERS if len(repr(number)) < 500)
"""Numbers that do not make a file large, and so reading slow."""
TEXTS = (
    "",
    " ",
    "\n",
    "a\nb",
    "\r",
    "\0",
    "\ud800",
    "\u2028",
    "-1",
    "NaN",
    "1e999",
    "0" * 5000,
    "9" * 5000,
    "x" * 5000,
    POISON,
    "[" * 3000 + "]" * 3000,
    "{'a':" * 300 + "1" + "}" * 300,
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-11-15T10:00:00.123456789Z",
    "../../../etc/passwd",
    "C:\\Users\\sam\\a.py",
    "file:///etc/passwd",
    "data:image/png;base64,AAAA",
    "<system-reminder>",
    "<task-notification><result>",
    "Exit code 99999999999999999999",
    "__proto__",
)
DEEP = "nested deeper than any stack"
"""What `making.encode` writes as a deep array."""
EMPTY: tuple[Any, ...] = (None, True, False, [], {}, [[]], [{}], {"": None}, [None])

WORD = Words(("a",))
"""A word that many texts have."""

Record = dict[str, Any]


class Mutator:
    """Changes records at random; the same seed makes the same changes."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def mutate(self, records: Sequence[Record]) -> bytes:
        """Return the records as lines, with one to six changes."""
        changed = deepcopy(list(records))
        for _ in range(self.random.choice((1, 1, 2, 3, 6))):
            if any(changed):
                self.random.choice(self.CHANGES)(self, changed)
        lines = [encode(record) + b"\n" for record in changed]
        return self.damaged(lines) if lines and self.random.random() < 0.1 else b"".join(lines)

    def value(self) -> Any:
        """Return a value that no client writes."""
        return self.random.choice((*NUMBERS, *NUMBERS, *TEXTS, *TEXTS, *EMPTY, DEEP))

    def replace_leaf(self, records: list[Record]) -> None:
        """Put another value in the place of a number, text or flag: mostly an extreme of the same type."""
        leaves = [spot for spot in places(records) if not isinstance(spot[0][spot[1]], dict | list)]
        if not leaves:
            return
        part, key = self.random.choice(leaves)
        own = part[key]
        extremes = NUMBERS if isinstance(own, int | float) else TEXTS
        part[key] = self.random.choice(extremes) if self.random.random() < 0.6 else self.value()

    def replace_number(self, records: list[Record]) -> None:
        """Put an extreme number in the place of a number."""
        numbers = [spot for spot in places(records) if type(spot[0][spot[1]]) in (int, float)]
        if numbers:
            part, key = self.random.choice(numbers)
            part[key] = self.random.choice(NUMBERS)

    def replace_any(self, records: list[Record]) -> None:
        """Put another value in the place of any part."""
        part, key = self.random.choice(list(places(records)))
        part[key] = self.value()

    def graft(self, records: list[Record]) -> None:
        """Put a copy of one part in the place of another."""
        spots = list(places(records))
        source, name = self.random.choice(spots)
        part, key = self.random.choice(spots)
        part[key] = deepcopy(source[name])

    def wrap(self, records: list[Record]) -> None:
        """Put a part into a list or an object."""
        part, key = self.random.choice(list(places(records)))
        part[key] = self.random.choice(([part[key]], {"value": part[key]}, {"type": "text", "text": part[key]}))

    def drop(self, records: list[Record]) -> None:
        """Remove a part."""
        part, key = self.random.choice(list(places(records)))
        del part[key]

    def rename(self, records: list[Record]) -> None:
        """Give a field the name of another one."""
        fields = [(part, key) for part, key in places(records) if isinstance(part, dict)]
        if fields:
            part, key = self.random.choice(fields)
            part[self.random.choice(fields)[1]] = part.pop(key)

    def rename_tool(self, records: list[Record]) -> None:
        """Give a call the name of another tool, so that its input and result have the shape of the first."""
        calls = [part for part, key in places(records) if key == "name" and isinstance(part, dict) and "input" in part]
        if calls:
            self.random.choice(calls)["name"] = self.random.choice(sorted(tool_names()))

    def move_record(self, records: list[Record]) -> None:
        """Write a record elsewhere, or twice."""
        record = self.random.choice(records)
        if self.random.random() < 0.5:
            records.remove(record)
        records.insert(self.random.randrange(len(records) + 1), record)

    def drop_record(self, records: list[Record]) -> None:
        """Leave out a record."""
        if len(records) > 1:
            del records[self.random.randrange(len(records))]

    def relink(self, records: list[Record]) -> None:
        """Give a record the id, parent or time of another."""
        name = self.random.choice(("uuid", "parentUuid", "sessionId", "timestamp", "agentId", "isSidechain", "type"))
        one, other = self.random.choice(records), self.random.choice(records)
        one[name] = deepcopy(other.get(name, self.value()))

    def damaged(self, lines: list[bytes]) -> bytes:
        """Tear a line, or put bytes into one."""
        at = self.random.randrange(len(lines))
        line = lines[at]
        cut = self.random.randrange(len(line))
        junk = self.random.choice((b"", b"\0", b"\xff", b"\n", b"[" * 2000, b'{"a":' * 500, b'"', b"}" * 50))
        lines[at] = line[:cut] + junk + self.random.choice((b"", line[cut:]))
        return b"".join(lines)

    CHANGES: tuple[Callable[..., None], ...] = (
        *(replace_leaf, replace_leaf, replace_leaf, replace_number, replace_number, replace_any),
        *(graft, wrap, drop, rename, rename_tool, move_record, drop_record, relink),
    )


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every part of the records in a list: what holds it, and the key or index there."""
    todo: list[Any] = list(value)
    while todo:
        part = todo.pop()
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            yield part, key
            if isinstance(part[key], dict | list):
                todo.append(part[key])


def transcripts(*roots: Path) -> list[Path]:
    """Return the sessions, agents and streams of the real client below some folders."""
    found = [path for root in roots for path in sorted(root.glob("*/*/**/*.jsonl"))]
    return [path for path in found if path.name not in {*NON_SESSION_FILES, "truth.jsonl"}]


def copy_mutated(original: Path, folder: Path, mutator: Mutator) -> Path:
    """Copy a file with the agents that belong to it, mutate it and sometimes one of theirs; return the session's path.

    If the file is an agent's, its whole session is copied.
    """
    in_folder = original.parent.name == "subagents"
    main = original.parents[1].with_suffix(".jsonl") if in_folder else original
    path = folder / "mutated.jsonl"
    own = path.with_suffix("")
    shutil.rmtree(own, ignore_errors=True)
    path.write_bytes(main.read_bytes() if main.exists() else b"")
    if main.with_suffix("").is_dir():
        shutil.copytree(main.with_suffix(""), own, copy_function=shutil.copyfile)  # the modes may be read-only
    chosen = [own / "subagents" / original.name if in_folder else path]
    beside = sorted({*own.rglob("*.json*")} - {*chosen}) if own.is_dir() else []
    if beside and mutator.random.random() < 0.5:
        chosen.append(mutator.random.choice(beside))
    for target in chosen:
        target.write_bytes(mutator.mutate(records_of(target)))
    return path


def records_of(path: Path) -> list[Record]:
    """Return the records of a healthy file: a transcript, or one JSON object."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def read_everything(path: Path) -> None:
    """Open a file, and put it through every verb and view."""
    session = reread.open(path)
    walk(session)
    accounts(session)
    for full in (False, True):
        console = make_console(file=io.StringIO(), width=100)
        for renderable in TerminalView(Selection(full=full)).session(session):
            console.print(renderable)
    for form in format_names():
        document = b"".join(require_format(form).write(session, Selection(full=True)))
        if form == "json":
            jsontext.loads(document)
    read_in_the_reader(session)
    count(path)
    report = check_report([path])
    for line in (*check_lines(report, verbose=True), *drift_lines(report)):
        line.encode()
    jsontext.dumps(report)
    header = read_header(path)
    list(header_lines([header], ids=short_ids([header]), width=100))
    search(path)
    read_files(session)
    count_calls(path)
    redact(path)
    read_while_it_grows(path, session)


def read_in_the_reader(session: reread.Session) -> None:
    """Ask for everything that the reader's pages ask for."""
    view = SessionView(session, "k", base_url="/api/sessions/k")
    for agent in (None, *session.agents):
        jsontext.dumps(run_steps(view.counted_overview(agent)))
        for branch in view.thread(agent).conversation.branches:
            jsontext.dumps(view.page(0, 1 << 30, agent=agent, branch=branch.id, whole=True))
            jsontext.dumps(view.outline(0, 1 << 30, agent=agent, branch=branch.id))
        for index in range(len(view.thread(agent).conversation.calls)):
            jsontext.dumps(view.call(index, agent=agent, whole=True))
        jsontext.dumps(run_steps(view.usage(agent))())
    jsontext.dumps(view.problems()())
    jsontext.dumps(search_session(view, "e"))


def count(path: Path) -> None:
    """Count the file alone, and print the tables."""
    for by in ("day", "session", "project,model", "agent", "block"):
        report = reread.usage(path, by=by, cache=False)
        list(report_lines(report, width=100))
        report.to_csv()
    jsontext.dumps(report_value(reread.usage(path, cache=False)))


def search(path: Path) -> None:
    """Find every text of the file, and print the hits."""
    builder = HitBuilder()
    units = scan(And(()), unindexed(None, find_files(paths=[path])), [])
    with closing(builder):
        hits = [builder.hit(found, snippet(found.document.text, [WORD])) for found in units]
    found = [hit for hit in hits if hit is not None]
    assert len(found) == len(hits)
    jsontext.dumps([hit_value(hit) for hit in found])
    list(result_lines(found, Hits(iter(()), Answer(iter(()), len(found)))))


def read_files(session: reread.Session) -> None:
    """List the files of a session and their versions, in the terminal and in the reader, and what changed in them."""
    found = list(session.files.values())
    list(history_lines(found, session.project, width=100))
    jsontext.dumps([history_value(history, versions=True) for history in found])
    jsontext.dumps(list_changed_files(session))
    for number, history in enumerate(found):
        list(version_lines(history, session.project))
        trace_lines(history, lambda version: "")
        for version in range(len(history.versions)):
            jsontext.dumps(version_body(session, number, version, whole=True))
    for other in (None, session):
        difference = reread.diff(session, other)
        list(difference_lines(difference, width=100))
        jsontext.dumps(difference)


def count_calls(path: Path) -> None:
    """Report what the session did."""
    for by in ("tool", "failure", "file", "agent", "day"):
        report = reread.stats(path, by=by, cache=False)
        list(report_lines(report, width=100))
        list(item_lines(report, listed_items(report, report.items), report.items, width=100))
        report.to_csv()
        jsontext.dumps(report_value(report))


def redact(path: Path) -> None:
    """List what is sensitive in a file, and copy it without that."""
    report = secrets_report([path], personal=True)
    assert not report.faults
    list(secret_lines(report))
    redaction = reread.redact(path)
    redaction.replace_undecided()
    for form in ("jsonl", "markdown"):
        with suppress(Undecided):  # refused, as it has to be if the finished document shows something new
            redaction.export(form, full=True)


def read_while_it_grows(path: Path, whole: reread.Session) -> None:
    """Read the file in two halves, which gives what reading it at once does."""
    with TemporaryDirectory() as folder:
        data, growing = path.read_bytes(), Path(folder, "growing.jsonl")
        growing.write_bytes(data[: len(data) // 2])
        follower = Follower(Session(FileSource(growing)), seen={})
        changes = [change.record.offset for change in follower.changes(set()) if change.record is not None]
        with growing.open("ab") as file:
            file.write(data[len(data) // 2 :])
        changes += [change.record.offset for change in follower.changes(set()) if change.record is not None]
        changes += [change.record.offset for change in follower.finish() if change.record is not None]
        assert changes == [record.offset for record in whole.records]


def one_of_each_kind(paths: Sequence[Path]) -> list[Path]:
    """Choose files that have every field and every kind of record and block that all the files have."""
    known: set[str] = set()
    chosen: list[Path] = []
    for path in paths:
        kinds = set(_kinds(records_of(path)))
        if not kinds <= known:
            known |= kinds
            chosen.append(path)
    return chosen


def _kinds(records: list[Record]) -> Iterator[str]:
    todo: list[tuple[str, Any]] = [("", record) for record in records]
    while todo:
        path, part = todo.pop()
        if isinstance(part, list):
            todo += [(path, item) for item in part]
        elif isinstance(part, dict):
            path = f"{path}/{part.get('type')}/{part.get('subtype')}/{part.get('name') if 'input' in part else ''}"
            yield path
            for name, item in part.items():
                yield f"{path}.{name}"
                todo.append((f"{path}.{name}", item))


def with_extremes(records: list[Record], seed: int) -> bytes:
    """Return the records with every number replaced by an extreme one, and half of the texts by hostile ones."""
    random, changed = Random(seed), deepcopy(records)
    for part, key in places(changed):
        if type(part[key]) in (int, float):
            part[key] = random.choice(NUMBERS if random.random() < 0.05 else SHORT_NUMBERS)
        elif isinstance(part[key], str) and key not in STRUCTURE and random.random() < 0.5:
            part[key] = random.choice(TEXTS)
    return b"".join(encode(record) + b"\n" for record in changed)
