"""The control protocol: answers to requests, and comparison of answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from reread.catalog.stored_line import IN, OUT
from reread.fake_claude.control_protocol import difference, reply_to
from reread.fake_claude.script import Recording, frame_of, recorded_turns

SET_MODEL = {"subtype": "set_model", "model": "m"}

PERMISSION: dict[str, Any] = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
TOOL_CALL: dict[str, Any] = {"subtype": "mcp_message", "message": {"method": "tools/call"}}
HANDSHAKE: dict[str, Any] = {"subtype": "mcp_message", "message": {"method": "initialize"}}


def success(**response: Any) -> dict[str, Any]:
    return {"subtype": "success", "request_id": "1", "response": response}


@pytest.mark.parametrize(
    ("request_", "recorded", "given"),
    [
        (PERMISSION, success(behavior="allow"), success(behavior="allow", updatedInput={"command": "ls"})),
        (PERMISSION, success(behavior="deny", message="no"), success(behavior="deny", message="no", interrupt=False)),
        (PERMISSION, success(behavior="deny", message="no"), success(behavior="deny", message="no", toolUseID="t")),
        (PERMISSION, {"request_id": "1"}, success(behavior="deny", message="whatever")),
        (HANDSHAKE, success(mcp_response={"version": 1}), success(mcp_response={"version": 2})),
        (PERMISSION, {"subtype": "error", "error": "one"}, {"subtype": "error", "error": "another"}),
    ],
    ids=["default input", "default false", "extra field", "not recorded", "handshake", "errors"],
)
def test_equivalent_answers(request_: Any, recorded: Any, given: Any) -> None:
    assert difference(request_, recorded, given) is None


@pytest.mark.parametrize(
    ("request_", "recorded", "given", "expected"),
    [
        (
            PERMISSION,
            success(behavior="allow"),
            success(behavior="deny", message="no"),
            "behavior was 'allow' and is now 'deny'",
        ),
        (
            PERMISSION,
            success(behavior="allow"),
            success(behavior="allow", updatedInput={"command": "pwd"}),
            "updatedInput was",
        ),
        (PERMISSION, success(behavior="deny", message="a"), success(behavior="deny", message="b"), "message was 'a'"),
        (
            PERMISSION,
            success(behavior="allow"),
            {"subtype": "error", "error": "no callback"},
            "given as an error: no callback",
        ),
        (PERMISSION, {"subtype": "error", "error": "broke"}, success(behavior="allow"), "recorded as an error: broke"),
        (TOOL_CALL, success(mcp_response=1), success(mcp_response=2), "mcp_response was 1 and is now 2"),
    ],
)
def test_different_answers(request_: Any, recorded: Any, given: Any, expected: str) -> None:
    assert expected in (difference(request_, recorded, given) or "")


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ({"subtype": "set_model", "model": "m"}, {"model": "m"}),
        ({"subtype": "set_permission_mode", "mode": "plan"}, {"mode": "plan"}),
        ({"subtype": "interrupt"}, {"still_queued": []}),
        ({"subtype": "mcp_status"}, {"mcpServers": []}),
    ],
)
def test_unrecorded_requests_are_answered_as_the_client_would(request_: Any, answer: Any) -> None:
    reply = reply_to({"type": "control_request", "request_id": "r", "request": request_}, None, [])
    assert reply["response"] == {"subtype": "success", "request_id": "r", "response": answer}


def test_the_recorded_answer_to_the_same_request_is_preferred() -> None:
    lines: list[tuple[str, dict[str, Any]]] = [(IN, {"type": "user", "message": {"content": "Hi"}})]
    for n, request in enumerate(({"subtype": "ask", "n": 1}, {"subtype": "ask", "n": 2}, SET_MODEL)):
        answer = {"subtype": "success", "request_id": str(n), "response": {"n": n}}
        lines += [
            (IN, {"type": "control_request", "request_id": str(n), "request": request}),
            (OUT, {"type": "control_response", "response": answer}),
        ]
    frames = [frame_of(stream, json.dumps(line).encode()) for stream, line in lines]
    (turn,) = recorded_turns([Recording("it", Path("it"), load=lambda: frames)])

    def reply(**request: Any) -> Any:
        return reply_to({"request_id": "r", "request": request}, turn, [turn])["response"]

    assert reply(subtype="ask", n=2) == {"subtype": "success", "request_id": "r", "response": {"n": 1}}
    assert reply(subtype="ask", n=3)["response"] == {"n": 0}
    assert reply(**SET_MODEL)["response"] == {"n": 2}
    assert reply(subtype="set_model", model="other")["response"] == {"model": "other"}


def test_an_unknown_request_is_an_error() -> None:
    reply = reply_to({"request_id": "r", "request": {"subtype": "get_context_usage"}}, None, [])["response"]
    assert (reply["subtype"], reply["request_id"]) == ("error", "r")
    assert "get_context_usage" in reply["error"] and "no recording" in reply["error"]
