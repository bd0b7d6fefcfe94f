"""The control protocol between a client and whoever drives it: what is answered, and whether it was answered alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from reread.base.coerce import as_dict
from reread.catalog.stored_line import IN, OUT
from reread.fake_claude.script import RecordedTurn

Body = dict[str, Any]

ECHOES: dict[str, Callable[[Body], Body | None]] = {
    "interrupt": lambda request: {"still_queued": []},
    "set_max_thinking_tokens": lambda request: None,
    "set_model": lambda request: {"model": request.get("model")},
    "set_permission_mode": lambda request: {"mode": request.get("mode")},
    "stop_task": lambda request: {},
}
"""What the real client says to requests that it simply obeys."""
DECISION = ("behavior", "message", "interrupt", "updatedInput", "updatedPermissions")
"""What an answer to a permission request decides; some callers say more."""
BLANKS: dict[str, Body] = {
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
"""What is said to questions that no recording answers."""


def reply_to(message: Body, now: RecordedTurn | None, turns: Iterable[RecordedTurn]) -> Body:
    """The answer to a caller's request: the one recorded in the turn that is played, else in any that has one."""
    request = body_of(message, "request")
    subtype = str(request.get("subtype"))
    own = [(asked, answer) for asked, answer in _exchanges([now] if now else []) if asked.get("subtype") == subtype]
    same = [answer for asked, answer in own if asked == request]
    if subtype in ECHOES and not same:
        return _success(message, ECHOES[subtype](request))
    others = (answer for asked, answer in _exchanges(turns) if asked.get("subtype") == subtype)
    for recorded in chain(same, (answer for _, answer in own), others):
        return {"type": "control_response", "response": {**recorded, "request_id": message.get("request_id")}}
    if subtype in BLANKS:
        return _success(message, BLANKS[subtype])
    return {
        "type": "control_response",
        "response": {
            "subtype": "error",
            "request_id": message.get("request_id"),
            "error": f"Unsupported control request subtype: {subtype} (reread: no recording answers it)",
            "error_code": "unsupported_request",
        },
    }


def _success(message: Body, response: Body | None) -> Body:
    body: Body = {"subtype": "success", "request_id": message.get("request_id")}
    return {"type": "control_response", "response": body if response is None else {**body, "response": response}}


def body_of(message: Body, key: str) -> Body:
    """The inner object of a message, empty where it has none."""
    return as_dict(message.get(key))


def id_of_request(body: Body) -> str:
    """The id that joins a request and its answer."""
    return str(body.get("request_id"))


def _exchanges(turns: Iterable[RecordedTurn]) -> Iterator[tuple[Body, Body]]:
    """Every recorded request of a caller, with its answer."""
    for turn in turns:
        if not turn.converses:
            continue
        asked = {id_of_request(f.value): f.value for f in turn.frames if f.stream == IN and f.kind == "control_request"}
        for frame in turn.frames:
            if frame.stream == OUT and frame.kind == "control_response":
                answer = body_of(frame.value, "response")
                if id_of_request(answer) in asked:
                    yield body_of(asked[id_of_request(answer)], "request"), answer


def difference(request: Body, recorded: Body, given: Body) -> str | None:
    """How a caller's answer to a recorded request differs from the recorded one; None where it does not."""
    if "subtype" not in recorded or _is_handshake(request):
        return None
    for side, word in ((recorded, "recorded"), (given, "given")):
        other = given if side is recorded else recorded
        if side.get("subtype") == "error" and other.get("subtype") != "error":
            return f"{word} as an error: {side.get('error')}"
    if recorded.get("subtype") == "error":
        return None
    was, now = (_plain(request, body_of(side, "response")) for side in (recorded, given))
    keys = [key for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key)]
    if not keys:
        return None
    return "; ".join(f"{key} was {was.get(key)!r} and is now {now.get(key)!r}" for key in keys)


def described(request: Body) -> str:
    """A client's request in a few words."""
    subtype = str(request.get("subtype"))
    about = request.get("tool_name") or request.get("callback_id") or body_of(request, "message").get("method")
    return f"{subtype} ({about})" if about else subtype


def _is_handshake(request: Body) -> bool:
    """Whether this only introduces a tool server, in words that change with the versions of both sides."""
    return request.get("subtype") == "mcp_message" and body_of(request, "message").get("method") != "tools/call"


def _plain(request: Body, answer: Body) -> Body:
    """What an answer decides, with what it leaves unsaid."""
    if request.get("subtype") == "can_use_tool":
        unsaid = {"updatedInput": request.get("input")} if answer.get("behavior") == "allow" else {}
        answer = {**unsaid, **{key: answer[key] for key in DECISION if key in answer}}
    return {key: value for key, value in answer.items() if value not in (None, False)}
