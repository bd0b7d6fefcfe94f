"""What fills a context: exact in bytes, scaled in tokens, with what came and went; an estimate for older clients."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import run
from making import attachment, read, reply, system, user
from requested import RequestedSession, conversation, text_of

import reread
from reread.render.request_listing import context_lines

REMINDER = "<system-reminder>\n{}\n</system-reminder>"
MEMORY = "Codebase and user instructions are shown below.\n\nContents of /p/CLAUDE.md (project):\n\nBe brief.\n"
CLIENT = (
    "# Environment\nLinux\n\nSessionStart:startup hook success: hi\n\nThe following skills are available:\n- demo\n\n"
    "# MCP Server Instructions\n## tiny\nEcho.\n\nAvailable agent types for the Agent tool:\n- Explore\n"
)
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 40_000}}


def everything() -> RequestedSession:
    made = RequestedSession()
    use = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/p/a.py"}}
    inside = [{"type": "text", "text": "text " + REMINDER.format("Mind the é.")}, PICTURE]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": REMINDER.format(MEMORY) + "\nHello"}]},
        {"role": "system", "content": CLIENT},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "s"}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": inside}]},
        {"role": "user", "content": "<command-name>/x</command-name>"},
        {"role": "user", "content": "This session is being continued from a previous conversation. Summary: …"},
        {"role": "assistant", "content": [{"type": "text", "text": "An answer"}, {"type": "new", "content": "odd"}]},
    ]
    made.row("user", "Hello")
    made.send(messages)
    made.row("assistant", [{"type": "text", "text": "Done"}], id="msg_1")
    return made


def test_every_part_of_a_request_has_a_name() -> None:
    found = reread.open(everything().data).context()
    assert {(part.kind, part.name, part.file) for part in found.parts} == {
        ("system", "", ""),
        ("tool", "Read", ""),
        ("mcp", "tiny", ""),
        ("mcp", "", ""),
        ("skills", "", ""),
        ("memory", "instructions", ""),
        ("memory", "/p/CLAUDE.md", ""),
        *(("reminder", name, "") for name in ("", "environment", "agent types")),
        ("hook", "", ""),
        ("summary", "", ""),
        ("prompt", "", ""),
        ("command", "", ""),
        ("answer", "", ""),
        ("thinking", "", ""),
        ("call", "Read", ""),
        ("result", "Read", "/p/a.py"),
        ("picture", "", ""),
        ("structure", "", ""),
    }
    assert (found.turn, found.request, found.verified, found.estimate, found.scaled) == (1, 1, True, False, True)


@pytest.mark.parametrize("made", [everything(), conversation(3)])
def test_the_parts_add_up_to_the_request_and_to_its_tokens(made: RequestedSession) -> None:
    session = reread.open(made.data)
    for request in session.requests:
        found = session.context(request=request.number)
        assert found.bytes == sum(part.bytes for part in found.parts) == len(text_of(request.body).encode())
        assert found.tokens == 100 == sum(part.tokens or 0 for part in found.parts)


def test_what_came_and_went_is_the_difference_to_the_request_before() -> None:
    made = conversation(2)
    made.row("user", "Go on")
    tools = [{"name": "Bash", "description": "Runs", "input_schema": {}}]
    made.send([{"role": "user", "content": "Go on"}], tools=tools)
    made.row("assistant", [{"type": "text", "text": "Yes"}], id="msg_x", usage={"input_tokens": 20, "output_tokens": 1})
    session = reread.open(made.data)
    second, last = session.context(request=2), session.context(turn=3)
    assert {part.kind for part in second.came} == {"answer", "call", "result", "structure"}
    assert not second.went
    assert ("tool", "Bash") in [(part.kind, part.name) for part in last.came]
    assert {part.kind for part in last.went} >= {"tool", "mcp", "reminder", "answer", "call", "result"}
    assert last.tokens == 20


def test_without_requests_the_parts_are_an_estimate() -> None:
    made = conversation(2)
    made.lines = [line for line in made.lines if not line["type"].startswith("api-request")]
    session = reread.open(made.data)
    found = session.context(turn=2)
    assert (found.estimate, found.request, found.verified, found.turn) == (True, None, False, 2)
    assert {part.kind for part in found.parts} >= {"prompt", "answer", "call", "result"}
    assert sum(part.tokens or 0 for part in found.parts) == found.tokens == 100
    assert "unrecorded" not in {part.kind for part in found.parts}
    big = RequestedSession()
    big.row("user", "Hi " * 1200)
    big.row("assistant", [{"type": "text", "text": "Ho"}], id="m", usage={"input_tokens": 9000, "output_tokens": 1})
    parts = {part.kind: part for part in reread.open(big.data).context().parts}
    assert parts["unrecorded"].bytes == 0
    assert parts["prompt"].tokens == pytest.approx(1000, rel=0.02), "one token is 3.6 bytes"
    assert (parts["unrecorded"].tokens or 0) > 7900
    nothing = reread.open(b"").context()
    assert nothing.parts == []
    assert "".join(text for _, text in next(context_lines(nothing))).endswith(" · no turn · estimate")


@pytest.mark.parametrize(("boundary", "told_all"), [("compact_boundary", False), ("microcompact_boundary", True)])
def test_an_estimate_begins_after_the_last_compaction(boundary: str, told_all: bool) -> None:
    """The words before a compaction are told no more; where old results are cleared, they are."""
    old = "words " * 500
    said = [user(old), reply("yes", id="m1", usage={"input_tokens": 900}), system(boundary), user("go on")]
    found = read(*said, reply("done", id="m2", usage={"input_tokens": 2000})).context()
    prompt = next(part.bytes for part in found.parts if part.kind == "prompt")
    assert (prompt > len(old)) is told_all and found.estimate


def test_an_estimate_counts_what_is_attached() -> None:
    attached = [attachment(type, {"content": "x" * 400}) for type in ("hook_success", "todo_reminder", "skill_listing")]
    said = [user("go"), *attached, attachment("prompt_snapshot", {"content": "x" * 400})]
    parts = read(*said, reply("done", id="m1", usage={"input_tokens": 2000})).context().parts
    found = {(part.kind, part.name) for part in parts if part.bytes > 400}
    assert found == {("hook", ""), ("reminder", "todo_reminder"), ("skills", "")}


def test_a_place_that_is_not_there_is_named() -> None:
    data = conversation(1).data
    session = reread.open(data)
    for options, text in (({"request": 9}, "No request 9"), ({"turn": 5}, "No turn 5"), ({"agent": "zz"}, "No agents")):
        with pytest.raises(reread.NotFound, match=text):
            session.context(**options)
    lines = [line for line in data.splitlines(keepends=True) if b'"api-request' not in line]
    with pytest.raises(reread.NotFound, match=r"from 2\.1\.325 on"):
        reread.open(b"".join(lines)).context(request=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    made = conversation(2)
    made.row("user", "evil \x1b]0;title\x07")
    made.send(
        [{"role": "user", "content": "evil \x1b]0;title\x07"}], system=[{"type": "text", "text": "Be \x1b[2J long."}]
    )
    path.write_bytes(made.data)
    return path


def test_a_request_is_shown_and_printed_as_json(path: Path) -> None:
    shown = run("show", str(path), "--request", "latest", "--full").stdout
    assert "Request 5 of 5" in shown
    assert "verified: the client's digest is equal" in shown
    assert "mcp__tiny__echo" in shown
    assert "\x1b]" not in shown and "\x1b[2J" not in shown
    value = json.loads(run("show", str(path), "--request", "3", "--format", "json").stdout)
    request = reread.open(path).requests[2]
    assert (value["number"], value["verified"], value["messages"]) == (3, True, request.messages)
    assert value["cache_marks"][0]["path"] == ["messages", 5, "content", 0]
    schema = json.loads(run("show", "--schema", "--request", "1").stdout)
    assert set(schema["$defs"]["RequestValue"]["required"]) == set(value)
    assert run("show", str(path), "--request", "9").returncode == 1
    assert run("show", str(path), "--request", "x").returncode == 2


def test_two_requests_are_compared(path: Path) -> None:
    value = json.loads(run("diff", f"{path}:req2", f"{path}:req3", "--json").stdout)["requests"]
    assert [(one["part"], one["change"], one["name"]) for one in value] == [
        ("message", "added", "5"),
        ("message", "added", "6"),
    ]
    last: list[Any] = reread.diff(f"{path}:req5").requests or []
    assert ("system", "edited", "1") in [(one.part, one.change, one.name) for one in last]
    assert ("system", "dropped", "2") in [(one.part, one.change, one.name) for one in last]
    shown = run("diff", f"{path}:req4", f"{path}:req5").stdout
    assert "~ system 1" in shown and "−You are a helper." in shown.replace("-You", "−You")
    assert run("diff", f"{path}:req1").returncode == 2
    assert run("diff", f"{path}:req1", f"{path}:2").returncode == 2


def test_the_verb_prints_bars_and_json(path: Path) -> None:
    shown = run("context", f"{path}:1").stdout
    assert "100 tokens" in shown and "Tokens are scaled" in shown and "█" in shown
    assert "came in since the request before" in shown
    value = json.loads(run("context", str(path), "--request", "2", "--json").stdout)
    assert value["bytes"] == sum(part["bytes"] for part in value["parts"])
    schema = json.loads(run("context", "--schema").stdout)
    assert set(schema["$defs"]["Context"]["required"]) == set(value)
    assert reread.context(path, request=2).bytes == value["bytes"]
    assert run("context", str(path), "--request", "99").returncode == 1
    assert run("context", str(path), "--request", "latest").stdout == run("context", str(path)).stdout
    assert [run("context", str(path), *words).returncode for words in (["--request", "x"], ["--request", "a:1"])] == [
        2,
        2,
    ]
    assert run("context", str(path), "--request", "a:1", "--agent", "b").returncode == 2
