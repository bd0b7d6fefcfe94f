"""What fills a context: exact in bytes, scaled in tokens, with what came and went; an estimate for older clients."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batches import table
from command import run
from limits import assert_linear
from making import attachment, jsonl, read, reply, system, told, user
from requested import RequestedSession, conversation, text_of

import reread
from reread.model.conversation import Agent
from reread.render.request_listing import context_lines
from reread.session import context_parts, places

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
    said = ["".join(text for _, text in line) for line in context_lines(reread.open(big.data).context())]
    assert any("system prompt and the tools" in line and "`reread rerun`" in line for line in said)
    assert not any("system prompt" in "".join(text for _, text in line) for line in context_lines(found))
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


def exact(parts: list[Any]) -> list[tuple[Any, ...]]:
    return [(part.kind, part.name, part.file, part.bytes, part.tokens) for part in parts]


def test_parts_are_exact_in_bytes_and_in_order() -> None:
    """A text has the bytes of its JSON without the quotes, anything else those of its JSON; a picture weighs less."""
    assert exact(reread.open(everything().data).context().parts) == [
        ("system", "", "", 76, 1),
        ("tool", "Read", "", 77, 1),
        ("mcp", "tiny", "", 80, 1),
        ("mcp", "", "", 45, 1),
        ("skills", "", "", 47, 1),
        ("memory", "/p/CLAUDE.md", "", 70, 1),
        ("memory", "instructions", "", 70, 1),
        ("reminder", "agent types", "", 54, 1),
        ("reminder", "", "", 51, 1),
        ("reminder", "environment", "", 24, 0),
        ("hook", "", "", 41, 1),
        ("summary", "", "", 74, 1),
        ("prompt", "", "", 7, 0),
        ("command", "", "", 31, 0),
        ("answer", "", "", 39, 0),
        ("thinking", "", "", 51, 1),
        ("call", "Read", "", 80, 1),
        ("result", "Read", "/p/a.py", 90, 1),
        ("picture", "", "", 40078, 80),
        ("structure", "", "", 465, 6),
    ]


def test_what_came_is_exact_and_has_its_share() -> None:
    session = reread.open(conversation(2).data)
    first, second, third = (session.context(request=number) for number in (1, 2, 3))
    assert exact(second.came) == [
        ("answer", "", "", 9, 1),
        ("call", "Read", "", 92, 9),
        ("result", "Read", "/p/1.py", 219, 22),
        ("structure", "", "", 89, 8),
    ]
    assert exact(third.came) == [("prompt", "", "", 32, 2), ("answer", "", "", 9, 0), ("structure", "", "", 113, 9)]
    assert first.came == first.parts and not first.went and not third.went
    assert [one.turn for one in (first, second, third)] == [1, 1, 2]
    assert (first.agent, first.model, first.proof, first.missing) == (None, "claude-sonnet-4-5", "verified", [])


@pytest.mark.parametrize(("turn", "about"), [(None, (2, 713)), (1, (1, 352)), (2, (2, 713))])
def test_an_estimate_is_exact_in_what_the_transcript_has(turn: int | None, about: tuple[int, int]) -> None:
    made = conversation(2)
    made.lines = [line for line in made.lines if not line["type"].startswith("api-request")]
    found = reread.open(made.data).context(turn=turn)
    assert ((found.turn, found.bytes), found.model, found.tokens) == (about, "claude-sonnet-4-5", 100)
    assert (found.proof, found.missing, found.went, found.scaled) == (None, [], [], True)
    first = [("result", "Read", "/p/1.py", 219, 31), ("result", "Read", "/p/2.py", 219, 30)]
    assert exact(found.parts) == (
        [("prompt", "", "", 64, 9), ("answer", "", "", 27, 4), ("call", "Read", "", 184, 26), *first]
        if turn != 1
        else [
            *(("prompt", "", "", 32, 9), ("answer", "", "", 9, 2), ("call", "Read", "", 92, 26)),
            *(("result", "Read", "/p/1.py", 219, 61), ("unrecorded", "", "", 0, 2)),
        ]
    )
    came = (2, 26, 61) if turn == 1 else (1, 13, 30)
    assert [(part.kind, part.bytes, part.tokens) for part in found.came] == [
        *zip(("answer", "call", "result"), (9, 92, 219), came, strict=True)
    ]


def test_an_estimate_of_a_first_response_has_nothing_before_it() -> None:
    said = user("hello"), reply("yes", id="m1", usage={"input_tokens": 10})
    found = read(*said).context()
    assert exact(found.parts) == [("prompt", "", "", 5, 1), ("unrecorded", "", "", 0, 9)]
    assert found.came == found.parts[:1] and found.went == []  # what is not recorded has no bytes
    bare = read(user("hello")).context(turn=1)
    assert (bare.turn, bare.tokens, bare.scaled, bare.model, bare.parts, bare.came) == (1, None, False, None, [], [])


@table(
    ("weights", "total", "shares"),
    [
        ((1, 1, 1), 100, (34, 33, 33)),
        ((1, 1, 1), 101, (34, 34, 33)),
        ((5, 3, 2), 10, (5, 3, 2)),
        ((1, 2, 4), 10, (1, 3, 6)),  # 1.43, 2.86, 5.71: the largest remainders get what is left
        ((0, 1, 0), 7, (0, 7, 0)),
        ((0, 0, 0), 7, (None, None, None)),
        ((1, 1, 1), None, (None, None, None)),
        ((1, 1, 1), 0, (0, 0, 0)),
    ],
)
def test_tokens_are_shared_out_by_weight(weights: Any, total: int | None, shares: Any) -> None:
    sizes = context_parts.PartSizes()
    for name, weight in zip("abc", weights, strict=True):
        sizes.add(context_parts.PartKey("tool", name), 9, weight)
    assert tuple(sizes.tokens(total).values()) == shares


def test_a_byte_more_came_and_no_more_came_not() -> None:
    old, new = context_parts.PartSizes(), context_parts.PartSizes()
    for name, before, after in (("a", 4, 5), ("b", 4, 4), ("c", 4, 3), ("d", 0, 4)):
        key = context_parts.PartKey("tool", name)
        if before:
            old.add(key, before)
        new.add(key, after)
    more = [exact(list(context_parts._more(one, one.tokens(160), other))) for one, other in ((new, old), (old, new))]
    assert more == [[("tool", "a", "", 1, 10), ("tool", "d", "", 4, 40)], [("tool", "c", "", 1, 13)]]


def test_sizes_add_up_and_a_copy_is_a_copy() -> None:
    key = context_parts.PartKey("picture")
    sizes = context_parts.PartSizes()
    sizes.add(key, 10)
    sizes.add(key, 10, 3)
    copy = context_parts.PartSizes(sizes)
    copy.add(key, 1, 0)
    assert (sizes.bytes, sizes.weights) == ({key: 20}, {key: 13})
    assert (copy.bytes, copy.weights) == ({key: 21}, {key: 13})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Read", ("tool", "Read")),
        ("mcp__tiny__echo", ("mcp", "tiny")),
        ("mcp__tiny__echo__x", ("mcp", "tiny")),
        ("mcp__tiny", ("tool", "mcp__tiny")),
        ("mcp____echo", ("tool", "mcp____echo")),
        ("my__tiny__echo", ("tool", "my__tiny__echo")),
    ],
)
def test_tools_of_a_server_are_told_by_their_names(name: str, key: tuple[str, str]) -> None:
    assert context_parts._tool_key(name)[:2] == key


OPEN, CLOSE = "<system-reminder>", "</system-reminder>"


@table(
    ("text", "role", "sizes"),
    [
        ("hello", "user", {"prompt": 5}),
        ("", "user", {}),
        (" \n", "user", {"structure": 3}),
        (" <command-name>x", "user", {"command": 16}),
        ("<local-command-stdout>", "user", {"command": 22}),
        ("<bash-input>", "user", {"command": 12}),
        ("x <bash-input>", "user", {"prompt": 14}),
        ("\nThis session is being continued from a previous conversation", "user", {"summary": 62}),
        (f"a{OPEN}b{CLOSE}cd{OPEN}{CLOSE}", "user", {"prompt": 3, "reminder": 71}),
        (f"a{OPEN}b", "user", {"prompt": 19}),
        (f"{CLOSE}a{OPEN}b{CLOSE}", "user", {"prompt": 19, "reminder": 36}),
        (f"a{OPEN}b{CLOSE}", "assistant", {"prompt": 37}),
        ("plain", "system", {"reminder": 5}),
        ("plain\n# Environment\nx", "system", {"reminder": 7, "reminder environment": 16}),
        ("plain # Environment", "system", {"reminder": 19}),
        ("# Environment", "system", {"reminder environment": 13}),
        ("# gitStatus", "system", {"reminder git status": 11}),
        ("You are powered by the model x", "system", {"reminder model": 30}),
        ("# Language\nFrench", "system", {"reminder language": 18}),
        ("# Language models", "system", {"reminder": 17}),
        ("# Output Style: Terse", "system", {"reminder output style": 21}),
        ("- a\nTerse output style is active.", "system", {"reminder": 5, "reminder output style": 29}),
        ("The following deferred tools are", "system", {"reminder deferred tools": 32}),
        ("# claudeMd", "system", {"memory instructions": 10}),
        ("Contents of /a/b (x", "system", {"memory /a/b": 19}),
        ("Stop hook error: x", "system", {"hook": 18}),
        ("# MCP Server Instructions", "system", {"mcp": 25}),
        ("The following skill", "system", {"skills": 19}),
    ],
)
def test_a_text_is_split_into_what_it_says(text: str, role: str, sizes: dict[str, int]) -> None:
    found = context_parts.PartSizes()
    context_parts._add_text(found, text, context_parts.PartKey("prompt"), role)
    assert {f"{key.kind} {key.name}".strip(): size for key, size in found.bytes.items()} == sizes
    assert found.weights == found.bytes


@table(
    ("block", "role", "parts"),
    [
        ({"type": "text", "text": "abc"}, "assistant", {("answer", "", ""): 3}),
        ({"type": "text", "text": "abc"}, "user", {("prompt", "", ""): 3}),
        ({"type": "text", "text": 5}, "user", {("prompt", "", ""): 24}),
        ({"type": "new"}, "assistant", {("answer", "", ""): 14}),
        ({}, "user", {("prompt", "", ""): 2}),
        ({"type": "document"}, "user", {("picture", "", ""): 19}),
        ({"type": "redacted_thinking"}, "assistant", {("thinking", "", ""): 28}),
        ({"type": "mcp_tool_use", "name": "x"}, "assistant", {("call", "x", ""): 34}),
        ({"type": "server_tool_use"}, "assistant", {("call", "", ""): 26}),
        ({"type": "tool_result", "tool_use_id": "1"}, "user", {("result", "Edit", "/f"): 40}),
        ({"type": "web_search_tool_result"}, "user", {("result", "", ""): 33}),
        ({"type": "tool_result", "content": "abc"}, "user", {("result", "", ""): 38}),
        (
            {"type": "tool_result", "content": f"a{OPEN}b{CLOSE}"},
            "user",
            {("result", "", ""): 36, ("reminder", "", ""): 36},
        ),
        ({"type": "tool_result", "content": [{"type": "x"}, 5]}, "user", {("result", "", ""): 49}),
        (
            {"type": "tool_result", "content": [{"type": "image"}]},
            "user",
            {("picture", "", ""): 16, ("result", "", ""): 35},
        ),
    ],
)
def test_a_block_is_a_part(block: dict[str, Any], role: str, parts: dict[tuple[str, ...], int]) -> None:
    found, calls = context_parts.PartSizes(), {"1": ("Edit", "/f")}
    context_parts._add_block(found, block, role, calls)
    assert found.bytes == parts


def test_a_picture_weighs_as_much_as_text_at_most() -> None:
    for size, weight in ((5_900, 5_900), (6_000, 6_000), (9_000, 6_000)):
        found = context_parts.PartSizes()
        block = {"type": "image", "x": ""}
        context_parts._add_block(found, {**block, "x": "y" * (size - len(text_of(block)))}, "user", {})
        assert (*found.bytes.values(), *found.weights.values()) == (size, weight)


def test_calls_name_the_file_that_they_are_about() -> None:
    calls: dict[str, tuple[str, str]] = {}
    for n, given in enumerate(
        ({"file_path": "/a"}, {"notebook_path": "/b", "path": "/x"}, {"path": "/c"}, {"p": "/d"})
    ):
        block = {"type": "tool_use", "id": str(n), "name": "T", "input": given}
        context_parts._add_block(context_parts.PartSizes(), block, "assistant", calls)
    context_parts._add_block(found := context_parts.PartSizes(), {"type": "tool_use", "name": "X"}, "assistant", calls)
    context_parts._add_block(found, {"type": "tool_result"}, "user", calls)
    assert [key[:2] for key in found.bytes] == [("call", "X"), ("result", "X")] and calls.pop("") == ("X", "")
    assert calls == {"0": ("T", "/a"), "1": ("T", "/b"), "2": ("T", "/c"), "3": ("T", "")}


def test_agents_and_requests_are_found_or_said_to_be_missing() -> None:
    agents = {id: Agent(id, lambda *_: b"") for id in ("a1", "a12", "b3")}
    assert [places.find_agent(agents, name) for name in ("a1", "a12", "b", "agent-b")] == [
        *agents.values(),
        agents["b3"],
    ]
    for name, count in (("a", "2"), ("c", "No")):
        with pytest.raises(reread.NotFound, match=f"{count} agents of this session have an id that begins with"):
            places.find_agent(agents, name)
    assert "from 2.1.325 on" in places.no_request_text(0, 1)
    assert places.no_request_text(1, 7) == "No request 7; this session has 1 request."
    session = reread.open(conversation(1).data)
    assert [session.context(request=number).request for number in (1, 2)] == [1, 2]
    for number in (0, 3):
        with pytest.raises(places.NoSuchRequest, match=f"No request {number}; this session has 2 requests"):
            session.context(request=number)
    assert session.context().request == session.context(turn=1).request == 2
    plain = read(user("go"), reply("yes", usage={"input_tokens": 5}))
    assert plain.context(turn=1).turn == 1
    for turn in (0, 2):
        with pytest.raises(reread.NotFound, match=f"No turn {turn}; this session has 1 turn"):
            plain.context(turn=turn)


def test_attachments_are_what_their_types_say() -> None:
    for type, key in (
        ("hook_success", ("hook", "")),
        ("async_hook_response", ("hook", "")),
        ("nested_memory", ("memory", "")),
        ("memory", ("memory", "")),
        ("skill_listing", ("skills", "")),
        ("todo", ("reminder", "todo")),
        ("prompt_snapshot", None),
        ("", ("reminder", "")),
    ):
        found = context_parts.PartSizes()
        context_parts._add_attached(found, {"type": type})
        assert [(*part[:2], size) for part, size in found.bytes.items()] == ([(*key, 11 + len(type))] if key else [])
    context_parts._add_attached(found, {})
    assert len(found.bytes) == 1


def test_a_request_without_a_response_has_no_tokens() -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    made.send([{"role": "user", "content": "Hello"}])
    found = reread.open(made.data).context()
    assert (found.tokens, found.scaled, found.request) == (None, False, 1)
    assert found.parts and all(part.tokens is None for part in [*found.parts, *found.came])


def test_a_request_before_all_turns_is_that_of_none() -> None:
    made = RequestedSession()
    made.send([{"role": "user", "content": "Hello"}])
    made.row("user", "Hello")
    made.row("assistant", [{"type": "text", "text": "Done"}], id="m")
    session = reread.open(made.data)
    assert session.context(turn=1).turn == session.context(turn=1, request=1).request == 1


def test_a_turn_is_part_of_a_name_or_given(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(conversation(2).data)
    for source, more, request in ((path, {}, 4), (f"{path}:1", {}, 2), (f"{path}:1", {"turn": 2}, 4)):
        assert reread.context(source, **more).request == request


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
    shown = run("show", f"{path}:req-latest", "--full").stdout
    assert "Request 5 of 5" in shown
    assert "verified: the client's digest is equal" in shown
    assert "mcp__tiny__echo" in shown
    assert "\x1b]" not in shown and "\x1b[2J" not in shown
    value = json.loads(run("show", f"{path}:req3", "--format", "json").stdout)
    request = reread.open(path).requests[2]
    assert (value["number"], value["verified"], value["messages"]) == (3, True, request.messages)
    assert value["cache_marks"][0]["path"] == ["messages", 5, "content", 0]
    schema = json.loads(run("show", "latest:req1", "--schema").stdout)
    assert set(schema["$defs"]["RequestValue"]["required"]) == set(value)
    assert run("show", f"{path}:req9").returncode == 1


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
    value = json.loads(run("context", f"{path}:req2", "--json").stdout)
    assert value["bytes"] == sum(part["bytes"] for part in value["parts"])
    schema = json.loads(run("context", "--schema").stdout)
    assert set(schema["$defs"]["Context"]["required"]) == set(value)
    assert reread.context(path, request=2).bytes == value["bytes"]
    assert run("context", f"{path}:req99").returncode == 1
    assert run("context", f"{path}:req-latest").stdout == run("context", str(path)).stdout
    assert run("context", f"{path}:a:req1").returncode == 2


@pytest.mark.parametrize("compacted", [False, True])
def test_the_contexts_of_all_turns_take_linear_time(compacted: bool) -> None:
    boundary = system("compact_boundary", "Compacted", compactMetadata={"trigger": "auto", "preTokens": 100})
    between = [boundary, user("Summary", isCompactSummary=True)] if compacted else []

    def prepare(size: int) -> Callable[[], object]:
        turns = [(user(f"prompt {n}"), reply("answer", id=f"m{n}"), *between) for n in range(size)]
        made = reread.open(jsonl(*told(*(one for turn in turns for one in turn)))).conversation
        numbers = [turn.index for turn in made.turns]
        return lambda: list(context_parts.contexts_at(made, numbers))

    assert_linear(prepare, 1500, enough=0.6)
