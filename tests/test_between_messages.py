"""What stands between messages, setups, ends of turns and other sessions, in every view; and texts that grow."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import run
from making import jsonl, reply, text, thinking, use, user

import reread
from reread.base.paths import SAMPLES
from reread.reader.session_view import SessionView
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.selection import Selection
from reread.render.terminal import ChangePrinter, TerminalView, make_console
from reread.session.changes import change_of

CAPTURED = next(SAMPLES.glob("conversations/*/*/7a3d0c16*.jsonl"))
FIRST, SECOND = "aaaa1111-0000-4000-8000-000000000001", "bbbb2222-0000-4000-8000-000000000002"


def turn(session: str, words: str, **result: Any) -> list[dict[str, Any]]:
    """A turn as the client prints it."""
    init = {"type": "system", "subtype": "init", "tools": ["Bash", "Read"], "permissionMode": "plan"}
    init["mcp_servers"] = [{"name": "db", "status": "failed"}]
    said = {"id": f"msg_{words}", "role": "assistant", "model": "claude-sonnet-5", "content": [text(words)]}
    end = {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 1200, "duration_api_ms": 900}
    records = [init, {"type": "assistant", "message": said}, {**end, "num_turns": 1, "total_cost_usd": 0.01, **result}]
    return [{**record, "session_id": session, "uuid": f"{words}{n}"} for n, record in enumerate(records)]


TWO = jsonl(*turn(FIRST, "One"), *turn(SECOND, "Two", subtype="error_max_turns", is_error=True))
SETUP = "set up: 2 tools · 1 MCP server: db (failed) · permission mode plan"
ENDS = (
    "ended: success · 1 turn · 1.2 s · API 900 ms · $0.01 so far",
    "ended: error max turns · 1 turn · 1.2 s · API 900 ms · $0.01 so far",
)


def terminal(session: Any, **selection: Any) -> str:
    console = make_console(width=200, force_terminal=False)
    with console.capture() as captured:
        for item in TerminalView(Selection(**selection)).session(session):
            console.print(item)
    return captured.get()


def markdown(session: Any, **selection: Any) -> str:
    return "\n".join(session_markdown(session, Selection(**selection))).replace("\\", "")


def reader(session: Any) -> str:
    page = SessionView(session, "key").page(0, 100, whole=True)
    return json.dumps(msgspec.to_builtins(page), ensure_ascii=False)


@pytest.mark.parametrize("view", [terminal, markdown, reader])
def test_each_turn_begins_with_its_setup_and_ends_with_its_outcome(view: Any) -> None:
    shown = view(reread.open(TWO))
    places = [shown.index(words) for words in ("One", ENDS[0], f"session {SECOND} begins", "Two", ENDS[1])]
    assert places == sorted(places) or view is reader
    assert shown.count(SETUP) == 2 and shown.count("ended:") == 2


def followed(session: Any) -> str:
    """What `tail` prints of a session from its first record."""
    console = make_console(width=200, force_terminal=False)
    printer = ChangePrinter(console, TerminalView(Selection()))
    with console.capture() as captured:
        for index in range(len(session.records)):
            printer.print(change_of(session.conversation, index))
    return captured.get()


@pytest.mark.parametrize("view", [terminal, markdown, reader, followed])
def test_a_setup_is_said_again_only_if_something_changed(view: Any) -> None:
    same = [turn(FIRST, words) for words in ("One", "Two", "Three", "Four")]
    same[2][0] |= {"permissionMode": "default", "tools": ["Bash", "Edit"], "mcp_servers": []}
    same[3][0] |= {"permissionMode": "default", "tools": ["Bash", "Edit"], "mcp_servers": []}
    shown = view(reread.open(jsonl(*(record for records in same for record in records))))
    assert shown.count("set up") == 2 and SETUP in shown
    assert "set up anew: tools +Edit −Read · permission mode plan → default · MCP servers −db (failed)" in shown


def test_what_a_stream_adds_is_printed_once() -> None:
    said = [turn(FIRST, "One")[0]]
    for words in ("Hel", "Hello wor", "Hello world."):
        record = turn(FIRST, "One")[1]
        record["message"] = {**record["message"], "content": [thinking("Hm"), text(words)]}
        said.append({**record, "uuid": words})
    shown = followed(reread.open(jsonl(*said, turn(FIRST, "One")[2])))
    lines = [line.strip() for line in shown.split("\n") if line.strip()]
    assert lines == [f"· {SETUP}", "∴ Hm", "Hel", "lo world.", f"· {ENDS[0]}"]


@pytest.mark.parametrize("view", [terminal, markdown])
def test_a_selected_turn_has_its_own_outcome(view: Any) -> None:
    shown = view(reread.open(TWO), turns=(2, 2))
    assert ENDS[1] in shown and ENDS[0] not in shown and shown.count(SETUP) == 1
    assert "ended:" not in view(reread.open(TWO), only="answers")


def test_json_has_the_outcomes_of_turns_and_the_setups_of_messages() -> None:
    value = json.loads(b"".join(session_json(reread.open(TWO))))
    assert [[result["subtype"] for result in turn["results"]] for turn in value["turns"]] == [
        ["success"],
        ["error_max_turns"],
    ]
    assert value["turns"][0]["results"][0]["duration_api_ms"] == 900
    assert [message["setups"][0]["permissionMode"] for message in value["messages"]] == ["plan", "plan"]
    assert [message["session"] for message in value["messages"]] == [None, SECOND]


def test_the_second_session_of_a_file_can_be_opened(tmp_path: Path) -> None:
    file = tmp_path / "projects" / "-x" / f"{FIRST}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(TWO)
    shown = run("show", SECOND[:8], home=tmp_path)
    assert "Two" in shown.stdout and "One" not in shown.stdout


def test_outcomes_that_no_message_precedes_are_shown_at_the_end() -> None:
    end = turn(FIRST, "One", is_error=True, result="Not logged in")[2]
    assert "Not logged in" in terminal(reread.open(jsonl(end)))
    assert terminal(reread.open(CAPTURED)).count("ended: success") == 1


def test_a_live_reader_is_told_of_the_end_of_a_turn() -> None:
    from reread.reader.lookup import touched_messages

    conversation = reread.open(TWO).conversation
    assert [message.index for message in touched_messages(conversation, 2)] == [0]


def responses(*contents: list[dict[str, Any]]) -> list[str]:
    """The texts and thoughts of a response whose records have these blocks."""
    session = reread.open(jsonl(user("go"), *(reply(*content) for content in contents)))
    return [getattr(block, "text", None) or getattr(block, "thinking", "") for block in session.messages[-1].blocks]


class TestGrowingTexts:
    def test_only_the_last_state_is_shown(self) -> None:
        assert responses([text("Hel")], [text("Hello")], [text("Hello, you")]) == ["Hello, you"]
        assert responses([thinking("hm")], [text("Hel")], [text("Hello")]) == ["hm", "Hello"]
        assert responses([text("Hel"), text("B")], [text("Hello"), text("B")]) == ["Hello", "B"]
        assert responses([text("Hel")], [text("Hello"), text("B")]) == ["Hello", "B"]

    def test_every_record_is_accounted_for(self) -> None:
        session = reread.open(jsonl(user("go"), reply(text("Hel")), reply(text("Hello"))))
        assert [fate.fate for fate in session.ledger] == ["shown", "shown", "merged"]

    def test_other_texts_that_begin_alike_are_kept(self) -> None:
        assert responses([text("Hello")], [use("t1")], [text("Hello, you")])[::2] == ["Hello", "Hello, you"]
        assert responses([text("Hello")], [text("Help")]) == ["Hello", "Help"]
        assert responses([text("Hello"), text("Hello, you")]) == ["Hello", "Hello, you"]
        other = reread.open(jsonl(user("go"), reply(text("Hel"), id="a"), reply(text("Hello"), id="b")))
        assert [message.text for message in other.messages[1:]] == ["Hel", "Hello"]
