"""Report the tokens and cost of any number of sessions."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

import msgspec

from reread.accounting.billing import COUNT_NAMES
from reread.accounting.collect import Collection, Inputs
from reread.accounting.digest import SLOT_MS
from reread.accounting.group_by import AGENT_TYPE, BLOCK, OWNERS, UsageFilter, UsageReport, arrange, group_entries
from reread.accounting.prices import Prices, current_prices
from reread.accounting.usage_cache import open_cache
from reread.accounting.workers import Progress
from reread.base.choices import UsageGrouping, UsageOrder
from reread.base.gc_pause import gc_paused
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms, parse_time_zone
from reread.disk import layout
from reread.disk.sources import read_all
from reread.errors import Misuse, NotFound
from reread.reports.file_owners import file_owners, owner_test
from reread.storage.kept_file import is_kept_transcript
from reread.storage.prompt_history import is_prompts

if TYPE_CHECKING:
    from reread.session.session import Session

    Source = str | os.PathLike[str] | bytes | IO[bytes] | Session

STDIN = "-"


def usage(
    *sources: Source | Iterable[Source],
    by: UsageGrouping | Sequence[UsageGrouping] = "day",
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    model: str | Sequence[str] | None = None,
    person: str | Sequence[str] | None = None,
    machine: str | Sequence[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    prices: str | Path | Prices | None = None,
    cache: bool = True,
    keep_deleted: bool = False,
    sort: UsageOrder = "group",
    min_cost: float | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> UsageReport:
    """Return the tokens and cost of sessions, counting each response once, by group and in total.

    Without sources, count all sessions of this machine, or those below `root`. A source is a session or its header (its
    agents are counted, too), a folder, a file with a stream, bytes or a binary file. `by` is day, week, month, weekday,
    hour (of the day), session, project, repository (projects with their worktrees and subfolders), model, branch,
    agent, agent_type, thread (main or subagents), block (five hours), person, machine, team (of the machine that wrote
    a file), or several of them. `sort` is group, cost, tokens or responses; rows that cost less than `min_cost` dollars
    are left out. With `limit`, there are at most so many rows: the newest if they are in the order of time, else those
    that cost most, or have most of what they are sorted by. `prices` is a JSON file with prices that override the
    bundled ones. With `keep_deleted`, transcripts that were counted before and have been deleted still count.
    """
    zone = parse_time_zone(tz)
    table = prices if isinstance(prices, Prices) else current_prices(prices)
    if min_cost is not None and math.isnan(min_cost):
        raise Misuse(f"Invalid cost {min_cost}; use a number of dollars, such as 0.50.")
    groups = tuple(dict.fromkeys(split_names(by)))
    first, last = parse_period_ms(since, until, zone)
    keep = UsageFilter(
        since=first,
        until=last,
        projects=layout.expand_folders(project),
        models=tuple(split_names(model)),
        file=owner_test(person, machine),
    )
    inputs = _inputs(list(_flatten(sources)), root)
    with gc_paused(), open_cache(cache) as usage_cache:
        collection = Collection(inputs, usage_cache, table, keep_deleted=keep_deleted, progress=progress)
        exact = (  # only exact entries know their file
            keep.file is not None
            or not {BLOCK, AGENT_TYPE, *OWNERS}.isdisjoint(groups)
            or any((time_ms or 0) % SLOT_MS for time_ms in (keep.since, keep.until))
        )
        types = _agent_types(inputs, cache=cache) if AGENT_TYPE in groups else None
        entries = collection.entries(exact=exact)
        owner = file_owners() if not set(OWNERS).isdisjoint(groups) else None
        report = group_entries(entries, groups, zone=zone, prices=table, keep=keep, agent_types=types, owner=owner)
        report = msgspec.structs.replace(report, unread=tuple(sorted(collection.unread)))
        return arrange(report, sort=sort, min_cost=min_cost, limit=limit)


def _agent_types(inputs: Inputs, *, cache: bool) -> dict[str, str]:
    from reread.reports.facts_cache import known_agent_types  # opens sessions, which counting does not need

    return known_agent_types(inputs.states, cache=cache)


def _flatten(sources: Iterable[Any]) -> Iterator[Source]:
    for source in sources:
        if isinstance(source, str | os.PathLike | bytes | bytearray) or _is_session(source) or hasattr(source, "read"):
            yield source  # pyright: ignore[reportReturnType]
        else:
            yield from _flatten(source)


def _is_session(source: object) -> TypeGuard[Session]:
    """True if this is an open session. Checks an attribute, because counting does not need to load sessions."""
    return hasattr(source, "permission_modes")


def session_name(source: str | os.PathLike[str] | Session) -> str | Path:
    """Return what to find the file of a session by; raise Misuse if it has none."""
    if isinstance(source, str | os.PathLike):
        return source if isinstance(source, str) else Path(source)
    path = getattr(source, "path", None)
    if path is None:
        raise Misuse(f"This {type(source).__name__} has no file; write it to one, and name that.")
    return path


def _inputs(sources: list[Source], root: str | Path | Sequence[str | Path] | None) -> Inputs:
    """Return what the sources name; all sessions if there are none."""
    inputs = Inputs()
    if not sources:
        inputs.add_folders(layout.session_folders([root] if isinstance(root, str | Path) else root))
    for source in sources:
        if isinstance(source, str | os.PathLike) and source != STDIN:
            _add_path(inputs, source if isinstance(source, str) else Path(source), root)
        elif _is_session(source):
            from reread.session.session import threads_of

            inputs.add(threads_of(source).usage_inputs)
        else:
            inputs.data.append(_read(source))
    return inputs


def _add_path(inputs: Inputs, name: str | Path, root: str | Path | Sequence[str | Path] | None) -> None:
    path = layout.expand_path(name)
    if name != "" and os.path.isdir(path):
        inputs.add_folder(layout.require_folder(path))
    else:
        from reread.catalog.resolve import resolve_session
        from reread.session.session import open, threads_of  # noqa: A004
        from reread.session.session_part import part_of
        from reread.session.usage_inputs import add_session

        roots = [root] if isinstance(root, str | Path) else root
        is_plain = os.path.isfile(path) and not is_kept_transcript(path)
        file = path if is_plain else resolve_session(name, root=root)
        if is_prompts(file):
            raise NotFound(f"Only the prompts of {file.stem} are left, so what it used is not known.", path=str(file))
        if not is_plain and part_of(file, name) is not None:
            inputs.add(threads_of(open(name, root=root)).usage_inputs)
        else:
            add_session(inputs, file, roots)


def _read(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    return read_all(sys.stdin.buffer if source == STDIN else source)


def report_value(report: UsageReport) -> dict[str, Any]:
    """Return a report as JSON values: `rows` with their groups and figures, `totals`, and `comparison` of costs."""
    rows = [{**row.group, **figures(row.usage)} for row in report.rows]
    totals = report.totals
    flags = {"unpriced_models": list(totals.unpriced_models), "lower_bound": totals.lower_bound}
    value: dict[str, Any] = {"rows": rows, "totals": {**figures(totals), **flags}}
    if report.comparison is not None:
        value["comparison"] = msgspec.to_builtins(report.comparison)
    return value


FIGURES = (
    "responses",
    *COUNT_NAMES,
    "cost_usd",
    "reported_cost_usd",
    "unconfirmed_responses",
)
"""The figures of each row of a report."""


def figures(usage: Any) -> dict[str, Any]:
    """Return the figures of a usage by name."""
    return {name: usage[name] for name in FIGURES}
