"""Reports on a team from the tables that its machines wrote: usage, statistics, cache breaks and budgets, by group.

Days, weeks and months are those of UTC, for everybody: two clocks would tell what one person did between them.
pyarrow and DuckDB are imported when a report is asked for: this module has a public name, which must be there without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import msgspec

from reread.base.optional_dependencies import require
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms
from reread.catalog.team_settings import TeamSettings, team_settings
from reread.dataset.chain import ChainFinding, check_chain
from reread.dataset.report import Progress
from reread.dataset.small_groups import (
    OTHERS,
    Atom,
    FigureBlock,
    Group,
    Period,
    add,
    divide,
    first_monday,
    is_quarter,
    join_periods,
    make_block,
    quarter_of,
)
from reread.dataset.table_files import table_files
from reread.dataset.team_report import TeamDigest, TeamPeriod, TeamReport, TeamRow, Writer
from reread.errors import Misuse
from reread.reports.budget_report import SURE, BudgetState, stored_budgets

if TYPE_CHECKING:
    from reread.dataset.team_cube import Cubes

WEEK, PERSON, MACHINE, TEAM = "week", "person", "machine", "team"
TOKENS = ("input_tokens", "output_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "cache_read_tokens")
USAGE_FIGURES = (
    "responses",
    *TOKENS,
    "web_searches",
    "cost_usd",
    "reported_cost_usd",
    "unconfirmed_responses",
    "unpriced",
    "disputed",
)
CACHE_FIGURES = ("breaks", "cache_rewritten_tokens", "cache_rewritten_usd")
CALL_FIGURES = ("calls", "failed", "denied", "interrupted", "seconds")
SESSION_FIGURES = ("sessions", "turns", "compactions")
LAST = date(9999, 12, 20)
"""From this day on, a time has no end."""
Span = tuple[date | None, date | None]
"""The first day of the first week, and the last day of the last one; None if there is no bound."""


class ReportKind(NamedTuple):
    """Figures that are divided into blocks together."""

    table: str
    figures: tuple[str, ...]
    columns: tuple[str, ...]
    """What they can be grouped by, besides week, person, machine and team, in the order in which they are divided."""
    where: str = "true"


USAGE = ReportKind("usage", USAGE_FIGURES, ("project", "model"))
CACHE = ReportKind("usage", CACHE_FIGURES, ("cause", "project", "model"), "breaks > 0")
CALLS = ReportKind("calls", CALL_FIGURES, ("tool", "failure", "state", "project", "model"))
SESSIONS = ReportKind("sessions", SESSION_FIGURES, ("project", "model"))


def team(bucket: str | Path) -> Team:
    """Return the figures of a team, which its machines have written with `reread tables --to`.

    `bucket` is the address of a folder in a bucket, or a folder. `usage()`, `stats()`, `cache_breaks()` and `budgets()`
    report on it, by week, person, machine, team, project, model and more. Groups of fewer than three people are
    merged, unless these people agreed to be shown alone. Needs `reread[tables]`.
    """
    require("pyarrow")
    require("duckdb")
    return Team(bucket)


class Team:
    """The figures of a team; each report takes the newest that its machines have written."""

    def __init__(self, bucket: str | Path) -> None:
        from reread.dataset.team_cube import Cubes
        from reread.dataset.team_writers import Writers

        self.settings: TeamSettings = team_settings()
        self._writers = Writers(table_files(bucket))
        self._cubes: Cubes = Cubes(self._writers, self.settings.key)
        self._known = -1
        self._atoms: dict[tuple[ReportKind, str], list[Atom]] = {}
        self._blocks: dict[tuple[ReportKind, Period], list[FigureBlock]] = {}
        """What was made of what the machines have written last."""
        self._lock = Lock()

    def writers(self) -> list[Writer]:
        """Return the machines that write there, with what of each is left out."""
        with self._lock:
            self._writers.refresh()
            return self._writers.listed()

    def verify(self, *, progress: Progress | None = None) -> list[ChainFinding]:
        """Read all files, and return what is not as its machine wrote it."""
        found: list[ChainFinding] = []
        for writer in self.writers():
            found += check_chain(self._writers.place, writer.machine)
            if progress is not None:
                progress(1)
        return found

    def usage(self, *, by: str | Sequence[str] = WEEK, **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return tokens and cost, each response counted once, by week, person, machine, team, project or model.

        Weeks are counted whole: the ones in which `since` and `until` lie are included.
        """
        return self._report(USAGE, by, period)

    def cache_breaks(self, *, by: str | Sequence[str] = "cause", **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return what had to be written to the cache again, by cause or by what `usage` is grouped by."""
        return self._report(CACHE, by, period)

    def stats(self, *, by: str | Sequence[str] = "tool", **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return calls and failures, by tool, failure, state, project, model, week, person, machine or team."""
        return self._report(CALLS, by, period)

    def sessions(self, *, by: str | Sequence[str] = WEEK, **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return sessions and turns, by week, person, machine, team, project or model."""
        return self._report(SESSIONS, by, period)

    def quarters(self) -> list[str]:
        """Return the quarters that have figures, such as `2026-Q4`, newest first."""
        with self._lock:
            self._refresh()
            months = self._cubes.months(USAGE.table)
        return sorted(filter(is_quarter, {quarter_of(month) for month in months if month}), reverse=True)

    def budgets(self, *, now: datetime | None = None) -> list[BudgetState]:
        """Return the budgets for teams that are set on this machine, and how much of each is spent.

        A month has the weeks that begin in it. Budgets for a day are left out, and those of a team with too few people.
        """
        clock = now or datetime.now(UTC)
        today = clock.astimezone(UTC).date()
        found: list[BudgetState] = []
        for budget in stored_budgets():
            if budget.team is None or budget.per not in _BUDGET_WEEKS:
                continue
            first, end = _BUDGET_WEEKS[budget.per](today - timedelta(days=today.weekday()))
            span = (first, end - timedelta(days=1))
            with self._lock:
                self._refresh()
                blocks = self._shown(USAGE, span)
                left_out = self._left_out(USAGE, span, blocks)
            own = [block for block in blocks if block.group[_TEAM] == budget.team]
            if not own:
                continue
            merged = any(group[_TEAM] == budget.team for block in blocks if block not in own for group in block.merged)
            sums = dict(zip(USAGE.figures, add(block.figures for block in own), strict=True))
            start, stop = (datetime.combine(day, time(), UTC) for day in (first, end))
            over = (clock - start) / (stop - start)
            found.append(
                BudgetState(
                    **msgspec.structs.asdict(budget),
                    start=start,
                    end=stop,
                    spent_usd=sums["cost_usd"],
                    left_usd=budget.amount_usd - sums["cost_usd"],
                    forecast_usd=sums["cost_usd"] / over if over >= SURE else None,
                    lower_bound=bool(sums["unpriced"] or left_out or merged),
                )
            )
        return found

    def digest(self, *, week: date | None = None, now: datetime | None = None) -> TeamDigest:
        """Return the figures of the week in which a day lies, by default the last whole one, and the budgets."""
        clock = now or datetime.now(UTC)
        day = week or clock.astimezone(UTC).date() - timedelta(days=7)
        first = day - timedelta(days=day.weekday())
        earlier, since, until = ((first + timedelta(days=number)).isoformat() for number in (-7, 0, 6))
        # a report is of whole weeks, so each is named by its Monday
        before: TeamPeriod = {"since": earlier, "until": earlier}
        span: TeamPeriod = {"since": since, "until": since}
        tables = {
            "By project": self.usage(by="project", **span),
            "By model": self.usage(by="model", **span),
            "By team": self.usage(by="team", **span),
            "Written to the cache again": self.cache_breaks(by="cause", **span),
            "Failures": self.stats(by="failure", **span),
        }
        totals, compared = self.usage(by=(), **span), self.usage(by=(), **before)
        return TeamDigest(since, until, totals, compared, tables, self.budgets(now=clock))

    def _report(self, kind: ReportKind, by: str | Sequence[str], period: TeamPeriod) -> TeamReport:
        groups = tuple(dict.fromkeys(split_names(by)))
        known = (WEEK, *_COLUMNS, *kind.columns)
        wrong = [name for name in groups if name not in known]
        if wrong:
            raise Misuse(
                f"Cannot group a team by {wrong[0]!r}; use {', '.join(known)}, or several of them with commas."
            )
        span = _weeks(period.get("since"), period.get("until"))
        with self._lock:
            self._refresh()
            blocks = self._shown(kind, span)
            left_out = self._left_out(kind, span, blocks)
            return _made(kind, groups, blocks, self._labels(), left_out, dict(self._writers.refused))

    def _refresh(self) -> None:
        self._writers.refresh()
        if self._known != self._writers.changes:
            self._known = self._writers.changes
            self._atoms.clear()
            self._blocks.clear()

    def _shown(self, kind: ReportKind, span: Span) -> list[FigureBlock]:
        """Return the blocks whose weeks are all within a time."""
        alone = self._writers.shown_alone

        def people(quarter: str) -> dict[str | None, set[str]]:
            found: dict[str | None, set[str]] = {}
            for atom in self._of_quarter(kind, quarter):
                if atom.person not in alone:
                    found.setdefault(atom.week, set()).add(atom.person)
            return found

        quarters = self._quarters(kind)
        periods = join_periods(quarters, people, _quarters_within(quarters, span))
        weeks = {atom.week for atom in self._asked(kind, span)}
        own = [(week,) for week in weeks.difference(*periods)]
        blocks: list[FigureBlock] = []
        for period in (*periods, *own):
            if all(_is_within(week, span) for week in period):
                if (kind, period) not in self._blocks:
                    self._blocks[kind, period] = self._divided(kind, period, shown=period not in own)
                blocks += self._blocks[kind, period]
        return blocks

    def _divided(self, kind: ReportKind, period: Period, *, shown: bool) -> list[FigureBlock]:
        """Return the blocks of a period: if it has too few people to be shown, those of people who agreed."""
        alone = self._writers.shown_alone
        quarters = dict.fromkeys(_quarter(week) for week in period)
        atoms = [atom for quarter in quarters for atom in self._of_quarter(kind, quarter) if atom.week in period]
        others = [atom for atom in atoms if atom.person not in alone]
        blocks = [make_block(period, atom.values, [atom]) for atom in atoms if atom.person in alone]
        return [*blocks, *(divide(period, others) if others and shown else ())]

    def _left_out(self, kind: ReportKind, span: Span, blocks: Sequence[FigureBlock]) -> int:
        """Return how many weeks of a time have figures that are in no block."""
        alone = self._writers.shown_alone
        asked = {atom.week for atom in self._asked(kind, span) if atom.person not in alone}
        shown = {week for block in blocks if not block.people <= alone for week in block.period}
        return sum(_is_within(week, span) for week in asked - shown)

    def _asked(self, kind: ReportKind, span: Span) -> list[Atom]:
        """Return the atoms of all quarters in which a time lies."""
        quarters = _quarters_within(self._quarters(kind), span)
        return [atom for quarter in quarters for atom in self._of_quarter(kind, quarter)]

    def _quarters(self, kind: ReportKind) -> list[str]:
        """Return the quarters that may have figures, in order; a week belongs to that of its Monday."""
        months = self._cubes.months(kind.table)
        return sorted({quarter for month in months for quarter in _quarters_of(month)})

    def _of_quarter(self, kind: ReportKind, quarter: str) -> list[Atom]:
        """Return what each machine did in each week of a quarter."""
        if (kind, quarter) not in self._atoms:
            self._atoms[kind, quarter] = self._read(kind, quarter)
        return self._atoms[kind, quarter]

    def _read(self, kind: ReportKind, quarter: str) -> list[Atom]:
        from reread.dataset.team_cube import CUBES, duckdb

        cube = CUBES[kind.table]
        table = self._cubes.read(
            cube, [month for month in self._cubes.months(cube.table) if quarter in _quarters_of(month)]
        )
        if table is None:
            return []
        sums = ", ".join(_SUMS.get(name, f'sum("{name}")') for name in kind.figures)
        columns = ", ".join(f'"{name}"' for name in (*_COLUMNS, *kind.columns))
        with duckdb.connect(":memory:") as connection:
            connection.register("cube", table)
            connection.register("owners", self._owners())
            found = connection.execute(
                f"""
                WITH weeks AS (SELECT *, date_trunc('week', day::DATE)::DATE AS monday FROM cube)
                SELECT monday::VARCHAR, {columns}, {sums} FROM weeks JOIN owners USING (machine)
                WHERE coalesce(printf('%04d-Q%d', year(monday), quarter(monday)), '') = $1 AND ({kind.where})
                GROUP BY ALL
                """,
                [quarter],
            ).fetchall()
        end = 1 + len(_COLUMNS) + len(kind.columns)
        return [Atom(row[0], row[1], row[2], row[1:end], tuple(value or 0 for value in row[end:])) for row in found]

    def _owners(self) -> Any:
        """Return the person and the team of each machine as a table."""
        from reread.dataset.arrow import pyarrow

        people, manifests = self._writers.people, self._writers.manifests
        columns = {"machine": [*people], "person": [*people.values()], "team": [manifests[m].team for m in people]}
        return pyarrow.table({name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()})

    def _labels(self) -> dict[str, str]:
        """Return the names of the projects that this machine knows, by their hashes."""
        from reread.dataset.figures import RowMask as Hashes

        if not self.settings.key:
            return {}
        hashes = Hashes(TeamSettings(name="-", person="-", key=self.settings.key))
        return {hashes.project(name): name for name in self.settings.projects}


_COLUMNS = (PERSON, MACHINE, TEAM)
_TEAM = _COLUMNS.index(TEAM)
_SUMS = {
    "failed": "sum(calls) FILTER (state = 'failed')",
    "denied": "sum(calls) FILTER (state = 'denied')",
    "interrupted": "sum(calls) FILTER (state = 'interrupted')",
}
_BUDGET_WEEKS: dict[str, Callable[[date], tuple[date, date]]] = {
    "week": lambda monday: (monday, monday + timedelta(days=7)),
    "month": lambda monday: (
        first_monday(monday.replace(day=1)),
        first_monday((monday.replace(day=1) + timedelta(days=32)).replace(day=1)),
    ),
}
"""The first day of the current period of a budget, and the day after it, from the Monday of this week."""


def _made(
    kind: ReportKind,
    by: tuple[str, ...],
    blocks: Sequence[FigureBlock],
    labels: Mapping[str, str],
    left_out: int,
    refused: dict[str, list[str]],
) -> TeamReport:
    """Return blocks as a report: a row has those that are called alike in the columns that are asked for."""
    places = [(WEEK, *_COLUMNS, *kind.columns).index(name) for name in by]

    def called(period: Period, group: Group) -> Group:
        names = (_period_name(period), *group)
        return tuple(names[place] for place in places)

    rows: dict[Group, list[FigureBlock]] = {}
    merged: set[Group] = set()
    for block in blocks:
        rows.setdefault(called(block.period, block.group), []).append(block)
        merged |= {called(block.period, group) for group in block.merged} - {called(block.period, block.group)}
    shown = [
        TeamRow(
            {
                name: labels.get(value or "", value) if name == "project" else value
                for name, value in zip(by, group, strict=True)
            },
            _sums(kind, own),
            len(_people(own)),
            group in merged,
        )
        for group, own in sorted(rows.items(), key=lambda item: [(v == OTHERS, v or "") for v in item[0]])
    ]
    days = sorted(week for block in blocks for week in block.period if week is not None)
    return TeamReport(
        by,
        shown if by else [],
        _sums(kind, blocks),
        len(_people(blocks)),
        len({machine for block in blocks for machine in block.machines}),
        days[0] if days else None,
        _last_day(days[-1]) if days else None,
        bool(left_out) and not blocks,
        left_out,
        refused,
    )


def _sums(kind: ReportKind, blocks: Sequence[FigureBlock]) -> dict[str, float]:
    return dict(zip(kind.figures, add(block.figures for block in blocks), strict=True)) if blocks else {}


def _people(blocks: Sequence[FigureBlock]) -> set[str]:
    return {person for block in blocks for person in block.people}


def _period_name(period: Period) -> str | None:
    """Return the first day of a week, or the first and the last of several; what is left of quarters has no name."""
    days = [week for week in period if week is not None]
    if len({_quarter(week) for week in period}) > 1:
        return OTHERS
    if len(days) <= 1:
        return days[0] if days else None
    return f"{days[0]} to {_last_day(days[-1])}"


def _last_day(week: str) -> str:
    try:
        return (date.fromisoformat(week) + timedelta(days=6)).isoformat()
    except (ValueError, OverflowError):
        return week


def _weeks(since: TimeLike | None, until: TimeLike | None) -> Span:
    """Return the first day of the first week and the last day of the last one."""
    first, last = parse_period_ms(since, until, UTC)
    start = datetime.fromtimestamp(first / 1000, UTC).date() if first is not None else None
    end = datetime.fromtimestamp((last - 1) / 1000, UTC).date() if last is not None else None
    if start is not None:
        start -= timedelta(days=start.weekday())
    if end is not None:
        end = end + timedelta(days=6 - end.weekday()) if end < LAST else None
    return start, end


def _quarter(week: str | None) -> str:
    return quarter_of(week) if week is not None else ""


def _quarters_of(month: str | None) -> set[str]:
    """Return the quarters in which the weeks of a month begin."""
    if month is None:
        return {""}
    earlier = 12 * int(month[:4]) + int(month[5:]) - 2
    return {quarter_of(month), quarter_of(f"{earlier // 12:04}-{earlier % 12 + 1:02}")}


def _quarters_within(quarters: Sequence[str], span: Span) -> list[str]:
    """Return the quarters that have weeks of a time."""
    first, last = (_quarter(day.isoformat() if day is not None else None) for day in span)
    return [one for one in quarters if first <= one and (not last or one <= last)]


def _is_within(week: str | None, span: Span) -> bool:
    first, last = span
    if week is None:
        return span == (None, None)
    return (first is None or week >= first.isoformat()) and (last is None or week <= last.isoformat())
