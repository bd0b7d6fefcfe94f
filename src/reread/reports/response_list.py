"""The responses behind figures of usage, each with what it said or called, and its address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from reread.accounting.billing import COUNT_NAMES
from reread.base.address import Address
from reread.base.text import one_line
from reread.model.conversation import Message
from reread.reports.call_list import Threads
from reread.reports.report import Report, Row
from reread.session.places import turns_of

LONGEST = 500
"""Characters of what a response said."""


class ListedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response of a report, as it is listed."""

    response: Row
    address: Address
    """Where it is; without a turn if its session can no longer be read."""
    tokens: int
    what: str = ""
    """What it called, or the beginning of what it said."""


def dearest_responses(report: Report) -> list[Row]:
    """Return the responses of a report, the dearest first; where nothing has a price, those of most tokens."""
    return sorted(report.items, key=lambda one: (-(one["cost_usd"] or 0), -_tokens(one)))


def listed_responses(responses: Iterable[Row]) -> list[ListedResponse]:
    """Return responses with what only their sessions say; secrets in that are replaced."""
    from reread.redaction.scan import text_cleaner  # loaded late: it knows all rules

    threads, clean = Threads(), text_cleaner(personal=False)
    found = [_listed(row, threads) for row in responses]
    return [replace(one, what=clean(one.what)) for one in found]


def listed_response_value(listed: ListedResponse) -> dict[str, Any]:
    """Return a response that is listed as JSON values."""
    return {**listed.response, "tokens": listed.tokens, "address": str(listed.address), "what": listed.what}


def _listed(row: Row, threads: Threads) -> ListedResponse:
    thread = threads.of(row["path"], row["agent"])
    address = Address(row["session"], agent=row["agent"])
    message = thread.messages_by_id.get(row["message"] or "") if thread is not None else None
    if thread is None or message is None:
        return ListedResponse(response=row, address=address, tokens=_tokens(row))
    for path in (None, message.branch):
        turn = next((turn for turn in turns_of(thread, path) if message in turn.messages), None)
        if turn is not None:
            calls = [call for one in turn.messages for call in one.calls]
            call = calls.index(message.calls[0]) + 1 if message.calls else None
            address = address._replace(path=path, turn=turn.index, call=call)
            break
    return ListedResponse(response=row, address=address, tokens=_tokens(row), what=_what(message))


def _what(message: Message) -> str:
    said = ", ".join(call.title for call in message.calls) or message.text
    return one_line(said, LONGEST)


def _tokens(row: Row) -> int:
    return sum(row[name] for name in COUNT_NAMES if name != "web_searches")
