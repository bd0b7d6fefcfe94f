"""Reports on a team from the tables that its machines wrote: usage, statistics, cache breaks and budgets, by group.

They have the figures that reports on one machine declare, in the same form. Days, weeks and months are those of UTC,
for everybody: two clocks would tell what one person did between them. pyarrow and DuckDB are imported when a report is
asked for: this module has a public name, which must be there without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack

from reread.accounting.billing import PICOS_PER_DOLLAR, UNKNOWN
from reread.addons.team.small_groups import (
    OTHERS,
    Atom,
    FigureBlock,
    FigureBlocks,
    Group,
    Period,
    Span,
    first_monday,
    is_quarter,
    quarter_of,
)
from reread.addons.team.values import TeamDigest, Writer
from reread.base.optional_dependencies import require
from reread.base.scope_options import SPANS
from reread.base.text import split_names
from reread.base.times import TimeLike, parse_period_ms, parse_time_zone
from reread.catalog.team_settings import TeamSettings, team_settings
from reread.dataset.chain import ChainFinding, check_chain
from reread.dataset.report import Progress
from reread.dataset.table_files import table_files
from reread.errors import Misuse
from reread.facts.scope import FILTERS, ScopeOptions, Test
from reread.reports.budget_report import BudgetState, budget_state, stored_budgets
from reread.reports.cache_report import break_figures
from reread.reports.report import Report, ReportColumn, Row
from reread.reports.tally import Figures, Money, total_of
from reread.reports.usage_report import OPTIONAL, REPORTED, usage_figures

if TYPE_CHECKING:
    from reread.addons.team.sums import ReportKind

WEEK, TEAM = "week", "team"
OWNERS = ("person", "machine", TEAM)
PEOPLE = ReportColumn("people", "People", short="people")
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
    """The figures of a team; each report takes the newest that its machines have written.

    Reports are those of one machine. A row has also how many `people` it is about, and is `partial` if the group had
    too few people in some weeks: that part is in the row of the others. Weeks are counted whole: the ones in which
    `since` and `until` lie are included. `person`, `machine` and what one can group by choose among what is shown.
    """

    def __init__(self, bucket: str | Path) -> None:
        from reread.addons.team.sums import TeamSums
        from reread.addons.team.writers import Writers

        self.settings: TeamSettings = team_settings()
        self._writers = Writers(table_files(bucket))
        self._sums = TeamSums(self._writers, self.settings.key)
        self._known = -1
        self._blocks: dict[str, FigureBlocks] = {}
        """What was made of what the machines have written last, by the name of its kind."""
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

    def usage(self, *, by: str | Sequence[str] = WEEK, **options: Unpack[ScopeOptions]) -> Report:
        """Return tokens and cost, each response counted once, by week, person, machine, team, project or model."""
        from reread.addons.team.sums import USAGE

        return self._report(USAGE, by, options, _usage_figures)

    def cache_breaks(self, *, by: str | Sequence[str] = "cause", **options: Unpack[ScopeOptions]) -> Report:
        """Return what had to be written to the cache again, by cause or by what `usage` is grouped by."""
        from reread.addons.team.sums import CACHE

        used = self.usage(by=(), **options).totals
        written = used.cache_write_5m_tokens + used.cache_write_1h_tokens if used else 0
        report = self._report(CACHE, by, options, lambda found: break_figures(found, written))
        report.about["cache_write_tokens"] = written
        return report

    def stats(self, *, by: str | Sequence[str] = "tool", **options: Unpack[ScopeOptions]) -> Report:
        """Return calls and failures, by tool, failure, state, project, model, week, person, machine or team."""
        from reread.addons.team.sums import STATS

        return self._report(STATS, by, options)

    def sessions(self, *, by: str | Sequence[str] = WEEK, **options: Unpack[ScopeOptions]) -> Report:
        """Return sessions and turns, by week, person, machine, team, project or model."""
        from reread.addons.team.sums import BEGUN

        return self._report(BEGUN, by, options)

    def quarters(self) -> list[str]:
        """Return the quarters that have figures, such as `2026-Q4`, newest first."""
        from reread.addons.team.sums import USAGE

        with self._lock:
            self._refresh()
            months = self._sums.months(USAGE)
        return sorted(filter(is_quarter, {quarter_of(month) for month in months if month}), reverse=True)

    def budgets(self, *, now: datetime | None = None) -> list[BudgetState]:
        """Return the budgets for teams that are set on this machine, and how much of each is spent.

        A month has the weeks that begin in it. Budgets for a day are left out, and those of a team with too few people.
        """
        from reread.addons.team.sums import USAGE

        clock = now or datetime.now(UTC)
        today = clock.astimezone(UTC).date()
        found: list[BudgetState] = []
        for budget in stored_budgets():
            if budget.team is None or budget.per not in _BUDGET_WEEKS:
                continue
            first, end = _BUDGET_WEEKS[budget.per](today - timedelta(days=today.weekday()))
            span = {"since": first.isoformat(), "until": (end - timedelta(days=1)).isoformat()}
            used = self._report(USAGE, (), {**span, TEAM: budget.team}, _usage_figures)
            if used.totals:
                is_part = used.partial or used.weeks_left_out or used.totals.unpriced_models
                spent = Row({}, {"cost_usd": used.totals.cost_usd, "lower_bound": bool(is_part)})
                start, stop = (datetime.combine(day, time(), UTC) for day in (first, end))
                found.append(budget_state(budget, start, stop, spent, clock))
        return found

    def digest(self, *, week: date | None = None, now: datetime | None = None) -> TeamDigest:
        """Return the figures of the week in which a day lies, by default the last whole one, and the budgets."""
        clock = now or datetime.now(UTC)
        day = week or clock.astimezone(UTC).date() - timedelta(days=7)
        first = day - timedelta(days=day.weekday())
        earlier, since, until = ((first + timedelta(days=number)).isoformat() for number in (-7, 0, 6))
        # a report is of whole weeks, so each is named by its Monday
        before: ScopeOptions = {"since": earlier, "until": earlier}
        span: ScopeOptions = {"since": since, "until": until}
        tables = {
            "By project": self.usage(by="project", **span),
            "By model": self.usage(by="model", **span),
            "By team": self.usage(by="team", **span),
            "Written to the cache again": self.cache_breaks(by="cause", **span),
            "Failures": self.stats(by="failure", **span),
        }
        totals, compared = self.usage(by=(), **span), self.usage(by=(), **before)
        return TeamDigest(since, until, totals, compared, tables, self.budgets(now=clock))

    def _report(
        self,
        kind: ReportKind,
        by: str | Sequence[str],
        options: Mapping[str, Any],
        figures: Callable[[Figures], Figures] = dict,
    ) -> Report:
        """Return what may be shown of what is asked for; `figures` makes those of a report from what was summed."""
        groups, known = tuple(dict.fromkeys(split_names(by))), (WEEK, *OWNERS, *kind.columns)
        wrong = [name for name in groups if name not in known]
        if wrong:
            raise Misuse(
                f"Cannot group a team by {wrong[0]!r}; use {', '.join(known)}, or several of them with commas."
            )
        tz = options.get("tz")
        if tz is not None and parse_time_zone(tz) != UTC:
            raise Misuse(f"Cannot report on a team in the time zone {tz}: its days and weeks are those of UTC.")
        with self._lock:
            self._refresh()
            labels = self._labels()
            tests = _tests(known[1:], options, labels)
            blocks, left_out = self._blocks_of(kind).within(_weeks(options.get("since"), options.get("until")))
            refused = dict(self._writers.refused)
        return _made(kind, groups, tests, blocks, labels, figures, {"weeks_left_out": left_out, "refused": refused})

    def _refresh(self) -> None:
        self._writers.refresh()
        if self._known != self._writers.changes:
            self._known = self._writers.changes
            self._blocks.clear()

    def _blocks_of(self, kind: ReportKind) -> FigureBlocks:
        """Return what may be shown of a kind of figures; a week belongs to the quarter of its Monday."""
        if kind.name not in self._blocks:
            months = self._sums.months(kind)

            def atoms_of(quarter: str) -> list[Atom]:
                own = [month for month in months if quarter in _quarters_of(month)]
                atoms = (atom for month in own for atom in self._sums.atoms(kind, month))
                return [atom for atom in atoms if quarter_of(atom.week) == quarter]

            quarters = sorted({quarter for month in months for quarter in _quarters_of(month)})
            self._blocks[kind.name] = FigureBlocks(quarters, atoms_of, self._writers.shown_alone)
        return self._blocks[kind.name]

    def _labels(self) -> dict[str, str]:
        """Return the names of the projects that this machine knows, by their hashes."""
        from reread.dataset.figures import RowMask

        if not self.settings.key:
            return {}
        hashes = RowMask(TeamSettings(name="-", person="-", key=self.settings.key))
        return {hashes.project(name): name for name in self.settings.projects}


_BUDGET_WEEKS: dict[str, Callable[[date], tuple[date, date]]] = {
    "week": lambda monday: (monday, monday + timedelta(days=7)),
    "month": lambda monday: (
        first_monday(monday.replace(day=1)),
        first_monday((monday.replace(day=1) + timedelta(days=32)).replace(day=1)),
    ),
}
"""The first day of the current period of a budget, and the day after it, from the Monday of this week."""


def _usage_figures(found: Figures) -> Figures:
    return {**usage_figures(found), "disputed": found.get("disputed") or 0}


def _tests(known: Sequence[str], options: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Test]:
    """Return what chooses blocks, by column; raise Misuse if a team's figures have nothing that would tell."""
    tests: dict[str, Test] = {}
    for name, wanted in options.items():
        if name in SPANS or not wanted:
            continue
        if name not in known:
            raise Misuse(f"Cannot choose figures of a team by {name}; use since, until, {', '.join(known)}.")
        test = FILTERS[name].test(wanted) if name in FILTERS and name not in OWNERS else _is_named(wanted)
        if test is not None:
            tests[name] = (lambda value, test=test: test(labels.get(value, value))) if name == "project" else test
    return tests


