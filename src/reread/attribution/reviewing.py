"""Review commits: find the turns that made them, by the commits that sessions record, by lines, notes and time."""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from reread.accounting.billing import sum_known
from reread.attribution.commit_lines import (
    CommandLine,
    CommitLines,
    CommittedFile,
    LineSource,
    Sources,
    committed_text,
)
from reread.attribution.project_traces import ProjectTraces, other_roots
from reread.attribution.review_values import (
    EVIDENCE,
    GUESSED_EVIDENCE,
    LINES,
    NOTE,
    RECORDED,
    REWRITTEN,
    TIME,
    TRAILER,
    Review,
    ReviewCommit,
    ReviewFile,
    ReviewLines,
    ReviewPart,
    ReviewTurn,
)
from reread.attribution.session_trail import SessionTrail, TrailTurn, read_trails
from reread.base.paths import comparable_path, is_below, path_name
from reread.base.text import cut_words
from reread.base.times import parse_json_time
from reread.errors import Misuse, NotFound
from reread.facts.derive import LONGEST_PROMPT
from reread.facts.scope import Scope
from reread.facts.sessions import Progress, open_sessions
from reread.facts.store import FactStore, answered
from reread.git.notes import CommitNote, read_notes
from reread.git.repository import MOST_COMMITS, FileLines, GitCommit, Repository
from reread.history.blame_lines import NO_LINES
from reread.reports.file_index import FileIndex

SAME_TIME_MS = 120_000
"""A commit that a session made, and one of the same subject that was authored at most so long before, are the same."""
AFTER_TURN_MS = 600_000
"""A commit at most so long after a turn may be of it."""
MOST_BETWEEN = 50
"""Turns of a session between those that wrote lines, which are shown too."""
BATCH = 64 << 20
"""So many bytes of files are looked at together."""
Key = tuple[str, int | None]
"""The id of a session, and a turn."""
Trails = Mapping[str, SessionTrail]
"""Those of all sessions, by their files."""


