"""Check many files together, each once, and add up what they hold."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.base.text import plural
from reread.catalog.headers import read_header
from reread.catalog.resolve import STDIN, resolve_session
from reread.disk import layout
from reread.disk.agent_files import agent_files, first_envelope
from reread.disk.sources import FileSource, own_source
from reread.errors import RereadError, Unreadable, naming_file
from reread.model.conversation import Agent, Conversation
from reread.model.ledger import FATES
from reread.session import session
from reread.session.checked_file import CheckedRecord, FileTally, printable
from reread.session.finding import ERROR, INFO, WARNING, Finding, Rule, state_findings
from reread.session.loader import Loader
from reread.session.rules import DRIFT_RULES, check_file
from reread.session.session import Session, threads_of
from reread.session.threads import load_agent

Progress = Callable[[Path], None]

RULES = (
    Rule("unreadable-file", ERROR, "A file could not be read."),
    Rule("link-outside", WARNING, "A link leads out of the folder and was not followed."),
    Rule("unlinked-agent", INFO, "No call is known to have started an agent."),
    Rule("copied-records", INFO, "Records of another file stand in this one as well."),
)
"""Rules that need several files."""

_NEVER = datetime.max.replace(tzinfo=UTC)


class FileReport(msgspec.Struct):
    """The findings of one file."""

    path: str
    dialects: list[str]
    lines: int
    records: int
    fates: dict[str, int]
    """How many records met each fate; the sum is the number of records."""
    findings: list[Finding]


class Totals(msgspec.Struct):
    """The sums over all files."""

    files: int
    lines: int
    records: int
    fates: dict[str, int]
    errors: int
    warnings: int
    infos: int
    types: dict[str, int]
    tools: dict[str, int]
    unknown_types: dict[str, int]
    unknown_fields: dict[str, int]
    changed_types: dict[str, int]


class CheckReport(msgspec.Struct):
    """The result of `reread check`."""

    files: list[FileReport]
    totals: Totals


class Item(NamedTuple):
    """A file to check."""

    path: Path
    named: bool
    """True if it was named, and not found in a folder."""

    @property
    def is_agent(self) -> bool:
        """True if it is an agent's own file."""
        return self.path.name.startswith(layout.AGENT_PREFIX)


