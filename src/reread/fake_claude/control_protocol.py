"""The control protocol between the client and its caller: answers to requests, and comparison of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from reread.base.coerce import as_dict
from reread.catalog.stored_line import IN, OUT
from reread.fake_claude.script import RecordedTurn

Message = dict[str, Any]

ACKNOWLEDGEMENTS: dict[str, Callable[[Message], Message | None]] = {
    "interrupt": lambda request: {"still_queued": []},
    "set_max_thinking_tokens": lambda request: None,
    "set_model": lambda request: {"model": request.get("model")},
    "set_permission_mode": lambda request: {"mode": request.get("mode")},
    "stop_task": lambda request: {},
}
"""The real client's answers to requests that it simply obeys."""
DECISION_FIELDS = ("behavior", "message", "interrupt", "updatedInput", "updatedPermissions")
"""The fields of an answer to a permission request that decide; some callers send more."""
DEFAULT_ANSWERS: dict[str, Message] = {
    "initialize": {
        "commands": [],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [],
        "account": {},
        "hook_on_failure_supported": True,
    },
    "mcp_status": {"mcpServers": []},
}
"""Answers to questions that no recording answers."""


def reply_to(message: Message, current: RecordedTurn | None, turns: Iterable[RecordedTurn]) -> Message:
    """Answer a caller's request as recorded in the current turn, else in any turn."""
    request = inner(message, "request")
    subtype = str(request.get("subtype"))
    current_turns = [current] if current else []
    own = [(asked, answer) for asked, answer in _exchanges(current_turns) if asked.get("subtype") == subtype]
    same = [answer for asked, answer in own if asked == request]
    if subtype in ACKNOWLEDGEMENTS and not same:
        return _success(message, ACKNOWLEDGEMENTS[subtype](request))
    others = (answer for asked, answer in _exchanges(turns) if asked.get("subtype") == subtype)
    for recorded in chain(same, (answer for _, answer in own), others):
        return {"type": "control_response", "response": {**recorded, "request_id": message.get("request_id")}}
    if subtype in DEFAULT_ANSWERS:
        return _success(message, DEFAULT_ANSWERS[subtype])
    return {
        "type": "control_response",
        "response": {
            "subtype": "error",
            "request_id": message.get("request_id"),
            "error": f"Unsupported control request subtype: {subtype} (reread: no recording answers it)",
            "error_code": "unsupported_request",
        },
    }


def _success(message: Message, response: Message | None) -> Message:
    body: Message = {"subtype": "success", "request_id": message.get("request_id")}
    return {"type": "control_response", "response": body if response is None else {**body, "response": response}}


def inner(message: Message, key: str) -> Message:
    """Return the object in a field of a message; empty if there is none."""
    return as_dict(message.get(key))


def request_id(message: Message) -> str:
    """Return the id that joins a request and its answer."""
    return str(message.get("request_id"))


def _exchanges(turns: Iterable[RecordedTurn]) -> Iterator[tuple[Message, Message]]:
    """Yield every recorded request of a caller with its answer."""
    for turn in turns:
        if not turn.uses_control_protocol:
            continue
        asked = {request_id(f.value): f.value for f in turn.frames if f.stream == IN and f.kind == "control_request"}
        for frame in turn.frames:
            if frame.stream == OUT and frame.kind == "control_response":
                answer = inner(frame.value, "response")
                if request_id(answer) in asked:
                    yield inner(asked[request_id(answer)], "request"), answer


def difference(request: Message, recorded: Message, given: Message) -> str | None:
    """Describe how a caller's answer to a recorded request differs from the recorded answer; None if it does not."""
    if "subtype" not in recorded or _is_handshake(request):
        return None
    for side, other, word in ((recorded, given, "recorded"), (given, recorded, "given")):
        if side.get("subtype") == "error" and other.get("subtype") != "error":
            return f"{word} as an error: {side.get('error')}"
    if recorded.get("subtype") == "error":
        return None
    before, now = (_normalize(request, inner(answer, "response")) for answer in (recorded, given))
    keys = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    if not keys:
        return None
    return "; ".join(f"{key} was {before.get(key)!r} and is now {now.get(key)!r}" for key in keys)


def describe(request: Message) -> str:
    """Describe a client's request in a few words."""
    subtype = str(request.get("subtype"))
    detail = request.get("tool_name") or request.get("callback_id") or inner(request, "message").get("method")
    return f"{subtype} ({detail})" if detail else subtype


def _is_handshake(request: Message) -> bool:
    """True if a request only introduces a tool server, which the versions of both sides do differently."""
    return request.get("subtype") == "mcp_message" and inner(request, "message").get("method") != "tools/call"


def _normalize(request: Message, answer: Message) -> Message:
    """Return the fields of an answer that decide, with the defaults of those that it leaves out."""
    if request.get("subtype") == "can_use_tool":
        defaults = {"updatedInput": request.get("input")} if answer.get("behavior") == "allow" else {}
        answer = {**defaults, **{key: answer[key] for key in DECISION_FIELDS if key in answer}}
    return {key: value for key, value in answer.items() if value not in (None, False)}
