"""The calls behind figures, each with what it was to do, why it failed, and its address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from reread.base.address import Address
from reread.base.choices import DENIED, FAILED, INTERRUPTED
from reread.base.coerce import as_dict, as_str
from reread.base.text import telling_line
from reread.errors import RereadError
from reread.model.conversation import Call, Conversation
from reread.reports.report import Report, Row
from reread.session.places import turns_of
from reread.session.session import Session
from reread.session.session import open as open_session

FAILURE = "failure"
_FIRST = (FAILED, DENIED, INTERRUPTED)


class ListedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a report, as it is listed."""

    call: Row
    address: Address
    """Where it is; without a turn if its session can no longer be read."""
    what: str = ""
    """Its command, its file, or its title."""
    error: str = ""
    """The line that says most about why it failed."""


def calls_to_list(report: Report) -> list[Row]:
    """Return the calls of a report, failed ones first, then the newest; of one by kinds of failure, only the failed."""
    chosen = [call for call in report.items if FAILURE not in report.by or call["failure"] is not None]
    return sorted(chosen, key=lambda call: (_rank(call["state"]), -(call["time_ms"] or 0)))


def listed_calls(calls: Iterable[Row]) -> list[ListedCall]:
    """Return calls with what only their sessions say; secrets in that are replaced."""
    from reread.redaction.scan import text_cleaner  # loaded late: it knows all rules

    threads, clean = Threads(), text_cleaner(personal=False)
    found = [_listed(call, threads.of(call["path"], call["agent"])) for call in calls]
    return [replace(one, what=clean(one.what), error=clean(one.error)) for one in found]


class Threads:
    """The threads of sessions, each of which is opened once."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session | None] = {}

    def of(self, path: str, agent: str | None) -> Conversation | None:
        """Return the thread of an agent, or the main one; None if its session can no longer be read."""
        if path not in self._sessions:
            self._sessions[path] = None
            with suppress(RereadError, OSError):  # it was deleted since it was counted
                self._sessions[path] = open_session(path)
        session = self._sessions[path]
        if session is None:
            return None
        return session.agents.get(agent or "") or session.conversation  # the path may be that of the agent's own file


def _rank(state: str) -> int:
    return _FIRST.index(state) if state in _FIRST else len(_FIRST)


def _listed(row: Row, thread: Conversation | None) -> ListedCall:
    call = next((call for call in _calls(thread, row["id"]) if call.line == row["line"]), None) if thread else None
    address = Address(row["session"], agent=row["agent"], turn=row["turn"])
    if call is None or thread is None:
        return ListedCall(call=row, address=address, what=row["command"] or row["file"] or "")
    what = as_str(as_dict(call.input).get("command")) or row["file"] or call.title.removeprefix(call.name).strip()
    error = telling_line(call.error or "") if call.state in _FIRST else ""
    return ListedCall(call=row, address=_address(address, thread, call), what=what, error=error)


def _calls(thread: Conversation, id: str) -> Sequence[Call]:
    named = thread.calls_by_id.get(id)
    return thread.calls if named is None else [named]


def _address(address: Address, thread: Conversation, call: Call) -> Address:
    for path in (None, call.message.branch):
        for turn in turns_of(thread, path):
            calls = [one for message in turn.messages for one in message.calls]
            if call in calls:
                return address._replace(path=path, turn=turn.index, call=calls.index(call) + 1)
    return address


def listed_value(listed: ListedCall) -> dict[str, Any]:
    """Return a call that is listed as JSON values."""
    more = {"address": str(listed.address), "what": listed.what, "error": listed.error or None}
    return {**listed.call, **more}
