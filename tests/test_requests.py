"""API requests are rebuilt as they were sent, proven by the client's digest, and say what is missing."""

import json
import pickle
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import run
from effort import one_in
from requested import RequestedSession, conversation, hash_of, in_blocks, text_of, unmarked

import reread
from reread.base import jsontext
from reread.base.canonical_json import canonical
from reread.model.request import RequestChange, request_changes
from reread.reader.request_view import request_body
from reread.reader.session_view import SessionView
from reread.render.request_listing import (
    change_title,
    context_lines,
    proof_text,
    request_change_lines,
    request_lines,
    request_value,
)
from reread.tools.nodes import Note

pytestmark = one_in(3)

HELLO = {"role": "user", "content": "Hello"}


def hello(**fields: Any) -> RequestedSession:
    made = RequestedSession()
    made.row("user", "Hello")
    made.send([HELLO], **fields)
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [None, True, False]}, '{"a":[null,true,false],"b":1}'),
        ({"\U0001f600": 1, "\ufb01": 2}, '{"\U0001f600":1,"\ufb01":2}'),  # UTF-16 sorts the pair first
        ("é\u2028/\x7f\x1f\b", '"é\u2028/\x7f\\u001f\\b"'),
        ("\ud83d!", '"\\ud83d!"'),
        (1.0, "1"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (12345678901234567890, "12345678901234567000"),
        (-1.5e-7, "-1.5e-7"),
        (1e-7, "1e-7"),
        (0.000001, "0.000001"),
        (123.456, "123.456"),
        (10**400, "null"),
        (float("nan"), "null"),
    ],
)
def test_json_is_written_as_javascript_writes_it(value: Any, text: str) -> None:
    assert canonical(value) == text.encode()
    assert canonical([value, {"\xe9": value}]) == f'[{text},{{"\xe9":{text}}}]'.encode()


def test_cache_marks_are_left_out_at_any_depth() -> None:
    value = {"a": [{"cache_control": 1, "b": {"cache_control": {}}}]}
    assert canonical(value, marks=False) == b'{"a":[{"b":{}}]}'


def test_every_request_is_rebuilt_as_it_was_sent() -> None:
    made = conversation(4)
    session = reread.open(made.data)
    assert len(session.requests) == 8
    for request, body in zip(session.requests, made.sent, strict=True):
        assert request.verified and not request.missing
        assert request.body == {**body, "messages": [in_blocks(message) for message in body["messages"]]}
    assert [request.number for request in session.requests[2:4]] == [3, 4]
    assert [request.response.id for request in session.requests if request.response] == [
        f"msg_{n}{half}" for n in range(1, 5) for half in "ab"
    ]
    assert [request.turn.index for request in session.requests if request.turn] == [1, 1, 2, 2, 3, 3, 4, 4]
    last = session.requests[-1]
    assert (last.model, last.query_source, last.agent) == ("claude-sonnet-4-5", "sdk", None)
    assert [mark.path for mark in last.cache_marks] == [["messages", 15, "content", 0]]
    fresh = reread.open(made.data).requests[-1]
    assert [session.records[row].type for row in fresh.rows(14)] == ["assistant", "assistant"]
    assert last.rows(0) == ()


def test_a_message_is_known_by_its_row_though_that_has_cache_marks() -> None:
    made = RequestedSession()
    text = {"type": "text", "text": "Hello"}
    made.row("user", [{**text, "cache_control": {"type": "ephemeral"}}])
    made._written.add(hash_of({"role": "user", "content": [text]}))  # pyright: ignore[reportPrivateUsage]
    made.send([{"role": "user", "content": [text]}])
    (request,) = reread.open(made.data).requests
    assert not request.missing and list(request.rows(0)) == [0]


@pytest.mark.parametrize("order", [range(12), range(11, -1, -1), [11, 0, 6, 2, 11]])
def test_requests_are_proven_in_any_order(order: list[int]) -> None:
    session = reread.open(conversation(6).data)
    assert all(session.requests[n].verified for n in order)


EXAMPLE = Path(__file__).parents[1] / "examples" / "cost"
REAL = Path(__file__).parent / "real" / "2.1.325"


def test_every_request_that_the_real_client_noted_is_proven() -> None:
    """Those of agents hold the client's own prose: `make try-client` proves them where the client runs."""
    (path,) = EXAMPLE.glob("projects/*/*.jsonl")
    session = reread.open(path)
    assert len(session.requests) == 9
    for number, request in enumerate(session.requests, 1):
        assert request.verified and not request.missing, number
        assert request.response is not None and request.turn is not None
    assert [request.turn.index for request in session.requests if request.turn] == [1, 1, 2, 2, 3, 4, 5, 5, 6]
    tools = [len(request.tools) for request in session.requests]
    assert tools == [1, 1, 1, 1, 1, 1, 3, 3, 3]


