"""The activity of a session at this moment: from the client's registry, and from the end of its transcript.

A client that says what it does is believed. For one that does not, the end of the transcript tells: a call without a
result runs or waits for a permission, which the records do not say. Two things decide it: a tool that changes one file
takes no time, and a shell command is a process of the client with the command among its words.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from reread.base.coerce import as_dict, as_str
from reread.disk.processes import HAS_PROC, children, command_line
from reread.disk.registry import BUSY, IDLE, WAITING, RunningSession
from reread.model.conversation import Call, Conversation, Message

WORKING, ENDED, DIED = "working", "ended", "died"
STATES = (WAITING, WORKING, IDLE, DIED, ENDED)
"""The states, what asks for attention first."""
BY_STATUS = {BUSY: WORKING, IDLE: IDLE, WAITING: WAITING}
PERMISSION, ANSWER = "permission", "answer"
REASONS = {"permission prompt": PERMISSION, "input needed": ANSWER}
"""The client's names of the things that it waits for."""
ASKING = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools whose result is what a person answers."""
QUICK = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
"""Tools that take no time once they may run."""
SHELLS = frozenset({"Bash", "PowerShell"})
GRACE = timedelta(seconds=0.4)
"""How long a call may be without a result before it is taken to wait for a permission."""
LETTERS = 80
"""How many letters of a command are looked for in the processes of the client."""
SLACK = 1.0
"""Seconds by which the clock of processes may differ from that of records."""
UNASKED = "bypassPermissions"
OVER = ("interrupt", "error", "compaction", "output")
"""The kinds of message after which the client does nothing more by itself."""


class Activity(msgspec.Struct, frozen=True):
    """The activity of a session, and since when."""

    state: str
    """working, waiting, idle, ended or died."""
    since: datetime | None = None
    waiting_for: str | None = None
    """permission, answer, or the client's own words."""
    call: Call | None = None
    """The call that it works on, or that waits."""
    inferred: bool = False
    """True if the client does not say so, and the end of the transcript does."""


def activity_of(
    conversation: Conversation | None,
    entry: RunningSession | None,
    *,
    alive: bool | None,
    pid: int | None = None,
    now: datetime | None = None,
    started: set[str] | None = None,
) -> Activity:
    """Return what a session does.

    `entry` is what the registry says; `alive` says whether its process runs, None if that is unknown; `conversation` is
    None if it has no transcript yet. Commands that were seen to run are added to `started`: between the end of one and
    its result, there is no process.
    """
    turn = conversation.turns[-1] if conversation is not None and conversation.turns else None
    messages = turn.messages if turn is not None else []
    pending = [call for message in messages for call in message.calls if call.answer < 0]
    call = next((one for one in pending if one.name in ASKING), pending[-1] if pending else None)
    over = call is None and _is_over(messages)
    last = _last_time(conversation)
    if alive is False:
        inferred = entry is None
        state = DIED if entry is not None or not over else ENDED
        return Activity(state, last or (entry.said if entry else None), call=call, inferred=inferred)
    state = BY_STATUS.get(entry.status or "") if entry is not None else None
    if entry is not None and state is not None:
        waiting = state == WAITING
        asked = REASONS.get(entry.waiting_for or "", entry.waiting_for or ANSWER) if waiting else None
        since = _later(entry.since, call.started if call is not None and state == WORKING else None)
        return Activity(state, since, asked, call if state != IDLE else None, inferred=alive is None)
    if over:
        return Activity(IDLE, last or (entry.started if entry else None), inferred=True)
    reason = _reason(conversation, call, pid, now or datetime.now(UTC), set() if started is None else started)
    return Activity(WAITING if reason else WORKING, call.started if call else last, reason, call, inferred=True)


def _is_over(messages: Iterable[Message]) -> bool:
    """True if nothing follows by itself on the last of these messages."""
    said = [message for message in messages if message.kind not in ("meta", "notice", "hook")]
    if not said:
        return True
    last = said[-1]
    return last.kind in OVER or (last.kind == "response" and last.stop_reason not in (None, "tool_use", "pause_turn"))


def _reason(
    conversation: Conversation | None, call: Call | None, pid: int | None, now: datetime, started: set[str]
) -> str | None:
    """Return what a call without a result waits for; None if it may be running."""
    if call is None or conversation is None:
        return None
    if call.name in ASKING:
        return ANSWER
    modes, made = conversation.metadata.permission_modes, call.started
    if made is None or now - made < GRACE or (modes and modes[-1] == UNASKED):
        return None
    if call.name in QUICK:
        return PERMISSION
    if call.name not in SHELLS or pid is None or not HAS_PROC:
        return None
    said = _letters(as_str(as_dict(call.input).get("command")) or "")[:LETTERS]
    recent = (child.pid for child in children(pid) if child.started >= made.timestamp() - SLACK)
    if any(said in _letters(command_line(child)) for child in recent):  # others are hooks and status lines
        started.add(call.id)
    return None if call.id in started else PERMISSION


def _letters(text: str) -> str:
    """Return the letters and digits of a command, which quoting leaves as they are."""
    return "".join(filter(str.isalnum, text))


def _last_time(conversation: Conversation | None) -> datetime | None:
    messages = reversed(conversation.messages) if conversation is not None else ()
    return next((time for message in messages if (time := message.timestamp) is not None), None)


def _later(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)
