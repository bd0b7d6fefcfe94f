"""Lists of sessions as lines of styled text, and the findings of `check` and of a search for secrets."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reread.accounting.prices import model_text
from reread.base.format import date_text, size_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.text import cell_width, pad, plural, truncate
from reread.catalog.header import Header

if TYPE_CHECKING:
    from reread.reports.check_report import CheckReport
    from reread.reports.secrets_report import Secret, SecretsReport


MIN_ID, WHOLE_ID = 8, 20
"""How much of an id is shown at least; an id that is not longer than the second is never cut."""
MIN_TITLE = 30
"""If a title would have fewer columns, the facts after it are left out."""
LEAST_TITLE = 12
"""If it would have fewer than these, because ids are long, so are the columns before it."""
MAX_PROJECT, MAX_FACTS = 16, 36
WHEN, SIZE = 16, 8
GAP = "  "
STAR = "★ "

PLAIN, STRONG, QUIET, NAME = "plain", "strong", "quiet", "name"
Span = tuple[str, str]
"""A style and a text."""


def header_lines(
    headers: Sequence[Header], *, ids: Mapping[str, str], width: int | None = None, flat: bool = False
) -> Iterator[list[Span]]:
    """Yield sessions in the order in which they are given, grouped by project, or with `flat` one after the other.

    `ids` has what to call each session, by its path. Without a width nothing is cut.
    """
    table = _SessionTable(headers, ids, width, flat)
    if flat:
        yield from map(table.line, headers)
        return
    by_project: dict[str, list[Header]] = {}
    for header in headers:
        by_project.setdefault(header.project, []).append(header)
    for project, group in by_project.items():
        guess = " (guessed from the folder name)" if group[0].project_guessed else ""
        before = dict.fromkeys(safe_line(header.moved_from) for header in group if header.moved_from)
        was = f" (was {', '.join(before)})" if before else ""
        yield [(STRONG, safe_line(project)), (QUIET, guess or was)]
        yield from map(table.line, group)


class _SessionTable:
    """The widths of the columns; if there is little room, facts but what is left are dropped, then titles are cut.

    Ids are whole as long as they fit, because sessions are opened by them.
    """

    def __init__(self, headers: Sequence[Header], ids: Mapping[str, str], width: int | None, flat: bool) -> None:
        self._ids = ids
        self._indent = "" if flat else GAP
        self._id = _widest(safe_line(ids[header.path]) for header in headers)
        self._before = {"when": WHEN, "size": SIZE}
        if flat:
            self._before["project"] = min(MAX_PROJECT, _widest(map(_project_name, headers)))
        self._titles = {header.path: (text := _title(header), cell_width(text)) for header in headers}
        self._facts_of = {header.path: _facts(header) for header in headers}
        self._title = max((width for _, width in self._titles.values()), default=0)
        self._facts = _widest(self._facts_of.values())
        if width is None:
            return
        self._id = min(self._id, width - len(self._indent))
        room = width - len(self._indent) - self._id - len(GAP)
        room -= sum(before + len(GAP) for before in self._before.values())
        for name in ("project", "size", "when"):
            if room < LEAST_TITLE and name in self._before:
                room += self._before.pop(name) + len(GAP)
        facts = min(self._facts, MAX_FACTS) + len(GAP)
        if room - facts < MIN_TITLE:
            self._facts_of = {header.path: _origin(header) for header in headers}
            origin = _widest(self._facts_of.values())
            facts = origin + len(GAP) if origin and room - origin - len(GAP) >= MIN_TITLE // 2 else 0
        self._title = max(0, min(self._title, room - facts))
        self._facts = room - self._title - len(GAP) if facts else 0

    def line(self, header: Header) -> list[Span]:
        """Return one session."""
        facts = truncate(self._facts_of[header.path], self._facts) if self._facts > 0 else ""
        title, width = self._titles[header.path]
        if width > self._title:
            title = truncate(title, self._title) if self._title else ""
            width = cell_width(title)
        name = pad(truncate(safe_line(self._ids[header.path]), self._id), self._id)
        project = self._before.get("project", 0)
        before = {"when": f"{date_text(header.updated):{WHEN}}", "size": f"{size_text(header.size):>{SIZE}}"}
        quiet = "".join(before[name] + GAP for name in before if name in self._before)
        return [
            (NAME, self._indent + name),
            (QUIET, GAP + quiet if quiet or self._title else ""),
            (STRONG, pad(truncate(_project_name(header), project), project) + GAP if project else ""),
            (PLAIN, title + " " * (self._title - width) if facts else title),
            (QUIET, f"{GAP}{facts}" if facts else ""),
        ]


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_width, texts), default=0)


def _facts(header: Header) -> str:
    facts = (
        "captured" * header.captured,
        _origin(header),
        "archived" * header.archived,
        header.git_branch,
        model_text(header.model),
    )
    return safe_line(GAP.join(fact for fact in facts if fact))


def _origin(header: Header) -> str:
    """Say of a session that it is not one of the client's own files."""
    kept = "prompts only" if header.prompts_only else "kept, gone" if header.gone else "kept" * header.kept
    return GAP.join(filter(None, ("desktop" * header.desktop, kept)))


