"""The walk over what a message says: complete, in order, and the same for every view, search and selection."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batches import table
from effort import one_in
from hypothesis import given
from making import attachment, event, image, jsonl, printed, read, reply, result, system, text, thinking, use, user
from test_laws import ANY_TRANSCRIPT
from test_real_client import TRANSCRIPTS, name

import reread
from reread.base import jsontext
from reread.model import parts as p
from reread.model.conversation import Message
from reread.model.value_texts import strings
from reread.reader import schema
from reread.reader.drawing import PartBuilder, shown_parts
from reread.records import blocks as b
from reread.render.selection import Selection
from reread.render.sequence import is_drawn, message_sequence
from reread.session.changes import change_of


def walk(message: Message) -> list[tuple[str, str]]:
    """The class and kind of each part."""
    return [(type(part).__name__, part.kind) for part in p.message_parts(message)]


def texts(message: Message) -> list[str]:
    """The texts of all parts."""
    return [words for part in p.message_parts(message) for words in p.part_texts(part)]


def test_the_parts_of_a_prompt() -> None:
    session = read(
        user([text("<system-reminder>be nice</system-reminder>look"), image("QUJD"), text("and here")]),
        attachment("file", {"filename": "a.py", "content": {"file": {"content": "x = 1"}}}),
    )
    (prompt,) = session.messages
    assert walk(prompt) == [
        ("MessageText", "prompts"),
        ("MessageBlocks", "prompts"),
        ("MessageAside", "notices"),
        ("MessageAttachment", "notices"),
    ]
    assert texts(prompt) == ["look\n\nand here", "", "be nice", "a.py\nx = 1"]


def test_the_parts_of_a_response_are_in_the_order_of_its_blocks() -> None:
    cited = {**text("See the docs."), "citations": [{"type": "web", "url": "https://docs.test", "cited_text": "so"}]}
    odd = {"type": "new_block", "words": "unknown"}
    (_, response) = read(
        user("go"),
        reply(thinking("hm"), cited, use("a", command="ls"), odd, {"type": "redacted_thinking", "data": "x"}),
        user([result("a", "files", is_error=True)]),
    ).messages
    assert walk(response) == [
        ("MessageThinking", "thinking"),
        ("MessageText", "text"),
        ("TextCitations", "text"),
        ("MessageCall", "tools"),
        ("MessageBlocks", "text"),
        ("MessageThinking", "thinking"),
    ]
    assert texts(response)[2] == "web\nso\nhttps://docs.test"
    assert texts(response)[3].split("\n") == ["Bash", "ls", "files", "command"]
    assert "unknown" in texts(response)[4]


def test_a_result_without_a_call_in_a_response_is_a_block() -> None:
    known, orphan = ({**result(id, id), "type": "web_search_tool_result"} for id in ("known", "orphan"))
    search = {**use("known", "web_search"), "type": "server_tool_use"}
    (_, response) = read(user("go"), reply(search, known, orphan)).messages
    assert walk(response) == [("MessageCall", "tools"), ("MessageBlocks", "text")]
    assert "orphan" in texts(response)[1]


def test_a_call_whose_block_was_replaced_is_still_a_part() -> None:
    first, second = ({"type": "tool_use", "name": "Bash", "input": {"command": word}} for word in ("one", "one"))
    (_, response) = read(user("go"), reply(first, second)).messages
    assert [call.id for call in response.calls] == [
        part.call.id for part in p.message_parts(response) if isinstance(part, p.MessageCall)
    ]


@table(
    ("record", "expected"),
    [
        (user("<command-name>/model</command-name>"), [("MessageText", "prompts")]),
        (user("<local-command-stdout>set</local-command-stdout>"), [("CommandOutput", "notices")]),
        (user("[Request interrupted by user]"), [("MessageText", "notices")]),
        (
            user("<task-notification><summary>ok</summary><result>all</result></task-notification>"),
            [("MessageText", "notices"), ("NotificationReport", "notices")],
        ),
        (user("context", isMeta=True), [("MetaContext", "notices")]),
        (system("informational", "note"), [("MessageText", "notices"), ("NoticeDetails", "notices")]),
        (
            attachment("hook_cancelled", {"hookName": "Stop"}),
            [("MessageText", "notices"), ("NoticeDetails", "notices")],
        ),
        (reply("API Error", isApiErrorMessage=True), [("MessageText", "notices")]),
        (
            reply("API Error", thinking("hm"), use("a"), isApiErrorMessage=True),
            [("MessageText", "notices"), ("MessageThinking", "thinking"), ("MessageCall", "tools")],
        ),
    ],
)
def test_the_parts_of_other_messages(record: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert walk(read(user("go"), record).messages[1]) == expected


def test_a_compaction_has_its_summary_once() -> None:
    session = read(
        user("go"),
        system("compact_boundary", "Conversation compacted", compactMetadata={"trigger": "auto", "preTokens": 9}),
        user([text("what was"), image("QUJD")], isCompactSummary=True),
    )
    _, boundary, summary = session.messages
    assert walk(boundary) == [("CompactionPoint", "notices"), ("NoticeDetails", "notices")]
    assert texts(boundary)[:2] == ["Conversation compacted", "what was"]
    assert walk(summary) == [("MessageBlocks", "notices")]
    alone = read(user("go"), user("what was", isCompactSummary=True)).messages[1]
    assert texts(alone) == ["what was"]


def record_walk(session: reread.Session) -> list[list[str]]:
    """The texts that each record adds to its message."""
    changes = (change_of(session.conversation, index) for index in range(len(session.records)))
    return [
        [words for part in p.record_parts(change.message, change.record) for words in p.part_texts(part)]
        for change in changes
        if change.message is not None and change.record is not None and change.call is None
    ]


def test_records_add_their_own_blocks_to_a_response() -> None:
    session = read(user("go"), reply("one", id="m"), reply(thinking("two"), id="m"), reply(use("a"), id="m"))
    assert record_walk(session) == [["go"], ["one"], ["two"], ["Bash"]]


def test_the_records_of_a_compaction_add_boundary_and_summary_apart() -> None:
    session = read(
        user("go"), system("compact_boundary", "compacted"), user("what was", isCompactSummary=True), reply("on")
    )
    assert [words[:2] for words in record_walk(session)] == [["go"], ["compacted", "compacted"], ["what was"], ["on"]]


def test_a_notification_without_a_summary_has_its_report_as_text() -> None:
    (_, notification) = read(
        user("go"), user("<task-notification><task-id>b1</task-id><result>all</result></task-notification>")
    ).messages
    assert texts(notification) == ["all", "b1"]


def test_details_contain_only_what_the_text_does_not() -> None:
    notice = read(user("go"), system("informational", "the note", level="a level")).messages[1]
    assert texts(notice) == ["the note", "informational\na level"]


def test_strings_skip_signatures_and_the_bytes_of_pictures() -> None:
    value = {"a": ["x", {"signature": "s", "b": "y"}], "base64": "z", "block": b.Text(text="w")}
    assert list(strings(value)) == ["x", "y", "text", "w"]


# Laws


def messages(session: reread.Session) -> Iterator[Message]:
    """All messages of a session and its agents."""
    yield from session.messages
    for agent in session.agents.values():
        yield from agent.messages


def assert_consistent(session: reread.Session) -> None:
    """Every consumer shows parts of the walk, and search reads every text that a view shows."""
    for message in messages(session):
        parts = list(p.message_parts(message))
        calls = [part.call.index for part in parts if isinstance(part, p.MessageCall)]
        assert sorted(calls) == [call.index for call in message.calls]
        searched = "\n".join(words for part in shown_parts(message) for words in p.part_texts(part))
        builder = PartBuilder(lambda *_: None, lambda _: [], whole=True)
        for drawn in builder.parts(message):
            if isinstance(drawn, schema.TextPart | schema.ThinkingPart):
                assert drawn.text in searched
        kinds = {part.kind for part in parts}
        for selection in (Selection(only="prompts"), Selection(only="text"), Selection(only="tools")):
            shown = list(message_sequence(message, selection))
            assert all(is_drawn(part, selection) for part in shown if isinstance(part, p.MessagePart))
            assert not shown or any(map(selection.shows, kinds))
        assert {p.block_kind(message, block) for block in message.blocks} <= set(p.KINDS)
        jsontext.dumps([list(p.part_texts(part)) for part in parts])


@given(ANY_TRANSCRIPT)
def test_law_every_consumer_shows_the_same_parts(data: bytes) -> None:
    assert_consistent(reread.open(data))


@one_in(4)
@pytest.mark.parametrize("path", TRANSCRIPTS[::5], ids=name)
def test_every_real_session_has_consistent_parts(path: Path) -> None:
    assert_consistent(reread.open(path))


def test_a_streamed_response_adds_its_blocks_record_by_record() -> None:
    session = reread.open(
        jsonl(
            printed(user("go")),
            printed(event("message_start", message={"id": "m", "model": "x", "role": "assistant", "content": []})),
            printed(event("content_block_start", index=0, content_block={"type": "text", "text": ""})),
            printed(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "so"})),
        )
    )
    assert texts(session.messages[-1]) == ["so"]


def test_a_text_that_grows_from_chunk_to_chunk_is_said_once() -> None:
    session = read(user("go"), reply("Hel"), reply("Hello wor"), reply("Hello world"), reply("Bye"))
    (response,) = (message for message in session.messages if message.kind == "response")
    assert [part.text for part in p.message_parts(response) if isinstance(part, p.MessageText)] == [
        "Hello world",
        "Bye",
    ]
    assert len(response.blocks) == 2 and len(response.records) == 4


@table("wrong", [None, 5, True, ["a"], {"a": "b"}, "  "])
@table("kind", ["text", "thinking"])
def test_a_block_without_words_is_no_part_and_does_not_hide_others(kind: str, wrong: Any) -> None:
    session = read(user("hi"), reply({"type": kind, kind: wrong}, text("said")))
    assert "said" in texts(session.messages[1])
    assert [part.text for part in p.message_parts(session.messages[1]) if isinstance(part, p.MessageText)] == ["said"]
