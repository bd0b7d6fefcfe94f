"""The values of the list of sessions and of search over all of them; the TypeScript types are generated from these.

A session has a short name in URLs and in the names of exported pages: its key.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from reread.base.structs import copied
from reread.catalog.header import Header
from reread.reader.schema import TITLE, Figures, Value
from reread.redaction.findings import SensitiveText
from reread.render.format import heading

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,119}")
FROM_HEADER = (
    "id project project_guessed git_branch version started updated size captured kept gone prompts_only".split()
)
"""What a row has as the header says it."""


class LibraryRow(Value, frozen=True):
    """A session in the library; turns, agents and figures come later, because they need the whole file."""

    key: str
    """Its name in URLs."""
    id: str
    title: str
    project: str
    project_guessed: bool = False
    git_branch: str | None = None
    version: str | None = None
    started: datetime | None = None
    updated: datetime | None = None
    size: int = 0
    captured: bool = False
    """Whether it is a captured stream and not a transcript."""
    kept: bool = False
    """Whether `reread keep` has a copy of it."""
    gone: bool = False
    """Whether only that copy is left."""
    prompts_only: bool = False
    """Whether only its prompts are left, in the history of what was typed."""
    live: bool = False
    """Whether it is being written."""
    machine: str | None = None
    """The machine that wrote it."""
    person: str | None = None
    """Whose machine that is, as the configuration says."""
    starred: bool = False
    note: str = ""
    """The notes of a person about it."""
    tags: list[str] = []
    archived: bool = False
    """Whether Claude Code or its desktop app has archived it."""
    models: list[str] = []
    turns: int | None = None
    """Turns of its file, also those that a fork copied."""
    agents: int | None = None
    agent_types: list[str] = []
    lines_added: int | None = None
    lines_removed: int | None = None
    """Lines that its edits added and removed, those of its agents included; what a fork copied is the original's."""
    failed: bool = False
    """Whether its last command failed, as far as it was read."""
    figures: Figures | None = None
    """What it used; what a fork copied is the original's."""

    @classmethod
    def of(cls, key: str, header: Header) -> LibraryRow:
        """The row of a session, from its header."""
        same = {name: getattr(header, name) for name in FROM_HEADER}
        models = [header.model] if header.model else []
        return cls(key=key, title=heading(header.title, TITLE), models=models, **same)


class AnnotationChange(Value, frozen=True):
    """The star, the note and the tags of a session after a change."""

    starred: bool
    note: str
    tags: list[str]
    saved: bool
    """False if the note was changed elsewhere meanwhile, so that nothing was."""


class ReportFilter(Value, frozen=True):
    """A filter of reports: an option of `base.scope_options`."""

    name: str
    help: str
    is_flag: bool
    """True if it has no value."""
    reports: list[str]
    """The reports that have it."""


class Library(Value, frozen=True):
    """All sessions, newest first."""

    sessions: list[LibraryRow]
    roots: list[str]
    """The folders that were searched."""
    pending: int = 0
    """How many rows are not counted yet."""
    demo: bool = False
    filters: list[ReportFilter] = []
    """What reports on them can be narrowed to, besides times."""


class NowSession(Value, frozen=True):
    """A session that runs now, or has died."""

    id: str
    key: str | None
    """Its name in URLs; None if it has no transcript yet."""
    title: str
    project: str
    """The name of its folder."""
    git_branch: str | None
    state: str
    """working, waiting, idle or died."""
    since: datetime | None
    activity: str
    """Its work, or the thing that it waits for."""


class LibraryNow(Value, frozen=True):
    """The sessions that run now, those that wait first."""

    summary: str
    """How many run, and how many wait; empty if none runs."""
    waiting: int
    sessions: list[NowSession]


class ReaderSettings(Value, frozen=True):
    """Budgets in dollars; None if there is none."""

    day: float | None = None
    week: float | None = None
    month: float | None = None