def _project_name(header: Header) -> str:
    return safe_line(path_name(header.project))


def _title(header: Header) -> str:
    tags = (f"#{tag}" for tag in header.tags)
    return STAR * header.starred + safe_line(" ".join([*tags, *header.title.split()]))


def short_ids(headers: Iterable[Header]) -> dict[str, str]:
    """Return the shortest name of each session that no other one begins with, by its path."""
    return unique_beginnings((header.path, header.id, [*header.sessions, _stem(header.path)]) for header in headers)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]  # noqa: PTH122


def unique_beginnings(named: Iterable[tuple[str, str, Iterable[str]]]) -> dict[str, str]:
    """Return the beginning of each session's id that no other name begins with, by its path.

    Sessions are given as path, id, and other names by which they are found. A session is found by the name of its file
    before all that its records name, such as the session that it continues, so these do not lengthen such an id. Of two
    that have the same id, none is longer for it: nothing of it tells them apart.
    """
    sessions = [(path, id, {id, *others}) for path, id, others in named]
    files = _needed(_stem(path) for path, *_ in sessions)
    names = _needed(name for *_, own in sessions for name in own)
    return {
        path: _shortened(id, files.get(id, 0) if id == _stem(path) else names.get(id, 0)) for path, id, _ in sessions
    }


def _needed(names: Iterable[str]) -> dict[str, int]:
    """Return how much of each name tells it from the others."""
    needed: dict[str, int] = {}
    for one, other in itertools.pairwise(sorted(set(names))):
        same = _shared_length(one, other) + 1 if one[:MIN_ID] == other[:MIN_ID] else 0  # so much is shown of any
        needed[one] = max(needed.get(one, 0), same)
        needed[other] = same
    return needed


def _shared_length(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _shortened(id: str, needed: int) -> str:
    if len(id) <= WHOLE_ID:
        return id
    return id[: max(MIN_ID, needed)]


MAX_CONTEXT = 110


def check_lines(report: CheckReport, *, verbose: bool = False) -> Iterator[str]:
    """Findings in the format of compiler messages, and their totals."""
    for file in report.files:
        for finding in file.findings:
            if verbose or finding.level != "info":
                yield safe_line(f"{file.path}:{finding.line}: {finding.level}: {finding.text} [{finding.code}]")
    totals = report.totals
    found = ((totals.errors, "error"), (totals.warnings, "warning"), (totals.infos, "note"))
    counts = ", ".join(plural(count, noun) for count, noun in found)
    hint = " (-v shows the notes)" if totals.infos and not verbose else ""
    read = ", ".join(plural(n, noun) for n, noun in ((totals.files, "file"), (totals.records, "record")))
    yield f"{read}: {counts}{hint}"


def drift_lines(report: CheckReport) -> Iterator[str]:
    """Unknown types, tools and fields, and values of other types, the most frequent first."""
    totals = report.totals
    unknown = {**totals.unknown_types, **totals.unknown_fields, **totals.changed_types}
    for name, count in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        yield safe_line(f"{count:8,}  {name or '(no type)'}")
    if not unknown:
        read = f"{plural(totals.records, 'record')} of {plural(totals.files, 'file')}"
        yield f"No unknown types, tools or fields in {read}."


def secret_lines(report: SecretsReport) -> Iterator[list[Span]]:
    """Yield the secrets, file by file, in the format of compiler messages, and the totals."""
    from reread.redaction.spans import CERTAIN, LEVELS  # loaded late: `check` looks for no secrets

    for file in report.files:
        by_value: dict[tuple[int, str], list[Secret]] = {}
        for secret in sorted(file.secrets, key=lambda secret: (LEVELS.index(secret.level), secret.line)):
            by_value.setdefault((LEVELS.index(secret.level), secret.id), []).append(secret)
        for first, *others in by_value.values():
            more = f" and {plural(len(others), 'more place')}" if others else ""
            yield [
                (PLAIN, safe_line(f"{file.path}:{first.line}: ")),
                (STRONG if first.level == CERTAIN else PLAIN, f"{first.level}: {first.kind}"),
                (PLAIN, safe_line(f" {first.mask}{more}")),
            ]
            if first.context:
                yield [(QUIET, safe_line(f"    {truncate(first.context, MAX_CONTEXT)}"))]
    counts = ", ".join(f"{count:,} {sort}" for sort, count in report.totals.items())
    yield [(PLAIN, f"{plural(report.scanned, 'file')}: {counts}")]
