"""How a session was played again, as lines of text."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from reread.addons.rerun.comparison import PlayedCall
from reread.addons.rerun.playing import Rerun
from reread.base.text import one_line, plural

MOST = 12
WIDTH = 80


def rerun_lines(found: Rerun) -> Iterator[str]:
    """Yield what became of a session: its calls, requests and files, and what could not be as it was."""
    how = "dry" if found.dry else "live"
    recorded = f"recorded on {found.recorded or 'an unknown version'}"
    yield one_line(found.title, WIDTH)
    yield f"{recorded} · played on {found.played}, {how} · {found.seconds:.0f} s"
    if found.failure:
        yield f"not played to the end: {found.failure}"
    yield from _calls(found)
    yield from _requests(found)
    if found.tokens is not None:
        before, now = found.tokens
        share = f" ({(now - before) * 100 / before:+.0f} %)" if before else ""
        yield f"tokens     about {before:,} → {now:,} in the last request{share}"
    if found.files:
        same = sum(file.same for file in found.files)
        yield f"files      {same} of {len(found.files)} end as recorded"
        yield from _most([f"  {file.path}" for file in found.files if not file.same])
    yield from _most([f"  {said}" for said in map(one_line, found.unrecorded)], head="not recorded")
    if found.unreached:
        yield f"{plural(found.unreached, 'recorded answer')} nobody asked for"
    yield from _most([f"  {note}" for note in found.notes], head="not as it was")
    if found.kept:
        yield f"kept       {found.kept}"
    if found.kept and found.record:
        yield f"to read    {shlex.join(['reread', 'serve', found.record, '--beside', found.kept])}"


def _calls(found: Rerun) -> Iterator[str]:
    if not found.calls:
        yield "calls      none were recorded"
        return
    counts = [sum(getattr(call, name) for call in found.calls) for name in ("reached", "same_input", "same_outcome")]
    yield (
        f"calls      {counts[0]} of {len(found.calls)} reached, {counts[1]} with the same input, "
        f"{counts[2]} with the same outcome"
    )
    different = [call for call in found.calls if not call.is_same]
    yield from _most([_call_line(call) for call in different])
    told = [call for call in found.calls if call.is_same and not call.same_result]
    if told:
        named = ", ".join(one_line(call.title, 40) for call in told[:3])
        yield f"  {plural(told, 'call')} told the model something else: {named}"


def _call_line(call: PlayedCall) -> str:
    turn = f"turn {call.turn}" if call.turn is not None else "agent"
    became = (
        "not reached" if not call.reached else f"{call.was} → {call.now}" if call.was != call.now else "other input"
    )
    said = f"\n{'':11}{one_line(call.detail, WIDTH - 11)}" if call.detail else ""
    return f"  {turn:<8} {one_line(call.title, 40):<40} {became}{said}"


def _requests(found: Rerun) -> Iterator[str]:
    if not found.requests:
        yield f"requests   {found.sent} sent; none can be compared"
        return
    total, different = len(found.requests), [one for one in found.requests if one.changes]
    if not different:
        yield f"requests   {total} of {total} equal"
        return
    counts = Counter(change.words for one in different for change in one.changes)
    everywhere = [name for name, count in counts.items() if count == len(different)]
    if len(counts) == len(everywhere) and len(counts) <= 3:
        yield f"requests   {len(different)} of {total} differ, all at: {', '.join(everywhere)}"
        return
    yield f"requests   {len(different)} of {total} differ"
    yield from _most([f"  {count:>4} × {name}" for name, count in counts.most_common()])


def _most(lines: list[str], head: str = "") -> Iterator[str]:
    if lines and head:
        yield head
    for line in lines[:MOST]:
        yield from line.split("\n")
    if len(lines) > MOST:
        yield f"  and {len(lines) - MOST} more; --json has all"
