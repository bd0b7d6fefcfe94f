"""The control protocol: what is answered, and whether it was answered alike."""

from typing import Any

import pytest

from reread.fake_claude.control_protocol import difference, reply_to

ASKED: dict[str, Any] = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
CALLED: dict[str, Any] = {"subtype": "mcp_message", "message": {"method": "tools/call"}}
GREETED: dict[str, Any] = {"subtype": "mcp_message", "message": {"method": "initialize"}}


def said(**response: Any) -> dict[str, Any]:
    return {"subtype": "success", "request_id": "1", "response": response}


@pytest.mark.parametrize(
    ("request_", "recorded", "given"),
    [
        (ASKED, said(behavior="allow"), said(behavior="allow", updatedInput={"command": "ls"})),
        (ASKED, said(behavior="deny", message="no"), said(behavior="deny", message="no", interrupt=False)),
        (ASKED, said(behavior="deny", message="no"), said(behavior="deny", message="no", toolUseID="t")),
        (ASKED, {"request_id": "1"}, said(behavior="deny", message="whatever")),
        (GREETED, said(mcp_response={"version": 1}), said(mcp_response={"version": 2})),
        (ASKED, {"subtype": "error", "error": "one"}, {"subtype": "error", "error": "another"}),
    ],
    ids=["input left unsaid", "false left unsaid", "said besides", "never recorded", "a handshake", "errors"],
)
def test_answers_that_come_to_the_same(request_: Any, recorded: Any, given: Any) -> None:
    assert difference(request_, recorded, given) is None


@pytest.mark.parametrize(
    ("request_", "recorded", "given", "told"),
    [
        (ASKED, said(behavior="allow"), said(behavior="deny", message="no"), "behavior was 'allow' and is now 'deny'"),
        (ASKED, said(behavior="allow"), said(behavior="allow", updatedInput={"command": "pwd"}), "updatedInput was"),
        (ASKED, said(behavior="deny", message="a"), said(behavior="deny", message="b"), "message was 'a'"),
        (ASKED, said(behavior="allow"), {"subtype": "error", "error": "no callback"}, "given as an error: no callback"),
        (ASKED, {"subtype": "error", "error": "broke"}, said(behavior="allow"), "recorded as an error: broke"),
        (CALLED, said(mcp_response=1), said(mcp_response=2), "mcp_response was 1 and is now 2"),
    ],
)
def test_answers_that_lead_elsewhere(request_: Any, recorded: Any, given: Any, told: str) -> None:
    assert told in (difference(request_, recorded, given) or "")


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ({"subtype": "set_model", "model": "m"}, {"model": "m"}),
        ({"subtype": "set_permission_mode", "mode": "plan"}, {"mode": "plan"}),
        ({"subtype": "interrupt"}, {"still_queued": []}),
        ({"subtype": "mcp_status"}, {"mcpServers": []}),
    ],
)
def test_what_was_not_recorded_is_answered_as_the_client_would(request_: Any, answer: Any) -> None:
    reply = reply_to({"type": "control_request", "request_id": "r", "request": request_}, None, [])
    assert reply["response"] == {"subtype": "success", "request_id": "r", "response": answer}


def test_what_nobody_knows_is_an_error() -> None:
    reply = reply_to({"request_id": "r", "request": {"subtype": "get_context_usage"}}, None, [])["response"]
    assert (reply["subtype"], reply["request_id"]) == ("error", "r")
    assert "get_context_usage" in reply["error"] and "no recording" in reply["error"]
