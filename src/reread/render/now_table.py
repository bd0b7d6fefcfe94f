"""The sessions that run now, as lines of styled text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from reread.base.format import duration_text, money_text, tokens_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.text import pad, truncate
from reread.render.listings import NAME, PLAIN, QUIET, STRONG, Span
from reread.reports.now_report import LiveSession

LOUD, REMOVED, ADDED = "loud", "removed", "added"
STYLES = {"waiting": LOUD, "working": ADDED, "idle": PLAIN, "died": REMOVED, "ended": QUIET}
RUNNING = ("waiting", "working", "idle")
STATE, SINCE = 8, 12
"""The widths of the first columns."""


def summary_text(live: Sequence[LiveSession]) -> str:
    """Return how many sessions run, and how many of them wait: `3 running, 1 waits for you`."""
    count = Counter(one.state for one in live)
    running, waiting = sum(count[state] for state in RUNNING), count["waiting"]
    wait = "waits" if waiting == 1 else "wait"
    return f"{running} running, {waiting} {wait} for you" if waiting else f"{running} running"


def now_lines(
    live: Sequence[LiveSession],
    *,
    width: int | None = None,
    now: datetime | None = None,
    where: str = "on this machine",
) -> Iterator[list[Span]]:
    """Yield how many sessions run, and two lines for each: its state, and what it does and costs."""
    if not live:
        yield [(PLAIN, safe_line(f"No session runs {where}."))]
        return
    yield [(STRONG, summary_text(live))]
    clock = now or datetime.now(UTC)
    for one in live:
        yield [(PLAIN, "")]
        yield from _session_lines(one, width, clock)


def activity_text(one: LiveSession) -> str:
    """Return what a session does or waits for, in a few words."""
    call = safe_line(one.call or "")
    if one.state == "waiting":
        text = f"waits for {_asked(one)}{f': {call}' if call else ''}"
    elif one.state == "working":
        text = call or "answers"
    elif one.state == "died":
        text = f"its process is gone{f', during {call}' if call else ''}"
    else:
        text = "waits for the next prompt" if one.state == "idle" else ""
    return f"{text} (inferred)" if one.inferred and text else text


def _asked(one: LiveSession) -> str:
    asked = one.waiting_for or "you"
    article = {"permission": "a ", "answer": "an "}.get(asked, "")
    return f"{article}{safe_line(asked)}"


def figures_text(one: LiveSession) -> str:
    """Return the turn, the context and the cost of a session."""
    tokens, window = one.context_tokens, one.context_window
    full = f"{tokens / window:.0%} of " if tokens is not None and window else ""
    return " · ".join(
        text
        for text in (
            f"turn {one.turn}" if one.turn is not None else "",
            f"context {full}{tokens_text(window if full else tokens)}" if tokens is not None else "",
            money_text(one.cost_usd) if one.cost_usd is not None else "",
            f"{money_text(one.cost_per_hour_usd)}/h" if one.cost_per_hour_usd else "",
        )
        if text
    )


def _since_text(since: datetime, clock: datetime) -> str:
    """Return how long a state lasts; of a time that is still to come by this clock, how far ahead it is."""
    seconds = int((clock - since).total_seconds())
    if seconds >= 0:
        return duration_text(seconds) if seconds else "just now"
    return f"{' '.join(duration_text(-seconds).split()[:2])} ahead"


def _session_lines(one: LiveSession, width: int | None, clock: datetime) -> Iterator[list[Span]]:
    since = _since_text(one.since, clock) if one.since is not None else ""
    names = (path_name(one.project), one.git_branch, one.machine)
    place = " · ".join(safe_line(name) for name in names if name)
    title = safe_line(one.title or one.session)
    head = f"{place}  " if place else ""
    indent = STATE + SINCE + 2
    room = max(1, width - indent - len(head)) if width is not None else None
    yield [
        (STYLES.get(one.state, PLAIN), f"{one.state:{STATE}} "),
        (QUIET, f"{pad(since, SINCE)} "),
        (NAME, head),
        (PLAIN, truncate(title, room) if room is not None else title),
    ]
    text = " · ".join(text for text in (activity_text(one), figures_text(one), safe_line(one.session[:8])) if text)
    yield [(QUIET, " " * indent + (truncate(text, max(1, width - indent)) if width is not None else text))]
