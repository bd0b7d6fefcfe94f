"""Which sessions, and what of them: the one description that every report takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeGuard, Unpack, cast

from reread.accounting.collect import Inputs
from reread.accounting.prices import current_prices, parse_model_id
from reread.base.choices import DONE, EXIT, FAILED, TIMEOUT
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms, parse_time_zone
from reread.disk import layout
from reread.disk.projects import expand_folders, is_within
from reread.disk.sources import read_all
from reread.errors import Misuse, NotFound
from reread.facts.owners import owner_test
from reread.storage.kept_names import is_kept_transcript
from reread.storage.prompt_history import is_prompts

if TYPE_CHECKING:
    from reread.session.session import Session

    Source = str | os.PathLike[str] | bytes | IO[bytes] | Session

STDIN = "-"
Names = str | Sequence[str] | None
Test = Callable[[Any], bool]


class Filter(NamedTuple):
    """A way to choose facts."""

    column: str
    """The column of a fact that decides. What has no such column does not count."""
    test: Callable[[Any], Test | None]
    """Makes a test for that column from what was asked for; None if nothing was."""
    sql: str = ""
    """What the column is compared with instead: SQL over the views of opened sessions, which are then made."""


class ScopeOptions(TypedDict, total=False):
    """Which sessions, and what of them, as keywords: the same in every report."""

    root: str | Path | Sequence[str | Path] | None
    """Folders to look for sessions in, instead of this machine's."""
    since: TimeLike | None
    """The beginning of what counts."""
    until: TimeLike | None
    """The end of it; a day, week or month is included."""
    tz: str | tzinfo | None
    """The time zone of days; None for local time."""
    project: str | Path | Sequence[str | Path] | None
    """Only these folders and those below them, or the projects with these names."""
    model: str | Sequence[str] | None
    """Only these models or families (opus)."""
    tag: str | Sequence[str] | None
    """Only sessions with one of these tags."""
    branch: str | Sequence[str] | None
    """Only these branches of git."""
    person: str | Sequence[str] | None
    """Only sessions of these people, by name or pattern (ann-*)."""
    machine: str | Sequence[str] | None
    """Only sessions of these machines, by name or pattern."""
    tool: str | Sequence[str] | None
    """Only calls of these tools."""
    state: str | Sequence[str] | None
    """Only calls in these states: running, done, failed, denied or interrupted."""
    failed: bool
    """Only sessions whose last command failed."""


class Scope:
    """Which sessions, and what of them."""

    def __init__(self, *sources: Any, **options: Unpack[ScopeOptions]) -> None:
        """Take sessions, folders, files, bytes; without any, all sessions of this machine, or those below `root`."""
        self.sources: tuple[Any, ...] = sources
        self.options: Mapping[str, Any] = options
        self._inputs: Inputs | None = None

    @property
    def zone(self) -> tzinfo | None:
        """The time zone of days; None for local time."""
        return parse_time_zone(self.options.get("tz"))

    @property
    def period(self) -> tuple[int | None, int | None]:
        """The first millisecond that counts, and the first that does not any more; None for no limit."""
        return parse_period_ms(self.options.get("since"), self.options.get("until"), self.zone)

    @property
    def filters(self) -> dict[str, tuple[Filter, Test]]:
        """The filters that choose something, by name, each with its test."""
        tests = {name: (one, one.test(self.options.get(name))) for name, one in FILTERS.items()}
        return {name: (one, test) for name, (one, test) in tests.items() if test is not None}

    @property
    def opens_sessions(self) -> bool:
        """True if only opened sessions tell what is meant."""
        return any(one.sql for one, _ in self.filters.values())

    def inputs(self) -> Inputs:
        """Return the files, and the data that is in none; they are looked for once."""
        if self._inputs is None:
            self._inputs = self._find_inputs()
        return self._inputs

    def _find_inputs(self) -> Inputs:
        inputs = Inputs()
        sources = list(_flatten(self.sources))
        if not sources:
            inputs.add_folders(layout.session_folders(self._roots))
        for source in sources:
            if isinstance(source, str | os.PathLike) and source != STDIN:
                _add_path(inputs, source if isinstance(source, str) else Path(source), self._roots)
            elif _is_session(source):
                from reread.session.session import threads_of

                inputs.add(threads_of(source).usage_inputs)
            else:
                inputs.data.append(_read(source))
        return inputs

    def sessions(self) -> list[Path]:
        """Return the files of the sessions."""
        names = [session_name(cast(Any, source)) for source in _flatten(self.sources)]
        found: list[Path] = [] if names else list(layout.session_files(self._roots))
        for name in names:
            path = layout.expand_path(name)
            found += layout.sessions_below(path) if path.is_dir() else [self._resolved(name)]
        counts = owner_test(self.options.get("person"), self.options.get("machine"))
        return [path for path in dict.fromkeys(one.absolute() for one in found) if counts is None or counts(str(path))]

    def _resolved(self, name: str | Path) -> Path:
        from reread.catalog.resolve import resolve_session  # loaded late: most reports are on all sessions

        return resolve_session(name, root=self._roots)

    @property
    def _roots(self) -> Sequence[str | Path] | None:
        root = self.options.get("root")
        return [root] if isinstance(root, str | Path) else root