def _is_named(wanted: Any) -> Test:
    patterns = split_names(wanted)
    return lambda value: any(fnmatchcase(value or "", pattern) for pattern in patterns)


def _made(
    kind: ReportKind,
    by: tuple[str, ...],
    tests: Mapping[str, Test],
    blocks: Sequence[FigureBlock],
    labels: Mapping[str, str],
    figures: Callable[[Figures], Figures],
    about: dict[str, Any],
) -> Report:
    """Return blocks as a report: a row has those that are called alike in the columns that are asked for."""
    names = (WEEK, *OWNERS, *kind.columns)
    places, checks = [names.index(name) for name in by], [(names.index(name), test) for name, test in tests.items()]
    rows: dict[Group, list[FigureBlock]] = {}
    merged: set[Group] = set()
    is_part = False
    for block in blocks:
        week = _period_name(block.period)
        own, *others = (
            tuple(values[place] for place in places) if all(test(values[place]) for place, test in checks) else None
            for values in ((week, *group) for group in (block.group, *block.merged))
        )
        if own is not None:
            rows.setdefault(own, []).append(block)
        found = {group for group in others if group is not None}
        merged |= found - {own}
        is_part |= own is None and bool(found)
    chosen = [block for own in rows.values() for block in own]
    shown = [
        Row(
            {
                name: labels.get(value or "", value) if name == "project" else value
                for name, value in zip(by, group, strict=True)
            },
            {**_figures(kind, own, figures), "partial": group in merged},
        )
        for group, own in sorted(rows.items(), key=lambda item: [(v == OTHERS, v or "") for v in item[0]])
    ]
    totals = _figures(kind, chosen, figures) if chosen else {}
    days = sorted(week for block in chosen for week in block.period if week is not None)
    about |= {
        "since": days[0] if days else None,
        "until": _last_day(days[-1]) if days else None,
        "withheld": bool(about["weeks_left_out"]) and not blocks,
        "partial": is_part,
    }
    columns = [PEOPLE, *kind.shown]
    if totals.get(REPORTED.name) is None:
        columns = [column for column in columns if column is not REPORTED]
    made = Report(kind.name, by, shown if by else [], Row({}, totals), about=about, columns=columns, optional=OPTIONAL)
    made.notes = ()
    return made


