"""The files of a session, their versions and their differences, as lines of text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from reread.base.format import date_text
from reread.base.paths import is_below, normalize_folder
from reread.base.sanitize import safe
from reread.base.text import cell_width, pad, plural, short_session, truncate
from reread.history.versions import FileHistory, FileVersion
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span
from reread.reports.blame_report import BlamedLine
from reread.tools.nodes import Hunk

ADDED, REMOVED = "added", "removed"
MOST_TURNS = 4
"""So many turns are named one by one."""
ID, SHA, DAY, PROMPT = 8, 7, 10, 32
"""How much of an id, of a commit's name, of a time and of a prompt is shown."""
SAME = "│"
"""Stands in front of a line of the same session and turn as the one above."""


def project_path(path: str, project: str) -> str:
    """Return a path as it is shown: below the project's folder without that folder."""
    folder = normalize_folder(project) if project else ""
    return path[len(folder) + 1 :] if folder and path != folder and is_below(path, folder) else path


def history_lines(histories: Sequence[FileHistory], project: str, *, width: int | None = None) -> Iterator[list[Span]]:
    """Yield a line for each file: path, lines added and removed, turns, and what is special about it."""
    names = [safe(project_path(history.path, project)) for history in histories]
    counts = [(f"+{history.added}", f"−{history.removed}") for history in histories]
    rest = [f"  {turns_text(history.turns)}{facts_text(history)}" for history in histories]
    plus, minus = (max((len(pair[n]) for pair in counts), default=0) for n in (0, 1))
    room = max(map(cell_width, names), default=0)
    if width is not None:
        room = max(20, min(room, width - plus - minus - 3 - max(map(cell_width, rest), default=0)))
    for name, (added, removed), facts in zip(names, counts, rest, strict=True):
        yield [
            (NAME, pad(truncate(name, room, keep_end=True), room)),
            (ADDED, f"  {added:>{plus}}"),
            (REMOVED, f" {removed:>{minus}}"),
            (QUIET, facts),
        ]


def turns_text(turns: Sequence[int]) -> str:
    """Return some turns in words: `turns 1, 3`."""
    if not turns:
        return "no turn"
    if len(turns) > MOST_TURNS:
        return f"{len(turns)} turns, {turns[0]} to {turns[-1]}"
    return f"turn{'s' if len(turns) > 1 else ''} {', '.join(map(str, turns))}"


def facts_text(history: FileHistory) -> str:
    """Return what is special about a file: agents, changes from outside, what is not known, that it is gone."""
    last, own = history.versions[-1], history.own
    outside = len(history.versions) - len(own)
    partial = sum(not version.whole for version in history.versions)
    facts = [
        "new" if own[0].action == "create" and history.versions[0] is own[0] else "",
        plural(history.agents, "agent") if history.agents else "",
        f"changed from outside {'once' if outside == 1 else f'{outside} times'}" if outside else "",
        f"{partial} of {plural(history.versions, 'version')} partial" if partial else "",
        (f"renamed to {safe(last.other)}" if last.other else "deleted") if last.gone else "",
    ]
    return "".join(f" · {fact}" for fact in facts if fact)


def version_lines(history: FileHistory, project: str) -> Iterator[list[Span]]:
    """Yield a file and a line for each of its versions."""
    yield [(STRONG, safe(project_path(history.path, project)))]
    turns = [f"turn {version.turn}" if version.turn is not None else "no turn" for version in history.versions]
    counts = [f"+{version.added} −{version.removed}" for version in history.versions]
    widths = [max(map(len, column)) for column in (turns, [version.action for version in history.versions], counts)]
    for version, turn, count in zip(history.versions, turns, counts, strict=True):
        yield [
            (PLAIN, f"  {turn:{widths[0]}}  "),
            (NAME if version.own else "loud", f"{version.action:{widths[1]}}"),
            (PLAIN, f"  {count:{widths[2]}}"),
            (QUIET, f"  {date_text(version.time):16}  line {version.line}{version_facts(version)}"),
        ]


def version_facts(version: FileVersion) -> str:
    """Return who made a version, and how its text is known."""
    known = "bytes known" if version.exact else "text known" if version.whole else "partial"
    facts = [
        f"agent {safe(version.agent)}" if version.agent else "",
        f"{'to' if version.gone else 'from'} {safe(version.other)}" if version.other else "",
        "gone" if version.gone else f"{known}, {version.source}" if version.source else known,
    ]
    return "".join(f" · {fact}" for fact in facts if fact)


def diff_lines(path: str, hunks: Iterable[Hunk], *, old: bool = True, new: bool = True) -> Iterator[list[Span]]:
    """Yield a difference in the unified format; without `old` or `new`, of a file that is created or deleted."""
    name = safe(path.lstrip("/"))
    yield [(STRONG, f"--- {'a/' + name if old else os.devnull}")]
    yield [(STRONG, f"+++ {'b/' + name if new else os.devnull}")]
    styles = {"+": ADDED, "-": REMOVED}
    for hunk in hunks:
        before = sum(line[:1] != "+" for line in hunk.lines)
        after = sum(line[:1] != "-" for line in hunk.lines)
        yield [(QUIET, f"@@ -{hunk.old_start},{before} +{hunk.new_start},{after} @@")]
        for line in hunk.lines:
            yield [(styles.get(line[:1], PLAIN), safe(line))]


def evidence_words(line: BlamedLine) -> list[str]:
    """Return how it is known who wrote a line, if no session on this machine says so: `note of 1a2b3c4`, `a guess`."""
    words = [f"{line.evidence} of {line.commit[:SHA]}"] if line.commit else []
    return [*words, "a guess"] if line.guess else words


def blame_lines(lines: Sequence[BlamedLine], *, width: int | None = None) -> Iterator[list[Span]]:
    """Yield each line with the session, turn, day and prompt that wrote it: once for lines in a row, then a bar."""
    number = len(str(lines[-1].number)) if lines else 1
    turn_width = max((len(str(line.turn)) for line in lines if line.turn is not None), default=1)
    blank = " " * (ID + turn_width + DAY + PROMPT + 9)
    before: Sequence[object] = ()
    for line in lines:
        origin = [line.session, line.turn, *evidence_words(line)]
        if line.session is None or origin == before:
            head: list[Span] = [(QUIET, blank if line.session is None else f"{SAME:{len(blank)}}")]
        else:
            known = ", ".join(evidence_words(line))
            said = safe(" ".join(text for text in (f"({known})" if known else "", line.prompt) if text))
            day = f"{date_text(line.time)[:DAY]:{DAY}} " if line.time is not None else ""
            room = DAY + 1 + PROMPT - len(day)  # a note has no time, and all of its room
            head = [
                (NAME, f"{safe(short_session(line.session)):{ID}}"),
                (PLAIN, f" turn {line.turn if line.turn is not None else '?':<{turn_width}}"),
                (QUIET, f" {day}{pad(truncate(said, room), room)} "),
            ]
        text = safe(line.text)
        yield [
            *head,
            (QUIET, f"{line.number:>{number}} "),
            (PLAIN, truncate(text, width - len(blank) - number - 1) if width else text),
        ]
        before = origin
