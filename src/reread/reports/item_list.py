"""The calls, responses and cache breaks behind the figures of a report, each with its address and what it was."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from reread.accounting.billing import COUNT_NAMES
from reread.base.address import Address
from reread.base.choices import DENIED, FAILED, INTERRUPTED
from reread.base.coerce import as_dict, as_str
from reread.base.text import one_line, telling_line
from reread.errors import RereadError
from reread.model.conversation import Call, Conversation, Message
from reread.reports.report import CACHE_BREAKS, STATS, Report, Row
from reread.session.session import Session
from reread.session.session import open as open_session

FAILURE = "failure"
LONGEST = 500
"""Characters of what a response said."""
_FIRST = (FAILED, DENIED, INTERRUPTED)


class ListedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a report, as it is listed."""

    row: Row
    address: Address
    """Where it is; without a turn if that cannot be said or its session can no longer be read."""
    more: dict[str, Any] = {}
    """What its row does not say: `what` a call was to do, a response called or said, and the line that says most about
    the `error` of a call; the `tokens` of a response."""

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self.row, "address": str(self.address), **self.more}


def rows_to_list(report: Report) -> list[Row]:
    """Return the items of a report: calls with failed ones first, then the newest; others with the dearest first.

    By kinds of failure, only calls that failed are listed. Where nothing has a price, those of most tokens come first.
    """
    if report.kind == STATS:
        chosen = [call for call in report.items if FAILURE not in report.by or call["failure"] is not None]
        return sorted(chosen, key=lambda call: (_rank(call["state"]), -(call["time_ms"] or 0)))
    return sorted(report.items, key=lambda one: (-(one["cost_usd"] or 0), -_tokens(one)))


def listed_items(report: Report, rows: Sequence[Row]) -> list[ListedItem]:
    """Return some of these rows with what only their sessions say; secrets in that are replaced."""
    if report.kind == CACHE_BREAKS:
        return [ListedItem(row=row, address=_session_address(row, row["turn"])) for row in rows]
    from reread.redaction.scan import text_cleaner  # loaded late: it knows all rules

    threads, clean = _Threads(), text_cleaner(personal=False)
    listed = _listed_call if report.kind == STATS else _listed_response
    found = [listed(row, threads.of(row["path"], row["agent"])) for row in rows]
    return [
        replace(one, more={name: clean(said) if isinstance(said, str) else said for name, said in one.more.items()})
        for one in found
    ]


class _Threads:
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


def _listed_call(row: Row, thread: Conversation | None) -> ListedItem:
    call = next((call for call in _calls(thread, row["id"]) if call.line == row["line"]), None) if thread else None
    address = _session_address(row, row["turn"])
    if call is None:
        return ListedItem(row=row, address=address, more={"what": row["command"] or row["file"] or "", "error": None})
    what = as_str(as_dict(call.input).get("command")) or row["file"] or call.title.removeprefix(call.name).strip()
    error = telling_line(call.error or "") if call.state in _FIRST else ""
    more = {"what": what, "error": error or None}
    return ListedItem(row=row, address=_place(address, call.message, call), more=more)


def _calls(thread: Conversation, id: str) -> Sequence[Call]:
    named = thread.calls_by_id.get(id)
    return thread.calls if named is None else [named]


def _listed_response(row: Row, thread: Conversation | None) -> ListedItem:
    message = thread.messages_by_id.get(row["message"] or "") if thread is not None else None
    address = _session_address(row, None)
    if message is None:
        return ListedItem(row=row, address=address, more={"tokens": _tokens(row), "what": ""})
    first = message.calls[0] if message.calls else None
    said = ", ".join(call.title for call in message.calls) or message.text
    more = {"tokens": _tokens(row), "what": one_line(said, LONGEST)}
    return ListedItem(row=row, address=_place(address, message, first), more=more)


def _tokens(row: Row) -> int:
    return row["tokens"] if "tokens" in row else sum(row[name] for name in COUNT_NAMES if name != "web_searches")


def _session_address(row: Row, turn: int | None) -> Address:
    return Address(row["session"], agent=row["agent"], turn=turn)


def _place(address: Address, message: Message, call: Call | None) -> Address:
    """Return the address of a message, or of one of its calls, on the active path or its own."""
    turn = message.turn
    number = turn.calls.index(call) + 1 if call is not None else None
    return address._replace(path=None if message.active else message.branch, turn=turn.index, call=number)
