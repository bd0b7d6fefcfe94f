"""A conversation as text on a terminal; nothing of a transcript reaches it as an escape code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reread.blocks import Thinking
from reread.conversation import Change
from reread.headers import Header
from reread.messages import Call, Message
from reread.reports import Report
from reread.session import Session

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MARKS = {True: "✓", False: "✗", None: "…"}


def safe(text: str) -> str:
    """Text with every control character made visible."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def header_lines(headers: Sequence[Header]) -> Iterator[str]:
    """Sessions by project, one line each, newest project first."""
    by_project: dict[str, list[Header]] = {}
    for header in headers:
        by_project.setdefault(header.project, []).append(header)
    for project, group in by_project.items():
        guess = " (guessed from the folder's name)" if group[0].project_guessed else ""
        yield safe(f"{project}{guess}")
        for header in group:
            when = header.updated.astimezone().strftime("%Y-%m-%d %H:%M") if header.updated else " " * 16
            title = safe(" ".join(header.title.split()))[:60]
            facts = safe("  ".join(fact for fact in (header.git_branch, header.model) if fact))
            size = size_text(header.size)
            yield f"  {safe(header.id)[:8]:8}  {when}  {size:>8}  {title:60}  {facts}".rstrip()


def size_text(size: int) -> str:
    """A number of bytes, short."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def report_lines(report: Report, *, verbose: bool = False) -> Iterator[str]:
    """What a check found, one line a finding, as compilers print them."""
    for file in report.files:
        for finding in file.findings:
            if verbose or finding.level != "info":
                yield safe(f"{file.path}:{finding.line}: {finding.level}: {finding.text} [{finding.code}]")
    totals = report.totals
    found = [(totals.errors, "error"), (totals.warnings, "warning"), (totals.infos, "note")]
    counts = ", ".join(f"{count:,} {noun}{'s' if count != 1 else ''}" for count, noun in found)
    hint = " (-v shows the notes)" if totals.infos and not verbose else ""
    yield f"{totals.files:,} files, {totals.lines:,} lines, {totals.records:,} records: {counts}{hint}"


def drift_lines(report: Report) -> Iterator[str]:
    """What the types do not know yet, with how often it stands there."""
    totals = report.totals
    unknown = {**totals.unknown_types, **totals.unknown_fields}
    for name, count in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        yield safe(f"{count:8,}  {name}")
    if not unknown:
        yield f"Nothing new in {totals.records:,} records of {totals.files:,} files."


def session_text(session: Session) -> Iterator[str]:
    """The active branch, turn by turn."""
    yield safe(session.title)
    facts = [
        session.project,
        *session.facts.git_branches[:1],
        *session.facts.models,
        *session.facts.versions[-1:],
    ]
    yield safe(" · ".join(fact for fact in facts if fact))
    for turn in session.turns:
        yield ""
        for message in turn.messages:
            yield from message_text(message)
    others = len(session.branches) - 1
    if others:
        yield f"\n({others} abandoned branch{'es' if others > 1 else ''} not shown)"


def message_text(message: Message) -> Iterator[str]:
    """One message, its calls as one line each."""
    if message.kind == "meta":
        return
    if message.role == "user":
        yield _quoted(f"[{message.kind}] {message.text}" if message.kind != "prompt" else message.text)
    elif message.role == "system":
        yield safe(f"· {message.kind}: {' '.join(message.text.split())[:200]}")
    else:
        for block in message.blocks:
            if isinstance(block, Thinking):
                yield "  ▸ thinking" if block.thinking else "  ▸ thinking (not recorded)"
        if message.text.strip():
            yield safe(message.text.strip())
    for call in message.calls:
        yield call_text(call)


def call_text(call: Call) -> str:
    """A call in one line."""
    duration = f"  {call.duration:.1f} s" if call.duration is not None else ""
    agent = (
        f"  ◇ {call.agent.type or 'agent'}, {len(call.agent.calls)} calls" if call.agent is not None else ""
    )
    return safe(f"  {MARKS[call.ok]} {call.title}{agent}{duration}")


def change_text(change: Change) -> Iterator[str]:
    """What one record changed, for someone who watches."""
    if change.kind == "rewritten":
        yield f"(rewritten from line {change.line})"
    elif change.call is not None:
        yield call_text(change.call)
    elif change.message is not None and change.fate is not None and change.fate.fate == "shown":
        yield from message_text(change.message)


def _quoted(text: str) -> str:
    return "\n".join(f"▌ {line}" for line in safe(text).strip().split("\n"))