def _figures(kind: ReportKind, blocks: Sequence[FigureBlock], figures: Callable[[Figures], Figures]) -> Figures:
    """Return the figures of blocks, as a report has them, and how many people and machines they are about."""
    found = total_of(block.figures for block in blocks)
    if kind.measure.cost:
        money = found[kind.measure.cost] = Money()
        money.picos = found.pop("usd") * PICOS_PER_DOLLAR
        money.is_priced = found.pop("priced") > 0
        money.unpriced = {block.group[-1] or UNKNOWN for block in blocks if block.figures["unpriced"]}
    people = frozenset[str]().union(*(block.people for block in blocks))
    machines = frozenset[str]().union(*(block.machines for block in blocks))
    return {"people": len(people), "machines": len(machines), **figures(found)}


def _period_name(period: Period) -> str | None:
    """Return the first day of a week, or the first and the last of several; what is left of quarters has no name."""
    days = [week for week in period if week is not None]
    if len({quarter_of(week) for week in period}) > 1:
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


def _quarters_of(month: str | None) -> set[str]:
    """Return the quarters in which the weeks of a month begin."""
    if month is None:
        return {""}
    earlier = 12 * int(month[:4]) + int(month[5:]) - 2
    return {quarter_of(month), quarter_of(f"{earlier // 12:04}-{earlier % 12 + 1:02}")}