def check_report(
    paths: Sequence[str | Path],
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Check files, folders and sessions: each session's own file first, then its agents', each file once."""
    outside: list[str] = []
    items = list(_items(paths, root, outside))
    mains = [item for item in items if not item.is_agent]
    rest = [item for item in items if item.is_agent]
    work = _Work(progress, root)
    reports = {item.path: work.check(item) for item in [*sorted(mains, key=_age), *rest]}
    work.tell_copies()
    files = [file for item in [*mains, *rest] for file in reports[item.path]]
    files += [_without_records(link, Finding("link-outside", WARNING, 0, layout.link_note(link))) for link in outside]
    return CheckReport(files, _totals(files, work.tallies))


def drift_report(report: CheckReport) -> CheckReport:
    """Return the part of a report that says what differs from the known types."""
    files: list[FileReport] = []
    for file in report.files:
        findings = [finding for finding in file.findings if finding.code in DRIFT_RULES]
        files += [msgspec.structs.replace(file, findings=findings)] if findings else []
    levels = Counter(finding.level for file in files for finding in file.findings)
    errors, warnings, infos = levels[ERROR], levels[WARNING], levels[INFO]
    return CheckReport(files, msgspec.structs.replace(report.totals, errors=errors, warnings=warnings, infos=infos))


def _items(
    paths: Sequence[str | Path], root: str | Path | Sequence[str | Path] | None, outside: list[str]
) -> Iterator[Item]:
    """Yield the files to check; links that are not followed are added to `outside`."""
    done: set[str] = set()
    for name in paths:
        path = layout.expand_path(name)
        is_folder = str(name) != STDIN and os.path.isdir(path)
        found = layout.transcripts_in(layout.require_folder(path), outside) if is_folder else [_find(name, root)]
        for file in found:
            real = os.path.realpath(file)
            if real not in done:
                done.add(real)
                yield Item(file, not is_folder)


def _without_records(path: str, finding: Finding) -> FileReport:
    return FileReport(path, [], 0, 0, {}, [finding])


def _find(name: str | Path, root: str | Path | Sequence[str | Path] | None) -> Path:
    return Path(STDIN) if str(name) == STDIN else resolve_session(name, root=root)


def _age(item: Item) -> tuple[datetime, bool, datetime]:
    """Return when a file was started and last written: of two that share records, the older is the original."""
    try:
        header = read_header(item.path)
    except RereadError:
        return _NEVER, True, _NEVER
    head = first_envelope(item.path)
    is_fork = head is not None and bool(head.forkedFrom)
    return header.started or _NEVER, is_fork, header.updated or _NEVER


class _Work:
    """Checks files one after the other, and reports shared records at the end."""

    def __init__(self, progress: Progress | None, root: str | Path | Sequence[str | Path] | None) -> None:
        self._root = root
        self.tallies: list[FileTally] = []
        self._progress = progress
        self._done: set[str] = set()
        self._files: list[FileReport] = []
        self._copies = _Copies()

    def check(self, item: Item) -> list[FileReport]:
        """Check a session's own file and those of its agents; empty if they are done already."""
        if not self._begin(item.path):
            return []
        try:
            with naming_file(item.path):
                whole = session.open(STDIN if item.path == Path(STDIN) else item.path, root=self._root)
                opened = _alone(whole)
                main = threads_of(opened).loader
        except (RereadError, OSError) as error:
            if not item.named or _is_fault(error):
                return [self._unreadable(item.path, error)]
            if isinstance(error, RereadError):
                raise
            raise Unreadable(f"{item.path}: {error}; check the file", path=str(item.path)) from error
        agents, failed = self._read_agents(opened)
        family = [main, *agents.values()]
        judged = [self._judge(loader, family, opened) for loader in family]
        return [*judged, *failed]

    def _begin(self, path: Path) -> bool:
        real = os.path.realpath(path)
        if real in self._done:
            return False
        self._done.add(real)
        if self._progress is not None:
            self._progress(path)
        return True

    def _read_agents(self, opened: Session) -> tuple[dict[str, Loader], list[FileReport]]:
        """Load the agents' own files that are not done yet; the session does without those that cannot be read."""
        agents: dict[str, Loader] = {}
        failed: list[FileReport] = []
        paths = agent_files(opened.path, [*opened.ids, opened.path.stem]) if opened.path else {}
        for id, path in sorted(paths.items(), key=lambda pair: pair[1]):
            if self._begin(path):
                try:
                    with naming_file(path):
                        agents[id] = load_agent(id, path).alone()
                except (RereadError, OSError) as error:
                    failed.append(self._unreadable(path, error))
        threads_of(opened).set_agents(agents)
        return agents, failed

    def _unreadable(self, path: Path, error: Exception) -> FileReport:
        return _without_records(str(path), Finding("unreadable-file", ERROR, 0, printable(str(error))))

    def _judge(self, loader: Loader, family: Sequence[Loader], opened: Session) -> FileReport:
        """Check one file; that this fails is a finding, and a fault of reread."""
        path = loader.source.path or STDIN
        try:
            with naming_file(path):
                return self._check_loaded(loader, family, opened)
        except (RereadError, OSError) as error:
            return self._unreadable(Path(path), error)

    def _check_loaded(self, loader: Loader, family: Sequence[Loader], opened: Session) -> FileReport:
        conversation, agents = loader.conversation, opened.agents
        number = len(self._files)
        kin = [other.conversation for other in family if other is not loader]
        found = check_file(
            conversation, loader.lines, relatives=kin, visit=lambda seen: self._copies.note(number, seen)
        )
        self.tallies.append(found.tally)
        file = FileReport(
            path=str(loader.source.path or STDIN),
            dialects=list(found.tally.dialects),
            lines=len(loader.lines),
            records=len(conversation.records),
            fates=conversation.ledger.fates,
            findings=found.findings,
        )
        self._files.append(file)
        _add(file, list(_strays(conversation, agents)))
        if loader.source.path is not None:
            _add(file, list(state_findings(FileSource(loader.source.path).joined)))
        if loader is family[0]:
            _add(file, threads_of(opened).disagreements)
        return file

    def tell_copies(self) -> None:
        """Report for each file which records an older one has too."""
        for (number, home, how), (line, count) in self._copies.found.items():
            path = printable(self._files[home].path)
            text = f"from here on {plural(count, 'record')} of {path}, by {how}"
            _add(self._files[number], [Finding("copied-records", INFO, line, text)])


class _Copies:
    """The file in which each record and each response came first."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int, str], tuple[int, int]] = {}
        """For a file, the one it copies from and what: the first line, and how many records."""
        self._records: dict[str, dict[str, int]] = {}
        self._responses: dict[str, int] = {}

    def note(self, number: int, seen: CheckedRecord) -> None:
        """Add a record of a file."""
        head = seen.envelope
        if head.uuid is not None:
            home = self._records.setdefault(head.type, {}).setdefault(head.uuid, number)
            if home != number:
                self._count(number, home, "uuid", seen.line)
                return
        id = head.message.id if head.message is not None and head.type == "assistant" else None
        if id is not None:
            home = self._responses.setdefault(id, number)
            if home != number:
                self._count(number, home, "message id", seen.line)

    def _count(self, number: int, home: int, how: str, line: int) -> None:
        first, count = self.found.get((number, home, how), (line, 0))
        self.found[number, home, how] = first, count + 1


def _alone(whole: Session) -> Session:
    """Return a session as its file alone is: rules are about the lines of one file, not about earlier states of it."""
    threads = threads_of(whole)
    source = own_source(threads.source)
    return whole if source is threads.source else Session(source, roots=threads.roots)


def _is_fault(error: Exception) -> bool:
    """True if content made reading fail."""
    return isinstance(error, Unreadable) and not isinstance(error.__cause__, OSError | None)


def _strays(conversation: Conversation, agents: Mapping[str, Agent]) -> Iterator[Finding]:
    """Find the agents of one file that no known call started."""
    here = [*conversation.inline_agents.values(), *([conversation] if isinstance(conversation, Agent) else [])]
    for agent in here:
        if agents.get(agent.id) is agent and agent.call is None and not agent.warmup and len(agent.records):
            text = f"no call is known to have started agent {printable(agent.id)}"
            yield Finding("unlinked-agent", INFO, agent.records.line(0), text)


def _add(file: FileReport, findings: Sequence[Finding]) -> None:
    file.findings.extend(findings)
    file.findings.sort(key=lambda finding: finding.line)


def _totals(files: Sequence[FileReport], tallies: Sequence[FileTally]) -> Totals:
    fates = sum((Counter(file.fates) for file in files), Counter[str]())
    levels = Counter(finding.level for file in files for finding in file.findings)
    return Totals(
        files=len(files),
        lines=sum(file.lines for file in files),
        records=sum(file.records for file in files),
        fates={fate: fates[fate] for fate in FATES if fates[fate]},
        errors=levels[ERROR],
        warnings=levels[WARNING],
        infos=levels[INFO],
        types=_sum([tally.types for tally in tallies]),
        tools=_sum([tally.tools for tally in tallies]),
        unknown_types=_sum([tally.unknown_types for tally in tallies]),
        unknown_fields=_sum([tally.unknown_fields for tally in tallies]),
        changed_types=_sum([tally.changed_types for tally in tallies]),
    )


def _sum(counts: Sequence[Counter[str]]) -> dict[str, int]:
    """Add up counts, the most frequent first."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total.most_common())