@pytest.mark.parametrize("name", ["agent", "deny", "interrupt_tool", "parallel", "plain"])
def test_a_request_whose_words_were_left_out_is_rebuilt_and_not_proven(name: str) -> None:
    (path,) = (REAL / name).glob("projects/*/*.jsonl")
    session = reread.open(path)
    requests = [request for thread in (session.conversation, *session.agents.values()) for request in thread.requests]
    assert len(requests) >= 1
    for request in requests:
        assert request.tools and request.system and not request.verified
        assert all(part.startswith("message ") for part in request.missing)
        assert request.messages.count(None) == len(request.missing) < len(request.messages)


def test_a_changed_word_is_noticed() -> None:
    data = conversation(2).data
    for old, new in (
        (b"Be short", b"Be terse"),
        (b"Reads a file", b"Reads a bile"),
        (b'"max_tokens": 32000', b'"max_tokens": 3200'),
    ):
        assert old in data
        session = reread.open(data.replace(old, new))
        assert not any(request.verified for request in session.requests)
    changed = reread.open(data.replace(b"Question 1", b"Question 9"))
    assert changed.requests[0].missing == ["message 2 of 2"]
    assert changed.requests[0].proof == "incomplete"


def test_a_message_that_is_missing_keeps_its_place(tmp_path: Path) -> None:
    made = conversation(2)
    path = tmp_path / f"{made.id}.jsonl"
    path.write_bytes(made.data.replace(b"line 1", b"gone 1"))
    request = reread.open(path).requests[3]
    sent = [in_blocks(message) for message in made.sent[3]["messages"]]
    assert request.messages == [None if n == 3 else unmarked(message) for n, message in enumerate(sent)]
    assert request.body["messages"] == [None if n == 3 else message for n, message in enumerate(sent)]
    assert request.missing == ["message 4 of 8"]
    shown = run("show", f"{path}:req4").stdout
    assert "\nMessage 4 · missing\n" in shown and "\nMessage 8 · user · cached up to here\n" in shown
    assert "not verified; missing: message 4 of 8" in shown
    value = json.loads(run("show", f"{path}:req4", "-f", "json").stdout)
    assert (value["messages"][3], value["proof"]) == (None, "incomplete")
    stat = run("diff", f"{path}:req1", f"{path}:req2", "--stat").stdout
    assert "+ message 4 · missing\n" in f"{stat}\n"
    assert "message 4" not in run("diff", f"{path}:req3", f"{path}:req4", "--stat").stdout  # missing in both alike
    context = reread.open(path).context(request=4)
    assert context.bytes == sum(part.bytes for part in context.parts) == len(text_of(request.body).encode())
    shown = run("context", str(path)).stdout
    assert "Bytes are those of what the transcript has; not verified; missing: message 4 of 8." in shown
    thread = SessionView(reread.open(path), "key").thread()
    notes = [node.text for node in request_body(thread, 4, changes=False, whole=False).nodes if isinstance(node, Note)]
    assert notes == ["Message 4 · missing"]
    assert Note(text="+ message 4 · missing") in request_body(thread, 2, changes=True, whole=False).nodes


def test_messages_keep_their_places_after_those_of_a_request_that_is_gone() -> None:
    made = conversation(2)
    lines = [line for line in made.lines if line.get("id") != "request-3"]
    request = reread.open("".join(json.dumps(line) + "\n" for line in lines).encode()).requests[2]
    assert request.missing == ["messages of an earlier request"]
    assert request.messages[:6] == [None] * 6 and len(request.messages) == 8
    assert "cache_control" in request.body["messages"][7]["content"][-1]


def test_edited_messages_of_which_one_is_missing_say_which() -> None:
    changes = [
        RequestChange(part="message", change="edited", name="4", before=before, after=after)
        for before, after in ((None, HELLO), (HELLO, None), (None, None))
    ]
    assert list(map(change_title, changes)) == [
        "message 4 · user · missing before",
        "message 4 · user · missing now",
        "message 4 · missing before · missing now",
    ]


