"""How each turn of a streamed session ended, and the runs that ended without a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from reread.base.coerce import as_dict, as_int
from reread.base.format import as_number
from reread.model.conversation import Conversation

NO_RESULT = "no_result"
SUCCESS = "success"


class TurnResult(msgspec.Struct, frozen=True):
    """How a turn ended."""

    line: int
    """The line of the result; 0 if there is none."""
    subtype: str
    """`success`, `error_max_turns` …; `no_result` if the stream ended first."""
    is_error: bool
    """Whether the turn failed."""
    session: str | None = None
    """The id of the session."""
    text: str = ""
    """The answer, or the error."""
    cost_usd: float | None = None
    """The cost that the client reports, earlier turns of the process included."""
    duration_ms: float | None = None
    """Milliseconds that the turn took."""
    duration_api_ms: float | None = None
    """Milliseconds of these in which the API worked; requests that ran in parallel are added up."""
    num_turns: int | None = None
    """Requests to the model, in the client's count."""
    denials: tuple[str, ...] = ()
    """The tools that were denied."""
    exit_code: int | None = None
    """The exit code of a captured run that printed no result."""


def turn_results(conversation: Conversation) -> list[TurnResult]:
    """Return how the turns of a streamed conversation ended, in order; a transcript has none."""
    metadata = conversation.metadata
    out: list[TurnResult] = []
    results = set(metadata.results)
    ended = True
    for index in sorted([*metadata.results, *metadata.runs]):
        native = conversation.bodies.native(index)
        if index in results:
            out.append(turn_result(conversation.records.line(index), native))
            ended = True
            continue
        run = as_dict(native.get("run"))
        if not ended:
            out.append(TurnResult(0, NO_RESULT, True, exit_code=as_int(run.get("exitCode"))))
        ended = run.get("event") != "start" or not _started(conversation, index)
    if not ended or (metadata.inits and not results and not metadata.runs):
        out.append(TurnResult(0, NO_RESULT, True))
    return out


def _started(conversation: Conversation, start: int) -> bool:
    """True if Claude Code started after a run began, before the next one."""
    after = min((index for index in conversation.metadata.runs if index > start), default=len(conversation.records))
    return any(start < index < after for index in conversation.metadata.inits)


def turn_result(line: int, native: dict[str, Any]) -> TurnResult:
    """Return how a turn ended, from its result record."""
    errors = native.get("errors")
    answer = native.get("result")
    text = answer if isinstance(answer, str) else "\n".join(_texts(errors))
    session = native.get("sessionId")
    return TurnResult(
        line=line,
        subtype=str(native.get("subtype") or ""),
        is_error=native.get("is_error") is True or native.get("subtype") not in (SUCCESS, None),
        session=session if isinstance(session, str) else None,
        text=text,
        cost_usd=as_number(native.get("total_cost_usd")),
        duration_ms=as_number(native.get("duration_ms")),
        duration_api_ms=as_number(native.get("duration_api_ms")),
        num_turns=as_int(native.get("num_turns")),
        denials=tuple(_denied(native.get("permission_denials"))),
    )


def _denied(denials: Any) -> Iterator[str]:
    for denial in cast(list[Any], denials) if isinstance(denials, list) else ():
        yield str(as_dict(denial).get("tool_name") or "")


def _texts(values: Any) -> list[str]:
    return [str(value) for value in cast(list[Any], values)] if isinstance(values, list) else []
