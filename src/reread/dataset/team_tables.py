"""Reports on a team from the tables that its machines wrote: usage, statistics, cache breaks and budgets, by group.

pyarrow and DuckDB are imported when a report is asked for: this module has a public name, which must be there without.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from reread.base.optional_dependencies import require
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms, parse_span, parse_time_zone
from reread.catalog.team_settings import TeamSettings, team_settings
from reread.dataset.chain import ChainFinding, check_chain
from reread.dataset.report import Progress
from reread.dataset.small_groups import (
    OTHERS,
    Cell,
    Group,
    Sums,
    are_enough,
    is_quarter,
    join_periods,
    merge_groups,
    quarter_days,
    quarter_of,
)
from reread.dataset.table_files import table_files
from reread.dataset.team_report import TeamDigest, TeamPeriod, TeamReport, TeamRow, Writer
from reread.errors import Misuse
from reread.reports.budget_report import SURE, UNITS, BudgetState, stored_budgets

if TYPE_CHECKING:
    from reread.dataset.team_cube import Cube, Cubes

WEEK, PERSON, MACHINE, TEAM = "week", "person", "machine", "team"
OF_MACHINES = (PERSON, MACHINE, TEAM)
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
        from reread.dataset.team_writers import Writers

        self.settings: TeamSettings = team_settings()
        self._writers = Writers(table_files(bucket))
        self._cubes: dict[str, Cubes] = {}
        self._reports: dict[tuple[Any, ...], TeamReport] = {}
        """The reports that were made of what the machines have written last."""
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
        from reread.dataset.team_cube import USAGE

        return self._report(USAGE, USAGE_FIGURES, by, ("project", "model"), period)

    def cache_breaks(self, *, by: str | Sequence[str] = "cause", **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return what had to be written to the cache again, by cause or by what `usage` is grouped by."""
        from reread.dataset.team_cube import USAGE

        return self._report(USAGE, CACHE_FIGURES, by, ("cause", "project", "model"), period, where="breaks > 0")

    def stats(self, *, by: str | Sequence[str] = "tool", **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return calls and failures, by tool, failure, state, project, model, week, person, machine or team."""
        from reread.dataset.team_cube import CALLS

        return self._report(CALLS, CALL_FIGURES, by, ("tool", "failure", "state", "project", "model"), period)

    def sessions(self, *, by: str | Sequence[str] = WEEK, **period: Unpack[TeamPeriod]) -> TeamReport:
        """Return sessions and turns, by week, person, machine, team, project or model."""
        from reread.dataset.team_cube import SESSIONS

        return self._report(SESSIONS, SESSION_FIGURES, by, ("project", "model"), period)

    def quarters(self) -> list[str]:
        """Return the quarters that have figures, such as `2026-Q4`, newest first."""
        from reread.dataset.team_cube import USAGE

        with self._lock:
            self._writers.refresh()
            months = self._opened(None).months(USAGE)
        return sorted(filter(is_quarter, {quarter_of(month) for month in months if month}), reverse=True)

    def budgets(self, *, tz: str | tzinfo | None = None, now: datetime | None = None) -> list[BudgetState]:
        """Return the budgets for teams that are set on this machine, and how much of each is spent.

        Those of a team with too few people are left out.
        """
        from reread.dataset.team_cube import USAGE

        zone, clock = parse_time_zone(tz), now or datetime.now(UTC)
        found: list[BudgetState] = []
        for budget in stored_budgets():
            if budget.team is None:
                continue
            start, end = parse_span(UNITS[budget.per], now=clock, zone=zone)
            end = end or clock
            first, last = start.date(), (end - timedelta.resolution).date()
            with self._lock:
                rows = self._rows(USAGE, ("cost_usd", "unpriced"), (TEAM,), first, last, zone)
                alone = self._writers.shown_alone
            own = [row for row in rows if row.group == (budget.team,)]
            if not are_enough({row.person for row in own}, alone):
                continue
            spent = sum(row.figures[0] for row in own)
            over = (clock - start) / (end - start)
            found.append(
                BudgetState(
                    **msgspec.structs.asdict(budget),
                    start=start,
                    end=end,
                    spent_usd=spent,
                    left_usd=budget.amount_usd - spent,
                    forecast_usd=spent / over if over >= SURE else None,
                    lower_bound=any(row.figures[1] for row in own),
                )
            )
        return found

    def digest(
        self, *, week: date | None = None, tz: str | tzinfo | None = None, now: datetime | None = None
    ) -> TeamDigest:
        """Return the figures of the week in which a day lies, by default the last whole one, and the budgets."""
        zone, clock = parse_time_zone(tz), now or datetime.now(UTC)
        day = week or clock.astimezone(zone).date() - timedelta(days=7)
        first = day - timedelta(days=day.weekday())
        earlier, since, until = ((first + timedelta(days=number)).isoformat() for number in (-7, 0, 6))
        # a report is of whole weeks, so each is named by its Monday
        before: TeamPeriod = {"since": earlier, "until": earlier, "tz": zone}
        span: TeamPeriod = {"since": since, "until": since, "tz": zone}
        tables = {
            "By project": self.usage(by="project", **span),
            "By model": self.usage(by="model", **span),
            "By team": self.usage(by="team", **span),
            "Written to the cache again": self.cache_breaks(by="cause", **span),
            "Failures": self.stats(by="failure", **span),
        }
        totals, compared = self.usage(by=(), **span), self.usage(by=(), **before)
        return TeamDigest(since, until, totals, compared, tables, self.budgets(tz=zone, now=clock))

    def _report(
        self,
        cube: Cube,
        figures: tuple[str, ...],
        by: str | Sequence[str],
        columns: tuple[str, ...],
        period: TeamPeriod,
        *,
        where: str = "true",
    ) -> TeamReport:
        zone = parse_time_zone(period.get("tz"))
        groups = tuple(dict.fromkeys(split_names(by)))
        known = (WEEK, *OF_MACHINES, *columns)
        wrong = [name for name in groups if name not in known]
        if wrong:
            raise Misuse(
                f"Cannot group a team by {wrong[0]!r}; use {', '.join(known)}, or several of them with commas."
            )
        first, last = _weeks(period.get("since"), period.get("until"), zone)
        with self._lock:
            self._writers.refresh()
            key = (self._writers.changes, figures, groups, first, last, str(zone))
            if key not in self._reports:
                rows = self._rows(cube, figures, groups, *_whole_quarters(first, last), zone, where=where)
                alone, refused = self._writers.shown_alone, dict(self._writers.refused)
                made = _protected(rows, (first, last), groups, figures, alone, refused, self._labels())
                self._reports = {old: found for old, found in self._reports.items() if old[0] == key[0]} | {key: made}
            return self._reports[key]

    def _rows(
        self,
        cube: Cube,
        figures: tuple[str, ...],
        groups: tuple[str, ...],
        first: date | None,
        last: date | None,
        zone: tzinfo | None,
        *,
        where: str = "true",
    ) -> list[_MachineRow]:
        """Return the figures of each machine in each week and group."""
        from reread.dataset.team_cube import duckdb

        self._writers.refresh()
        cubes = self._opened(zone)
        months = [month for month in cubes.months(cube) if _is_near(month, first, last)]
        table = cubes.read(cube, months)
        if table is None:
            return []
        week = "date_trunc('week', day::DATE)::DATE::VARCHAR"
        named = "".join(f"{week if name == WEEK else _quoted(name)}, " for name in groups)
        sums = ", ".join(_SUMS.get(name, f"sum({_quoted(name)})") for name in figures)
        bounds = " AND ".join(
            [f"day >= '{first}'"] * (first is not None) + [f"day <= '{last}'"] * (last is not None) + [f"({where})"]
        )
        with duckdb.connect(":memory:") as connection:
            connection.register("cube", table)
            connection.register("owners", self._owners())
            found = connection.sql(
                f"SELECT {week} AS period, machine, person, {named}{sums} "
                f"FROM cube JOIN owners USING (machine) WHERE {bounds} GROUP BY ALL"
            ).fetchall()
        end = 3 + len(groups)
        return [
            _MachineRow(row[0], row[1], row[2], row[3:end], tuple(value or 0 for value in row[end:])) for row in found
        ]

    def _owners(self) -> Any:
        """Return the person and the team of each machine as a table."""
        from reread.dataset.arrow import pyarrow

        people, manifests = self._writers.people, self._writers.manifests
        columns = {"machine": [*people], "person": [*people.values()], "team": [manifests[m].team for m in people]}
        return pyarrow.table({name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()})

    def _opened(self, zone: tzinfo | None) -> Cubes:
        from reread.dataset.team_cube import Cubes

        return self._cubes.setdefault(str(zone), Cubes(self._writers, zone, self.settings.key))

    def _labels(self) -> dict[str, str]:
        """Return the names of the projects that this machine knows, by their hashes."""
        from reread.dataset.figures import RowMask as Hashes

        if not self.settings.key:
            return {}
        hashes = Hashes(TeamSettings(name="-", person="-", key=self.settings.key))
        return {hashes.project(name): name for name in self.settings.projects}


class _MachineRow(msgspec.Struct, frozen=True):
    """The figures of a machine in a group and a week."""

    period: str | None
    machine: str
    person: str
    group: Group
    figures: Sums


_SUMS = {
    "failed": "sum(calls) FILTER (state = 'failed')",
    "denied": "sum(calls) FILTER (state = 'denied')",
    "interrupted": "sum(calls) FILTER (state = 'interrupted')",
}


def _quoted(name: str) -> str:
    return f'"{name}"'


def _protected(
    rows: Sequence[_MachineRow],
    span: tuple[date | None, date | None],
    by: tuple[str, ...],
    figures: tuple[str, ...],
    shown_alone: frozenset[str],
    refused: dict[str, list[str]],
    labels: Mapping[str, str],
) -> TeamReport:
    """Return a report in which no group is of too few people, of the periods that lie within the span."""
    weeks: dict[str | None, set[str]] = {}
    for row in rows:
        weeks.setdefault(row.period, set()).add(row.person)
    periods = join_periods(weeks, shown_alone, bounded=span != (None, None))
    periods = [period for period in periods if all(_is_within(week, span) for week in period)]
    place = {week: number for number, period in enumerate(periods) for week in period}
    left_out = sum(_is_within(week, span) for week in weeks.keys() - place.keys())
    rows = [row for row in rows if row.period in place]
    days = sorted(week for week in place if week is not None)
    since, until = (days[0], _last_day(days[-1])) if days else (None, None)
    made = (len({row.person for row in rows}), len({row.machine for row in rows}), since, until)
    if not periods:
        return TeamReport(by, [], {}, *made, bool(left_out), left_out, refused)
    at = by.index(WEEK) if WEEK in by else None
    groups: list[dict[Group, dict[str, Sums]]] = [{} for _ in periods]
    for row in rows:
        number = place[row.period]
        group = row.group if at is None else (*row.group[:at], _period_name(periods[number]), *row.group[at + 1 :])
        mine = groups[number].setdefault(group, {})
        mine[row.person] = _plus(mine.get(row.person), row.figures)
    cells = [cell for number, found in enumerate(groups) for cell in merge_groups(number, found, shown_alone)]
    merged_away = _merged_groups(groups, cells)
    totals: dict[Group, tuple[Sums, frozenset[str]]] = {}
    for cell in cells:
        group = cell.group if cell.group is not None else _others(by, at, periods[cell.period])
        before = totals.get(group, (None, frozenset[str]()))
        totals[group] = (_plus(before[0], cell.figures), before[1] | cell.people)
    shown = [
        TeamRow(
            {
                name: labels.get(value or "", value) if name == "project" else value
                for name, value in zip(by, group, strict=True)
            },
            dict(zip(figures, values, strict=True)),
            len(found),
            group in merged_away,
        )
        for group, (values, found) in sorted(totals.items(), key=lambda item: [(v == OTHERS, v or "") for v in item[0]])
    ]
    total = _plus(None, *(row.figures for row in rows))
    sums = dict(zip(figures, total, strict=True))
    return TeamReport(by, shown if by else [], sums, *made, False, left_out, refused)


def _merged_groups(groups: Sequence[Mapping[Group, Any]], cells: Iterable[Cell]) -> set[Group]:
    """Return the groups of which some week is among the others."""
    shown = {(cell.period, cell.group) for cell in cells}
    return {group for number, found in enumerate(groups) for group in found if (number, group) not in shown}


def _others(by: tuple[str, ...], at: int | None, period: tuple[str | None, ...]) -> Group:
    return tuple(_period_name(period) if number == at else OTHERS for number in range(len(by)))


def _plus(*figures: Sums | None) -> Sums:
    return tuple(map(sum, zip(*(one for one in figures if one is not None), strict=True)))


def _period_name(period: tuple[str | None, ...]) -> str | None:
    """Return the first day of a week, or the first and the last of several."""
    days = [week for week in period if week is not None]
    if len(days) <= 1:
        return days[0] if days else None
    return f"{days[0]} to {_last_day(days[-1])}"


def _last_day(week: str) -> str:
    try:
        return (date.fromisoformat(week) + timedelta(days=6)).isoformat()
    except (ValueError, OverflowError):
        return week


def _weeks(since: TimeLike | None, until: TimeLike | None, zone: tzinfo | None) -> tuple[date | None, date | None]:
    """Return the first day of the first week and the last day of the last one."""
    first, last = parse_period_ms(since, until, zone)
    start = datetime.fromtimestamp(first / 1000, UTC).astimezone(zone).date() if first is not None else None
    end = datetime.fromtimestamp((last - 1) / 1000, UTC).astimezone(zone).date() if last is not None else None
    if start is not None:
        start -= timedelta(days=start.weekday())
    if end is not None:
        end = end + timedelta(days=6 - end.weekday()) if end < LAST else None
    return start, end


def _whole_quarters(first: date | None, last: date | None) -> tuple[date | None, date | None]:
    """Return the first day of the quarter in which a period begins, and the last of that in which it ends.

    Which weeks are joined is decided by all weeks of a quarter: else two periods could differ by one person's week.
    """
    begins = quarter_of(first.isoformat()) if first is not None else ""
    ends = quarter_of((last - timedelta(days=6)).isoformat()) if last is not None else ""
    return (
        quarter_days(begins)[0] if is_quarter(begins) else None,
        quarter_days(ends)[1] if is_quarter(ends) else None,
    )


def _is_within(week: str | None, span: tuple[date | None, date | None]) -> bool:
    first, last = span
    if week is None:
        return span == (None, None)
    return (first is None or week >= first.isoformat()) and (last is None or week <= last.isoformat())


def _is_near(month: str | None, first: date | None, last: date | None) -> bool:
    """True if a month in UTC may have something of a period in any time zone."""
    if month is None:
        return first is None and last is None
    after = first is None or month >= f"{first - timedelta(days=1):%Y-%m}"
    return after and (last is None or month <= f"{last + timedelta(days=1):%Y-%m}")