def test_user_rows_without_an_answer_between_them_are_one_message() -> None:
    made = RequestedSession()
    made.row("user", "One")
    made.send([{"role": "user", "content": "One"}])
    made.row("user", "Two")
    made.send([{"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]}])
    session = reread.open(made.data)
    assert [request.verified for request in session.requests] == [True, True]
    assert [request.response for request in session.requests] == [None, None]
    assert not any(line["type"] == "api-request-blob" for line in made.lines)


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"shapeHash": "0" * 64}, ["system prompt and tools"]),
        ({"base": "gone", "keep": 3}, ["messages of an earlier request"]),
        ({"base": "request-1", "keep": 3}, ["messages of an earlier request"]),
        ({"keep": 10**18}, ["messages of an earlier request"]),
        ({"tail": ["0" * 64, 7]}, ["message 1 of 2", "message 2 of 2"]),
        ({"withheld": ["temperature"]}, ["parameter temperature"]),
        ({"cut": {"kind": "x"}, "requestDigest": None}, ["what the client cut out before it noted the request"]),
    ],
)
def test_what_is_missing_is_said(fields: dict[str, Any], missing: list[str]) -> None:
    request = reread.open(hello(**fields).data).requests[0]
    assert request.missing == missing
    assert request.verified is ("withheld" in fields)
    assert isinstance(request.body, dict)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "verified: the client's digest is equal"),
        ({"requestDigest": None}, "not verified: the client wrote no digest"),
        ({"requestDigest": "0" * 64}, "not verified: the client's digest is another"),
        ({"tail": ["0" * 64]}, "not verified; missing: message 1 of 1"),
    ],
)
def test_a_request_that_is_not_proven_says_why(fields: dict[str, Any], text: str) -> None:
    request = reread.open(hello(**fields).data).requests[0]
    assert proof_text(request.proof, request.missing) == text


def test_requests_that_refer_to_each_other_end() -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    for n in range(1, 40):
        made.send([HELLO], base=f"request-{n % 7 + n // 2}", keep=n, tail=["0" * 64] * (n % 3))
    for request in reread.open(made.data).requests:
        assert not request.verified or not request.missing


HOSTILE: list[Any] = [
    *(None, 7, -5, 10**400, 1.5, "word", "\ud800", [1, None], {"a": {"b": 1}}, [["messages", 0], {"path": 3}]),
    [{"path": ["messages", -1, "content", 10**30], "value": {}}, {"path": ["messages", [1], {}], "value": 3}],
    [{"path": ["messages", 0, "content", "x"], "value": {}}],
    {"system": [7, None, {"text": 4}], "tools": [1, {"name": 5, "description": 9}]},
    {"role": 5, "content": [1, {"type": ["x"]}, {"type": "tool_result", "content": [3, {"type": "image"}]}]},
    {"role": "user", "content": [{"type": "tool_use", "id": [], "name": {}, "input": [1]}]},
    {
        "cache_read_input_tokens": 10**400,
        "input_tokens": -(10**400),
        "cache_creation": {"ephemeral_1h_input_tokens": "x"},
    },
]
NOTED = (
    "id",
    "base",
    "keep",
    "tail",
    "params",
    "cacheControl",
    "shapeHash",
    "requestDigest",
    "querySource",
    "timestamp",
)
PLACES = [
    *(("api-request", name) for name in (*NOTED, "cut", "withheld")),
    *(("api-request-shape", name) for name in ("shapeHash", "shape")),
    *(("api-request-blob", name) for name in ("hash", "message")),
    *(("assistant", name) for name in ("message", "usage")),
]


@pytest.mark.parametrize("place", PLACES, ids="-".join)
def test_records_of_any_shape_can_be_asked_anything(place: tuple[str, str]) -> None:
    type, name = place
    for value in HOSTILE:
        made = conversation(1)
        for line in made.lines:
            if line["type"] == type:
                (line["message"] if name == "usage" else line)[name] = value
        session = reread.open("".join(json.dumps(line) + "\n" for line in made.lines).encode())
        thread = SessionView(session, "key").thread()
        for request in session.requests:
            lines = [
                *request_lines(request, 2, full=True),
                *request_change_lines(request_changes(session.requests[0], request)),
            ]
            assert lines and jsontext.dumps(msgspec.to_builtins(request_value(request)))
            context = session.context(request=request.number)
            assert sum(part.bytes for part in context.parts) == context.bytes and list(context_lines(context))
            assert context.tokens is None or sum(part.tokens or 0 for part in context.parts) == context.tokens
            assert len(request.messages) == len(request.body["messages"])
            for changes in (True, False):
                assert request_body(thread, request.number, changes=changes, whole=False).nodes
        written = session.usage.cache_write_5m_tokens + session.usage.cache_write_1h_tokens
        assert sum(found.tokens for found in session.cache_breaks) <= written


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("axc", [("edited", "2")]),
        ("ac", [("dropped", "2")]),
        ("abxc", [("added", "3")]),
        ("xyc", [("edited", "1"), ("edited", "2")]),
        ("abc", []),
    ],
)
def test_only_what_differs_is_a_change(after: str, expected: list[tuple[str, str]]) -> None:
    made = RequestedSession()
    for words in ("abc", after):
        made.send([HELLO], system=[{"type": "text", "text": word} for word in words])
    changes = request_changes(*reread.open(made.data).requests)
    assert [(one.change, one.name) for one in changes] == expected


