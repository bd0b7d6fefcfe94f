"""Accounts: who spent what, where, when and on which model, over any number of sessions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard, cast

import msgspec

from reread.accounting.billing import COUNTS
from reread.accounting.cache import opened
from reread.accounting.collect import Collection, Inputs
from reread.accounting.digest import SLOT_MS
from reread.accounting.group_by import UsageFilter, UsageReport, group_entries
from reread.accounting.prices import Prices, in_force
from reread.accounting.workers import Progress
from reread.base.gc_pause import gc_paused
from reread.base.times import TimeLike, parse_bound_ms, parse_time_zone
from reread.disk import layout
from reread.disk.sources import read_all
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.session.session import Session

    Source = str | Path | bytes | IO[bytes] | Session

STDIN = "-"


def usage(
    *sources: Source | Iterable[Source],
    by: str | Sequence[str] = "day",
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    model: str | Sequence[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    prices: str | Path | Prices | None = None,
    cache: bool = True,
    keep_deleted: bool = False,
    progress: Progress | None = None,
) -> UsageReport:
    """What sessions spent, in tokens and money: each response once, by group and in all.

    Without sources, all sessions of this machine (or below `root`). A source is a session (with its agents), a folder
    (all below it), a stream's file, bytes or a binary file. `by`: day, week, month, session, project, model, branch,
    agent, thread (main or subagents), block (five hours), or several of them.
    """
    zone = parse_time_zone(tz)
    table = prices if isinstance(prices, Prices) else in_force(prices)
    groups = tuple(_words(by))
    keep = UsageFilter(
        since=parse_bound_ms(since, zone),
        until=parse_bound_ms(until, zone, end=True),
        projects=layout.expand_folders(project),
        models=tuple(_words(model)),
    )
    if keep.since is not None and keep.until is not None and keep.since > keep.until:
        raise Misuse(f"nothing lies between since {since} and until {until}: say the earlier one first")
    wanted = _wanted(list(_flat(sources)), root)
    with gc_paused(), opened(cache) as kept:
        survey = Collection(wanted, kept, table, keep_deleted=keep_deleted, progress=progress)
        exact = "block" in groups or any((moment or 0) % SLOT_MS for moment in (keep.since, keep.until))
        report = group_entries(survey.entries(exact=exact), groups, zone=zone, prices=table, keep=keep)
        return msgspec.structs.replace(report, unread=tuple(sorted(survey.unread)))


def _several(value: Any) -> list[Any]:
    """One value, or several."""
    if value is None:
        return []
    return list(cast(list[Any], value)) if isinstance(value, list | tuple | set) else [value]


def _words(value: str | Sequence[str] | None) -> list[str]:
    """One word, several, or several with commas between them."""
    return [word.strip() for text in _several(value) for word in text.split(",") if word.strip()]


def _flat(sources: Iterable[Any]) -> Iterator[Source]:
    for source in sources:
        if isinstance(source, str | Path | bytes | bytearray) or _is_session(source) or hasattr(source, "read"):
            yield source  # pyright: ignore[reportReturnType]
        else:
            yield from _flat(source)


def _is_session(source: object) -> TypeGuard[Session]:
    """Whether this is an open session; told by what it has, so that sessions need not be loaded to count."""
    return hasattr(source, "agent_files")


def _wanted(sources: list[Source], root: str | Path | Sequence[str | Path] | None) -> Inputs:
    """What is to be counted: what is named, else all sessions."""
    wanted = Inputs()
    if not sources:
        for folder in layout.session_folders([root] if isinstance(root, str | Path) else root):
            wanted.add_folder(folder)
    for source in sources:
        if isinstance(source, str | Path) and str(source) != STDIN:
            _want_named(wanted, source, root)
        elif _is_session(source):
            from reread.session.session import wanted_of

            wanted.add(wanted_of(source))
        else:
            wanted.loose.append(_bytes(source))
    return wanted


def _want_named(wanted: Inputs, name: str | Path, root: str | Path | Sequence[str | Path] | None) -> None:
    path = layout.expand_path(name)
    if name != "" and os.path.isdir(path):
        wanted.add_folder(layout.require_folder(path))
    else:
        from reread.session.session import find, want_session

        roots = [root] if isinstance(root, str | Path) else root
        want_session(wanted, path if os.path.isfile(path) else find(name, root=root), roots)


def _bytes(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    return read_all(sys.stdin.buffer if source == STDIN else source)


def report_value(report: UsageReport) -> dict[str, Any]:
    """A report as JSON values: `rows` with their groups and figures, and `totals`."""
    rows = [{**row.group, **figures(row.usage)} for row in report.rows]
    more = {"unpriced_models": list(report.totals.unpriced_models), "lower_bound": report.totals.lower_bound}
    return {"rows": rows, "totals": {**figures(report.totals), **more}}


FIGURES = (
    "responses",
    *COUNTS,
    "cost_usd",
    "reported_cost_usd",
    "unconfirmed_responses",
)
"""What a report says of each row, by its public names."""


def figures(usage: Any) -> dict[str, Any]:
    """The figures of a usage by name."""
    return {name: usage[name] for name in FIGURES}