class Installation(Value, frozen=True):
    """What an installation reads and where it writes."""

    version: str
    prices: str
    """The day of the price table."""
    price_file: str | None
    """A table of one's own, which replaces some of the prices."""
    roots: list[str]
    """The folders with sessions."""
    store: str
    """The folder of reread: captured conversations, settings, stars and notes."""
    cache: str
    """The folder of what is counted and indexed, which can be made again."""
    archives: list[str]
    """The folders with kept copies."""
    kept: int
    """How many of the sessions have a copy."""
    only_kept: int
    """Of how many sessions only the copy is left."""


class FoundText(Value, frozen=True):
    """A text of a session that a search over all sessions found."""

    link: str
    """The address of the place, from `#` on."""
    kind: str
    """prompt, text, thinking, input, result, notice or title."""
    turn: int | None
    agent: str | None
    call: str | None
    tool: str | None
    file: str | None
    time: datetime | None
    before: str
    match: str
    after: str
    marks: tuple[tuple[int, int], ...]
    """Where the words are in `before`, `match` and `after` together, in characters: the beginning and end of each."""
    stage: str
    """How many of the words the session has near each other: all, most or any."""
    copies: int
    """How many other sessions have the same text, such as forks."""


class FoundSession(Value, frozen=True):
    """A session with texts that a search found."""

    key: str
    """Its name in URLs."""
    id: str
    title: str
    project: str
    hits: list[FoundText]


class LibrarySearch(Value, frozen=True):
    """The hits of a search over all sessions."""

    titles: list[LibraryRow]
    """Sessions whose title, project or id matches; only with the first hits."""
    sessions: list[FoundSession]
    """Sessions with texts that match, the best first."""
    total: int
    """How many texts have all words; if none has, how many have some."""
    with_all: int
    """How many sessions have all words near each other."""
    with_some: int
    """How many other sessions have some of the words."""
    facets: dict[str, dict[str, int]]
    """How many texts match by project, kind, tool and month; only with the first hits."""
    next: int | None
    """Where to continue; None if these are all."""
    note: str
    """The limits of the answer, in words; empty if there are none."""
    pending: int
    """About how many bytes are not indexed yet."""


class ShareFinding(Value, frozen=True):
    """Something that must not be shared, or somebody has to decide about."""

    id: str
    level: str
    """`certain`, `likely` or `personal`."""
    kind: str
    mask: str
    replacement: str
    count: int
    file: str
    line: int
    """The line of its first place; 0 if it is not in a line."""
    context: str
    """The text around it, masked."""
    decision: str | None
    """`replace`, `keep`, or None if nobody decided."""
    name: str = ""
    """The name of a likely secret; findings of one kind and name get one decision."""

    @classmethod
    def of(cls, found: SensitiveText) -> ShareFinding:
        """Return the value of a finding, with its first place."""
        first = found.places[0]
        return copied(cls, found, file=first.file, line=first.line, context=first.context)


class ShareChoices(Value, frozen=True):
    """The parts of a session that are shared."""

    turns: str = ""
    """A range such as `3-9`; empty for all."""
    thinking: bool = True
    agents: bool = True
    images: bool = False


class ShareReview(Value, frozen=True):
    """The findings in a session that is to be shared."""

    findings: list[ShareFinding]
    """The findings in what is chosen."""
    undecided: int
    choices: ShareChoices


def is_session_key(text: str) -> bool:
    """True if a text can be the key of a session, and so the name of a file."""
    return _KEY.fullmatch(text) is not None


def session_key(path: Path, taken: Mapping[str, Path]) -> str:
    """The stem of a file if it is plain and no other session has it, else a stem with a hash of the path."""
    stem = path.stem
    if _PLAIN.fullmatch(stem) and taken.get(stem, path) == path:
        return stem
    digest = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=6).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:60].strip("-.") or "session"
    return f"{plain}~{digest}"