def _projects(wanted: str | Path | Sequence[str | Path] | None) -> Test | None:
    folders = expand_folders(wanted)
    return (lambda project: is_within(project, folders)) if folders else None


def _models(wanted: Names) -> Test | None:
    patterns = split_names(wanted)
    return (lambda model: any(matches_model(model, each) for each in patterns)) if patterns else None


def _words(wanted: Names) -> Test | None:
    names = {name.lower() for name in split_names(wanted)}
    return (lambda value: value is not None and value.lower() in names) if names else None


def _people(wanted: Names) -> Test | None:
    return owner_test(wanted, None)


def _machines(wanted: Names) -> Test | None:
    return owner_test(None, wanted)


def _tags(wanted: Names) -> Test | None:
    if not split_names(wanted):
        return None
    from reread.catalog.annotations import tagged_sessions  # most reports ask for no tag

    return tagged_sessions(wanted).__contains__


def _flag(wanted: bool | str) -> Test | None:
    return bool if wanted not in (False, None, "", "0") else None


WAS_RUN = f"(state = '{DONE}' OR (state = '{FAILED}' AND (failure = '{TIMEOUT}' OR failure LIKE '{EXIT}%')))"
"""What `has_run` says, in SQL."""
LAST_FAILED = (
    "SELECT session FROM (SELECT session, state,"
    " row_number() OVER (PARTITION BY session ORDER BY time DESC, row DESC) AS number"
    f" FROM calls WHERE command IS NOT NULL AND {WAS_RUN}) WHERE number = 1 AND state = '{FAILED}'"
)
"""The sessions whose last command failed."""
FILTERS = {
    "project": Filter("project", _projects),
    "model": Filter("model", _models),
    "tag": Filter("session", _tags),
    "branch": Filter("branch", _words),
    "person": Filter("path", _people),
    "machine": Filter("path", _machines),
    "tool": Filter("tool", _words),
    "state": Filter("state", _words),
    "failed": Filter("session", _flag, sql=f"IN ({LAST_FAILED})"),
}
"""What one can choose by: each row has the name of an option."""


def matches_model(model: str | None, pattern: str) -> bool:
    """True if a model matches an id, a glob pattern (`claude-opus-*`) or a family (`opus`)."""
    if model is None:
        return False
    prices = current_prices()
    name = prices.name(pattern)
    if model == pattern or (name is not None and prices.name(model) == name):
        return True
    base = parse_model_id(model).model
    return fnmatchcase(base, pattern) or (pattern.isalpha() and pattern in base.split("-"))


def session_name(source: str | os.PathLike[str] | Session) -> str | Path:
    """Return what to find the file of a session by; raise Misuse if it has none."""
    if isinstance(source, str | os.PathLike):
        return source if isinstance(source, str) else Path(source)
    path = getattr(source, "path", None)
    if path is None:
        raise Misuse(f"This {type(source).__name__} has no file; write it to one, and name that.")
    return path


def _flatten(sources: Iterable[Any]) -> Iterator[Source]:
    for source in sources:
        if isinstance(source, str | os.PathLike | bytes | bytearray) or _is_session(source) or hasattr(source, "read"):
            yield source  # pyright: ignore[reportReturnType]
        else:
            yield from _flatten(source)


def _is_session(source: object) -> TypeGuard[Session]:
    """True if this is an open session. Checks an attribute, because counting does not need to load sessions."""
    return hasattr(source, "permission_modes")


def _add_path(inputs: Inputs, name: str | Path, roots: Sequence[str | Path] | None) -> None:
    path = layout.expand_path(name)
    if name != "" and os.path.isdir(path):
        inputs.add_folder(layout.require_folder(path))
        return
    from reread.catalog.resolve import resolve_session
    from reread.session.session import open, threads_of  # noqa: A004
    from reread.session.session_inputs import add_session, part_of

    is_plain = os.path.isfile(path) and not is_kept_transcript(path)
    file = path if is_plain else resolve_session(name, root=roots)
    if is_prompts(file):
        raise NotFound(f"Only the prompts of {file.stem} are left, so what it used is not known.", path=str(file))
    if not is_plain and part_of(file, name) is not None:
        inputs.add(threads_of(open(name, root=roots)).usage_inputs)
    else:
        add_session(inputs, file, roots)


def _read(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    return read_all(sys.stdin.buffer if source == STDIN else source)