def find_review(
    which: str | None = None,
    *,
    pr: int | None = None,
    commits: Sequence[str] = (),
    repository: str | os.PathLike[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    most: int = MOST_COMMITS,
    progress: Progress | None = None,
    sessions: list[str] | None = None,
) -> Review:
    """Return the review of a range `A..B`, a commit, a branch, a pull request or some commits, with all texts.

    The files of the sessions behind it go to `sessions`.
    """
    if (which is not None) + (pr is not None) + bool(commits) > 1:
        raise Misuse("Name one: a commit, a range such as main..HEAD, a branch, or a pull request with --pr.")
    opened = Repository(repository if repository is not None else ".")
    if which is None and pr is None and not commits:
        which = ""

    def ask(store: FactStore) -> Review:
        unread: list[str] = []
        scope = Scope(root=root)
        files = open_sessions(store, scope.sessions(), files=scope.inputs(), progress=progress, unread=unread)
        trails, index = read_trails(store, scope, files), FileIndex(store, files)
        if commits:
            chosen = opened.known_commits(commits)
            if not chosen:
                raise NotFound(f"No commit {', '.join(commits)} in {opened.top}; it may have been rebased or squashed.")
            first, last = None, chosen[-1].sha
        else:
            first, last, chosen = _chosen(opened, which, pr, trails, most)
        branch = opened.branch_of(which.rpartition("..")[2].removeprefix(".") or "HEAD") if which is not None else None
        found = _Reviewer(opened, trails, index, chosen).review(first, last, branch, unread)
        if sessions is not None:
            used = {turn.session for turn in found.turns}
            sessions[:] = (path for path, trail in trails.items() if trail.id in used)
        return found

    return answered(ask)


def _chosen(
    repository: Repository, which: str | None, pr: int | None, trails: Trails, most: int
) -> tuple[str | None, str, list[GitCommit]]:
    """Return the first and last commit that are reviewed, and all of them."""
    if which is not None:
        found = repository.range_of(which)
        return found.first, found.last, repository.commits(*found, most=most)
    for name in (f"refs/pull/{pr}/head", f"refs/remotes/origin/pr/{pr}", f"refs/remotes/origin/pull/{pr}"):
        head = repository.sha_of(name)
        if head is not None:
            first = repository.default_base(head)
            return first, head, repository.commits(first, head, most=most)
    worked = [trail for trail in trails.values() if any(pull.number == pr for pull in trail.pulls)]
    worked = [trail for trail in worked if _is_of(trail, repository)]  # others have pull requests of this number, too
    branches = [commit.branch for trail in worked for commit in trail.commits if commit.branch]
    for branch in dict.fromkeys([*reversed(branches), *(name for trail in worked for name in trail.branches)]):
        head = repository.sha_of(f"refs/heads/{branch}") or repository.sha_of(f"refs/remotes/origin/{branch}")
        with suppress(Misuse):
            if head is not None:
                first = repository.default_base(head)
                return first, head, repository.commits(first, head, most=most)
    made = repository.known_commits(commit.sha for trail in worked for commit in trail.commits)
    if made:
        ordered = sorted(made, key=lambda commit: commit.authored)
        return None, ordered[-1].sha, ordered
    raise NotFound(
        f"No pull request {pr} here: fetch it with `git fetch origin pull/{pr}/head:refs/pull/{pr}/head`, "
        "or name its branch."
    )


def _is_of(trail: SessionTrail, repository: Repository) -> bool:
    """True if a session worked in a repository, or made a commit that it has."""
    folders = (os.path.realpath(repository.top), str(repository.top), *repository.work_trees())
    return any(is_below(trail.project, folder) for folder in folders) or bool(
        repository.known_commits(commit.sha for commit in trail.commits)
    )


class _Reviewer:
    def __init__(self, repository: Repository, trails: Trails, index: FileIndex, commits: Sequence[GitCommit]) -> None:
        self._repository = repository
        self._trails = trails
        self._commits = commits
        self._added: dict[str, list[FileLines]] = dict(repository.added_lines(commits))
        self._recorded = self._find_recorded()
        roots = [str(repository.top), os.path.realpath(repository.top), *repository.work_trees()]
        made = ((path, [file.path for file in self._added.get(sha, ())]) for sha, path, _ in self._recorded_files())
        self._traces = ProjectTraces(index, [*roots, *other_roots(index, made)])
        self._notes: dict[str, CommitNote] = read_notes(repository, [commit.sha for commit in commits])
        self._noted_prompts: dict[Key, str] = {}
        self._ids = {path: trail.id for path, trail in self._trails.items()}

    def _find_recorded(self) -> dict[str, list[tuple[str, int, str]]]:
        """Return the sessions, turns and evidence of commits that sessions made, by sha."""
        by_head = {commit.sha[:7]: commit for commit in self._commits}
        by_subject: dict[str, list[GitCommit]] = defaultdict(list)
        for commit in self._commits:
            by_subject[commit.subject].append(commit)
        found: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
        seen: dict[tuple[str, int], str] = {}
        """By hash and time of a commit, the session that made it; a fork has a copy of what it says."""
        for path, trail in sorted(self._trails.items()):
            for made in trail.commits:
                if seen.setdefault((made.sha, made.time), trail.id) != trail.id:
                    continue
                commit = by_head.get(made.sha[:7])
                if commit is not None and commit.sha.startswith(made.sha):
                    found[commit.sha].append((path, made.turn, RECORDED))
                    continue
                for other in by_subject.get(made.subject or "", ()):
                    if made.subject and 0 <= made.time + 1000 - other.authored * 1000 <= SAME_TIME_MS:
                        found[other.sha].append((path, made.turn, REWRITTEN))
        return found

    def _recorded_files(self) -> Iterator[tuple[str, str, int]]:
        for sha, makers in self._recorded.items():
            yield from ((sha, path, turn) for path, turn, _ in makers)

    def review(self, first: str | None, last: str, branch: str | None, unread: list[str]) -> Review:
        """Return the review."""
        lines: dict[str, list[ReviewFile]] = defaultdict(list)
        for one, sources in self._sources():
            lines[one.commit.sha].append(self._file(one, sources))
        commits = [self._commit(commit, lines.get(commit.sha, []), branch) for commit in self._commits]
        turns = self._turns(commits)
        return Review(
            repository=path_name(str(self._repository.top)),
            first=first,
            last=last,
            branch=branch,
            commits=commits,
            turns=turns,
            lines=sum(commit.lines for commit in commits),
            by_sessions=sum(commit.by_sessions for commit in commits),
            guessed=sum(commit.guessed for commit in commits),
            cost_usd=sum_known(turn.cost_usd for turn in turns),
            unread=unread,
        )

    # Lines

    def _sources(self) -> Iterator[tuple[CommittedFile, Sources]]:
        """Yield each file of each commit with the sources of its added lines; the commits of one file together."""
        renamed = {file.path: file.old_path for files in self._added.values() for file in files}
        renamed = {new: old for new, old in renamed.items() if new != old}
        finder = CommitLines(self._traces, lambda: self._commands, renamed)
        by_sha = {commit.sha: commit for commit in self._commits}
        named: dict[str, list[tuple[GitCommit, FileLines]]] = defaultdict(list)
        for sha, files in self._added.items():
            for file in files:
                named[file.path].append((by_sha[sha], file))
        sizes = self._repository.sizes(file.blob for files in self._added.values() for file in files)
        together: list[tuple[GitCommit, FileLines]] = []
        size = 0
        for one in (one for group in named.values() for one in group):
            together.append(one)
            size += sizes.get(one[1].blob, 0)
            if size > BATCH:
                yield from self._sources_of(together, finder)
                together, size = [], 0
        yield from self._sources_of(together, finder)

    def _sources_of(
        self, files: Sequence[tuple[GitCommit, FileLines]], finder: CommitLines
    ) -> Iterator[tuple[CommittedFile, Sources]]:
        texts = {blob: committed_text(data) for blob, data in self._repository.texts(file.blob for _, file in files)}
        yield from finder.sources([CommittedFile.of(commit, file, texts.get(file.blob, "")) for commit, file in files])

    @cached_property
    def _commands(self) -> Mapping[int, Sequence[CommandLine]]:
        """The lines of commands in sessions of this repository."""
        found: dict[int, list[CommandLine]] = defaultdict(list)
        sessions = {*self._traces.sessions, *(path for _, path, _ in self._recorded_files())}
        here = self._traces.relative
        for path, trail in self._trails.items():
            if path in sessions or here(f"{trail.project}/x") is not None:
                for turn in trail.turns:
                    numbers = array("Q")
                    numbers.frombytes(turn.written)
                    for number in numbers:
                        found[number].append(CommandLine(path, turn.number, turn.started))
        return found

    def _file(self, one: CommittedFile, sources: Sources) -> ReviewFile:
        numbers = [n for first, last in one.file.ranges for n in range(first, last + 1)]
        known: list[LineSource | None] = [*sources, *([None] * (len(numbers) - len(sources)))]
        noted = self._noted(one)
        out: list[ReviewLines] = []
        for number, source in zip(numbers, known, strict=True):
            line = self._line(number, source) if source is not None else noted(number)
            last = out[-1] if out else None
            if last is not None and last.last == number - 1 and _same(last, line):
                out[-1] = replace(last, last=number)
            else:
                out.append(line)
        old = one.file.old_path if one.file.old_path != one.file.path else None
        return ReviewFile(path=one.file.path, old_path=old, lines=out)

    def _line(self, number: int, source: LineSource) -> ReviewLines:
        session = self._ids.get(source.session) or path_name(source.session).removesuffix(".jsonl")
        return ReviewLines(
            first=number,
            last=number,
            session=session,
            turn=source.turn,
            evidence=source.evidence,
            guess=source.guess,
        )

    def _noted(self, one: CommittedFile) -> Callable[[int], ReviewLines]:
        """Return a function for lines that no session here explains: what a note says, or the commit's trailer."""
        note = self._notes.get(one.commit.sha)
        elsewhere = one.commit.session
        if elsewhere in self._ids.values():
            elsewhere = None

        def line(number: int) -> ReviewLines:
            found = note.line(one.file.path, number) if note is not None else None
            if found is not None:
                if found.prompt:
                    prompt = cut_words(found.prompt, LONGEST_PROMPT)
                    self._noted_prompts.setdefault((found.session, found.turn), prompt)
                return ReviewLines(
                    first=number, last=number, session=found.session, turn=found.turn, evidence=NOTE, guess=found.guess
                )
            if elsewhere is not None:
                return ReviewLines(first=number, last=number, session=elsewhere, evidence=TRAILER, guess=True)
            return ReviewLines(first=number, last=number)

        return line

    # Commits

    def _commit(self, commit: GitCommit, files: list[ReviewFile], branch: str | None) -> ReviewCommit:
        parts: dict[Key, tuple[int, int, set[str]]] = {}

        def add(key: Key, evidence: str, lines: int = 0, guessed: int = 0) -> None:
            before = parts.get(key, (0, 0, set[str]()))
            parts[key] = (before[0] + lines, before[1] + guessed, before[2] | {evidence})

        for file in files:
            for lines in file.lines:
                if lines.session is not None:
                    kind = lines.evidence if lines.evidence in (NOTE, TRAILER) else LINES
                    add((lines.session, lines.turn), kind or LINES, lines.count, lines.count if lines.guess else 0)
        for path, turn, evidence in self._recorded.get(commit.sha, ()):
            add((self._ids[path], turn), evidence)
        named = commit.session
        if named is not None and not any(session == named for session, _ in parts):
            add((named, None), TRAILER)
        if not parts and len(commit.parents) < 2:
            for key in self._by_time(commit, branch):
                add(key, TIME)
        total = sum(lines.count for file in files for lines in file.lines)
        return ReviewCommit(
            sha=commit.sha,
            subject=commit.subject,
            time=datetime.fromtimestamp(commit.authored, UTC),
            merge=len(commit.parents) > 1,
            lines=total,
            by_sessions=sum(lines for lines, _, _ in parts.values()),
            guessed=sum(guessed for _, guessed, _ in parts.values()),
            turns=[_part(key, *rest) for key, rest in sorted(parts.items(), key=lambda part: -part[1][0])],
            files=sorted(files, key=lambda file: file.path),
        )

    def _by_time(self, commit: GitCommit, branch: str | None) -> list[Key]:
        """Return the turn that was at work in this repository when a commit was made: the latest that began before."""
        time = commit.authored * 1000
        found: list[tuple[int, Key]] = []
        for trail in self._trails.values():
            if self._traces.relative(f"{trail.project}/x") is None:
                continue
            if branch is not None and trail.branches and branch not in trail.branches:
                continue
            for turn in trail.turns:
                if turn.started and turn.started <= time + 999 and time <= turn.ended + AFTER_TURN_MS:
                    found.append((turn.started, (trail.id, turn.number)))
        return [max(found)[1]] if found else []

    # Turns

    def _turns(self, commits: Sequence[ReviewCommit]) -> list[ReviewTurn]:
        linked: dict[Key, list[str]] = defaultdict(list)
        lines: dict[Key, int] = defaultdict(int)
        for commit in commits:
            for part in commit.turns:
                linked[part.session, part.turn].append(commit.sha)
                lines[part.session, part.turn] += part.lines
        trails = {trail.id: (path, trail) for path, trail in self._trails.items()}
        used = {session for session, _ in linked if session in trails}
        written, deleted = self._written({trails[session][0]: session for session in used})
        turns: list[ReviewTurn] = []
        for key in (*linked, *self._between(linked, trails)):
            known = trails.get(key[0])
            turn = next((one for one in known[1].turns if one.number == key[1]), None) if known is not None else None
            if turn is None:
                said = (
                    self._noted_prompts.get(key) if known is None else None
                )  # nobody speaks for a session that is here
                turns.append(
                    ReviewTurn(
                        session=key[0],
                        turn=key[1],
                        prompt=said,
                        noted=said is not None,
                        commits=linked[key],
                        lines=lines[key],
                    )
                )
            else:
                turns.append(_review_turn(key, turn, linked.get(key, []), lines[key], written[key], deleted[key]))
        return sorted(turns, key=lambda turn: (turn.started or datetime.fromtimestamp(0, UTC), turn.turn or 0))

    def _between(self, linked: Iterable[Key], trails: Mapping[str, tuple[str, SessionTrail]]) -> Iterator[Key]:
        """Yield the turns of a session between those that wrote lines: questions, and what left nothing."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for session, turn in linked:
            if turn is not None and session in trails:
                numbers[session].append(turn)
        for session, known in numbers.items():
            others = (one.number for one in trails[session][1].turns if min(known) < one.number < max(known))
            yield from ((session, number) for number in [n for n in others if n not in known][:MOST_BETWEEN])

    def _written(self, sessions: Mapping[str, str]) -> tuple[dict[Key, int], dict[Key, list[str]]]:
        """Return how many lines each turn wrote to files of the repository, and which of these it deleted."""
        counts: dict[Key, int] = defaultdict(int)
        deleted: dict[Key, list[str]] = defaultdict(list)
        renamed: set[str | None] = set()
        for name in self._traces.names if sessions else ():
            for origin in self._traces.own_versions(name, sessions):
                key = (sessions[origin.session], origin.version.turn)
                counts[key] += sum(len(change.added) // 8 for change in origin.version.changes)
                if origin.version.origin is not None:
                    renamed.add(self._traces.relative(origin.version.origin))
                elif origin.version.after == NO_LINES:
                    deleted[key].append(name)
        gone = {key: [name for name in names if name not in renamed] for key, names in deleted.items()}
        return counts, defaultdict(list, gone)


def _same(one: ReviewLines, other: ReviewLines) -> bool:
    return (one.session, one.turn, one.evidence, one.guess) == (
        other.session,
        other.turn,
        other.evidence,
        other.guess,
    )


def _part(key: Key, lines: int, guessed: int, evidence: set[str]) -> ReviewPart:
    certain = lines > guessed or evidence & {RECORDED, TRAILER}
    return ReviewPart(
        session=key[0],
        turn=key[1],
        lines=lines,
        guessed=guessed,
        evidence=[kind for kind in EVIDENCE if kind in evidence],
        guess=not certain or evidence <= set(GUESSED_EVIDENCE),
    )


def _review_turn(
    key: Key, turn: TrailTurn, commits: list[str], lines: int, written: int, deleted: list[str]
) -> ReviewTurn:
    return ReviewTurn(
        session=key[0],
        turn=key[1],
        prompt=turn.prompt,
        started=parse_json_time(turn.started) if turn.started else None,
        model=turn.model,
        cost_usd=turn.cost_usd,
        commits=commits,
        lines=lines,
        written=written,
        deleted=list(map(comparable_path, deleted)),
        undoing=turn.undoing,
        dropped=turn.dropped,
        denied=turn.denied,
        tests=turn.tests,
    )