def test_text_nested_too_deep_is_missing() -> None:
    made = hello()
    deep = json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": 1}}).replace(
        ": 1", ": " + "[" * 50_000 + "]" * 50_000
    )
    session = reread.open(deep.encode() + b"\n" + made.data)
    assert [request.missing for request in session.requests] == [["message 1 of 1"]]


def test_an_agent_has_its_own_and_may_continue_the_main_thread(tmp_path: Path) -> None:
    made, inner = conversation(1), RequestedSession(agentId="a1", isSidechain=True)
    inner.row("user", "Look around")
    inner.send([HELLO, {"role": "user", "content": "Look around"}])
    inner.lines = [line for line in inner.lines if line["type"] != "api-request-blob"]
    made.row("user", "Hello")
    path = tmp_path / f"{made.id}.jsonl"
    made.row("assistant", [{"type": "text", "text": "Done."}], id="msg_9")
    path.write_bytes(made.data)
    folder = tmp_path / made.id / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(inner.data)
    session = reread.open(path)
    agent = session.agents["a1"]
    assert (len(session.requests), len(agent.requests)) == (2, 1)
    request = agent.requests[0]
    assert request.agent is agent
    assert request.messages[-1] == in_blocks({"role": "user", "content": "Look around"})
    assert request.verified and not request.missing
    changed = run("diff", f"{path}:a1:req1", f"{path}:req1", "--stat")
    assert changed.returncode == 0 and "message" in changed.stdout
    assert "No request 7" in run("diff", f"{path}:a:req7", f"{path}:a1:req1").stderr
    assert "No agents" in run("diff", f"{path}:zz:req1", f"{path}:a1:req1").stderr
    assert pickle.loads(pickle.dumps(session.requests[1])).id == session.requests[1].id


def test_a_session_of_an_older_client_has_none() -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    assert len(reread.open(made.data).requests) == 0


def test_requests_that_come_while_a_session_is_read_are_there(tmp_path: Path) -> None:
    data = conversation(2).data
    lines = data.splitlines(keepends=True)
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    half = next(n for n, line in enumerate(lines) if b"Question 2" in line)
    path.write_bytes(b"".join(lines[:half]))
    session = reread.open(path)
    assert [request.verified for request in session.requests] == [True, True]
    with reread.follow(session, heartbeat=50) as changes:
        path.write_bytes(data)
        for _ in changes:
            if len(session.records) == len(lines):
                break
    assert [request.verified for request in session.requests] == [True] * 4


def test_the_digest_is_that_of_the_canonical_text() -> None:
    request = reread.open(conversation(1).data).requests[1]
    assert sha256(canonical(request.body)).hexdigest() == request.digest


def test_system_prompts_and_tools_are_searched_and_redacted(tmp_path: Path) -> None:
    keys = (
        "sk-ant-api03-" + "Zq9" * 31 + "AA",
        "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "xoxb-" + "1234567890-" * 2 + "aBcDeFgHiJkLmNoPqRsTuVwX",
    )
    made = RequestedSession()
    made.row("user", "Hello")
    made.send(
        [{"role": "user", "content": f"<system-reminder>\nUse {keys[2]}\n</system-reminder>"}, HELLO],
        system=[{"type": "text", "text": f"The quokka has the key {keys[0]}."}],
        tools=[{"name": "Deploy", "description": f"Runs with {keys[1]}", "input_schema": {"type": "object"}}],
    )
    made.row("assistant", [{"type": "text", "text": "Hi"}], id="msg_1")
    path = tmp_path / f"{made.id}.jsonl"
    path.write_bytes(made.data)
    for query, found in (("kind:request quokka", 1), ("in:requests deploy", 1), ("quokka", 1), ("in:text quokka", 0)):
        hits = reread.search(query, root=tmp_path)
        assert [hit.kind for hit in hits] == ["request"] * found, query
    assert "quokka" not in run("show", str(path)).stdout
    for form in ("json", "jsonl", "markdown", "html"):
        out = tmp_path / f"out.{form}"
        assert run("share", str(path), "-f", form, "-o", str(out)).returncode == 0
        assert not [key for key in keys if key in out.read_text()]
    copy = reread.open(tmp_path / "out.jsonl").requests[0]
    assert "quokka" in copy.system[0]["text"]
    assert not copy.verified
