"""The parts of the model, each by itself: blocks that grow, records that repeat them, and what is said of a session."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batches import table
from making import jsonl, told, user

import reread
from reread.model.bodies import CACHED
from reread.model.metadata import Metadata, UniqueList
from reread.model.partial import BlockPrints, PartialResponse, join_blocks, new_blocks
from reread.records.blocks import Block, to_block
from reread.records.envelope import RecordEnvelope


def text(words: str, **more: Any) -> Block:
    return to_block({"type": "text", "text": words, **more})


def start(place: Any, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": place, "content_block": block}


def delta(place: Any, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": place, "delta": delta}


THOUGHT = {"type": "thinking", "thinking": "so ", "signature": ""}


@table(
    ("events", "complete", "expected"),
    [
        ([start(0, type="text", text="a"), delta(0, text="b"), delta(0, text="c")], [], [text("abc")]),
        ([delta(0, text="b")], [], [text("b")]),
        ([start(1, type="text", text="late"), start(0, type="text", text="first")], [], [text("first"), text("late")]),
        ([start(0, type="text", text="a"), delta(0, text="b"), start(0, type="text", text="z")], [], [text("z")]),
        (
            [start(0, **THOUGHT), delta(0, thinking="on"), delta(0, signature="s")],
            [],
            [{**THOUGHT, "thinking": "so on", "signature": "s"}],
        ),
        ([start("0", type="text", text="a"), delta(None, text="b"), start(0), {"type": "ping", "index": 0}], [], [{}]),
        ([delta(0, text=3, other="x")], [], [text("")]),
        ([start(0, type="text", text="a"), start(1, type="text", text="b")], ["text"], [text("b")]),
        ([start(0, type="text", text="a"), start(1, type="text", text="b")], ["text", "text", "text"], []),
        ([start(0, type="text", text="a"), start(1, **THOUGHT)], ["thinking"], [text("a")]),
    ],
)
def test_a_response_that_is_streamed_has_its_blocks_so_far(events: Any, complete: Any, expected: Any) -> None:
    partial = PartialResponse()
    for event in events:
        partial.apply(event)
    for type in complete:
        partial.complete(type)
    assert partial.pending() == [to_block(one) if isinstance(one, dict) else one for one in expected]


@table(
    ("contents", "joined"),
    [
        (["a"], "a"),
        (["a", "b"], "a b"),
        (["a", "a"], "a"),
        (["a", "a b"], "a b"),
        (["a", "ab"], "ab"),
        (["x", "a", "ab"], "x ab"),
        (["a", "b", "a"], "a b"),
        (["a b", "a"], "a b"),
        (["a b", "a bc"], "a bc"),
        (["a", "b", "bc", "bcd e"], "a bcd e"),
    ],
)
def test_records_of_one_message_are_joined(contents: list[str], joined: str) -> None:
    blocks = join_blocks([[text(word) for word in words.split()] for words in contents])
    assert blocks == [text(word) for word in joined.split()]


@pytest.mark.parametrize(
    ("before", "content", "grown", "new"),
    [
        ("a", "ab", [("ab", "b")], ""),
        ("a", "a c", [], "c"),
        ("a", "c", [], "c"),
        ("a b", "b c", [], "c"),
        ("", "a", [], "a"),
        ("a b", "ax by c", [("ax", "x"), ("by", "y")], "c"),
        ("a b", "ax", [], "ax"),
    ],
)
def test_what_a_record_adds_to_the_one_before(before: str, content: str, grown: Any, new: str) -> None:
    found, blocks = new_blocks([text(word) for word in before.split()], [text(word) for word in content.split()])
    assert [(one, more) for one, more in found] == [(text(word), more) for word, more in grown]
    assert list(blocks) == [text(word) for word in new.split()]


def test_a_longer_text_with_other_fields_is_another_block() -> None:
    cited = text("ab", citations=[{"title": "a"}])
    assert join_blocks([[text("a")], [cited]]) == [cited]
    assert join_blocks([[text("a", citations=[{"title": "b"}])], [cited]]) == [
        text("a", citations=[{"title": "b"}]),
        cited,
    ]


def test_the_first_record_that_holds_all_blocks_of_another() -> None:
    prints = BlockPrints()

    def record(*blocks: Any) -> dict[str, Any]:
        return {"message": {"content": list(blocks)}}

    prints.add(record("a"), 3)
    prints.add(record("b", "a"), 5)
    held: list[Callable[[], int]] = [lambda: prints.holder(record("b")), lambda: prints.holder(record("b", "a"))]
    assert [one() for one in held] == [5, 5] and prints.holder(record("a", "b")) == 3
    assert prints.holder(record("c")) == prints.holder(record("a", "c")) == prints.holder(record()) == -1
    prints.add({"message": {"content": "words"}}, 7)
    assert prints.holder({"message": {"content": "words"}}) == 7


@pytest.mark.parametrize(
    ("stamps", "first", "last"),
    [
        ("2 1 3", "1", "3"),
        ("2 3 1", "1", "3"),
        ("2 2", "2", "2"),
        ("z 2", "2", "2"),
        ("2 z 0", "2", "2"),
        ("", None, None),
    ],
)
def test_a_session_lasts_from_its_earliest_to_its_latest_time(stamps: str, first: str | None, last: str | None) -> None:
    """A digit is a day; `z` and `0` are no times, though they sort after and before all that are."""
    metadata = Metadata()
    for index, stamp in enumerate(stamps.split()):
        given = stamp if stamp in "z0" else f"2026-11-0{stamp}T00:00:00.000Z"
        metadata.note(RecordEnvelope(timestamp=given), index)
    metadata.note(RecordEnvelope(), 9)
    found = (metadata.first_stamp, metadata.last_stamp)
    assert [stamp and stamp[9] for stamp in found] == [first, last]


def test_a_session_names_what_it_was_written_by_in_order() -> None:
    metadata = Metadata()
    for index, name in enumerate("aabac"):
        fields = ("sessionId", "cwd", "gitBranch", "version", "slug", "entrypoint", "permissionMode")
        metadata.note(RecordEnvelope(**dict.fromkeys(fields, name)), index)  # type: ignore[arg-type]
    metadata.note(RecordEnvelope(sessionId="c", cwd="", gitBranch="c"), 5)
    assert (metadata.ids, metadata.ids_at) == (["a", "b", "a", "c"], [0, 2, 3, 4])
    assert metadata.git_branches == metadata.permission_modes == ["a", "b", "a", "c"]
    for unique in (metadata.cwds, metadata.versions, metadata.slugs, metadata.entrypoints):
        assert unique == ["a", "b", "c"] and isinstance(unique, UniqueList)


def test_what_is_decoded_is_not_in_memory_twice(tmp_path: Path) -> None:
    size = 100_000
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(*told(*(user("x" * size + str(number)) for number in range(40)))))
    messages = reread.open(path).messages
    tracemalloc.start()
    try:
        assert sum(len(message.text) for message in messages) > 40 * size
        assert tracemalloc.get_traced_memory()[0] < 1.5 * CACHED * size
    finally:
        tracemalloc.stop()
