"""Decoding lines into records: nothing valid is lost, whatever else a line contains."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from batches import table
from effort import one_in
from limits import assert_linear, within
from making import BOM, DEEP, SESSION, Object, encode, jsonl, printed, reply, state, told, use, user

import reread
from reread.records.decode import Decoder, Record

A, B = told(user("first"), reply("second", {"type": "text", "text": '}{"type":"user"}'}))
LINE_A, LINE_B = encode(A), encode(B)


def decoded(*chunks: bytes) -> list[Record]:
    """Return the records of these bytes."""
    decoder = Decoder()
    return [record for chunk in chunks for record in decoder.feed(chunk)] + decoder.flush()


def types(data: bytes) -> list[str]:
    """Return the types of the records of these bytes."""
    return [record.type for record in decoded(data)]


class TestRecords:
    """The attributes of a record."""

    def test_its_position(self) -> None:
        first, second = decoded(LINE_A + b"\r\n\n" + LINE_B)
        assert (first.line, first.offset, first.raw) == (1, 0, LINE_A)
        assert (second.line, second.offset, second.raw) == (3, len(LINE_A) + 3, LINE_B)

    def test_its_values(self) -> None:
        (record,) = decoded(LINE_A)
        assert (record.type, record.dialect, record.fault) == ("user", "native", None)
        assert record.value == record.native == A
        assert record.entry.message.content == "first"

    def test_the_value_is_as_written_and_the_entry_in_the_native_format(self) -> None:
        (record,) = decoded(jsonl(printed(reply("hi"), "t1")))
        assert (record.dialect, record.value["parent_tool_use_id"]) == ("stream-json", "t1")
        assert "session_id" not in record.native
        assert record.native["sessionId"] == record.entry.sessionId == SESSION

    def test_a_stored_line_has_its_inner_type(self) -> None:
        (record,) = decoded(jsonl({"id": "k", "claudeMessage": printed(user("hi"))}))
        assert (record.type, record.dialect) == ("user", "stored")

    @pytest.mark.parametrize(
        ("line", "value", "why"),
        [
            (b"[1]", [1], "not a JSON object"),
            (b"17", 17, "not a JSON object"),
            (b'"words"', "words", "not a JSON object"),
            (b"null", None, "not a JSON object"),
            (b"words", None, "not JSON"),
            (b'{"type":"user"', None, "not JSON"),
        ],
    )
    def test_anything_but_an_object_is_malformed(self, line: bytes, value: Any, why: str) -> None:
        (record,) = decoded(b"{}\n" + line + b"\n")[1:]
        assert (record.type, record.value, record.raw) == ("malformed", value, line)
        assert why in (record.fault or "")
        assert record.entry.type == "malformed"

    @pytest.mark.parametrize("line", [b"{}", b'{"type":null}', b'{"type":5}', b'{"type":["user"]}', b'{"type":{}}'])
    def test_an_object_without_a_type_is_a_record(self, line: bytes) -> None:
        (record,) = decoded(line)
        assert (record.fault, record.type) == (None, "")
        assert record.value == json.loads(line)

    def test_an_unknown_type_is_kept(self) -> None:
        (record,) = decoded(b'{"type":"brand-new","sessionId":"s","x":[1]}')
        assert (record.type, record.fault, record.entry.value["x"]) == ("brand-new", None, [1])

    def test_lone_surrogates_are_kept_only_in_the_value(self) -> None:
        (record,) = decoded(encode(user("half \ud83d", **{k: A[k] for k in ("uuid", "sessionId")})))
        assert record.value["message"]["content"] == "half \ud83d"
        assert record.native["message"]["content"] == record.entry.message.content == "half �"


class TestLines:
    """Lines that are not exactly one record."""

    @table(
        ("data", "expected"),
        [
            (b"", []),
            (b"\n \n\t\r\n\n", []),
            (LINE_A, ["user"]),
            (LINE_A + b"\n", ["user"]),
            (LINE_A + b"\r\n" + LINE_B + b"\r\n", ["user", "assistant"]),
            (BOM + LINE_A + b"\n", ["user"]),
            (BOM, ["malformed"]),
            (b"\x00\x00" + LINE_A + b"\n", ["user"]),
            (LINE_A + b"\x00\x00\n" + LINE_B, ["user", "assistant"]),
            (b"\x00\x00\x00\n" + LINE_A, ["malformed", "user"]),
            (b"  " + LINE_A + b"  \n", ["user"]),
        ],
    )
    def test_padding_around_a_record_is_skipped(self, data: bytes, expected: list[str]) -> None:
        assert types(data) == expected

    @pytest.mark.parametrize("between", [b"", b" ", b"\x00\x00", b"\t \x00"])
    def test_two_on_a_line(self, between: bytes) -> None:
        first, second = decoded(LINE_A + between + LINE_B + b"\n")
        assert (first.value, second.value) == (A, B)
        assert (first.line, second.line, second.offset) == (1, 1, len(LINE_A + between))

    @table("at", range(1, len(LINE_B), 7))
    def test_a_torn_record_and_a_whole_one(self, at: int) -> None:
        torn, whole = decoded(LINE_B[:at] + LINE_A + b"\n")
        assert (torn.type, torn.raw) == ("malformed", LINE_B[:at])
        assert (whole.value, whole.offset) == (A, at)

    @pytest.mark.parametrize("between", [b"  ", b"\x00\x00", b"\t \x00"])
    def test_padding_after_a_torn_record_is_not_part_of_it(self, between: bytes) -> None:
        torn, whole = decoded(LINE_B[:30] + between + LINE_A + b"\n")
        assert (torn.raw, whole.raw) == (LINE_B[:30], LINE_A)

    def test_a_whole_record_and_a_torn_one(self) -> None:
        whole, torn = decoded(LINE_A + LINE_B[:40])
        assert (whole.value, torn.type, torn.raw) == (A, "malformed", LINE_B[:40])

    def test_torn_whole_torn_whole(self) -> None:
        found = decoded(LINE_B[:30] + LINE_A + LINE_A[:30] + LINE_B + b"\n")
        assert [record.type for record in found] == ["malformed", "user", "malformed", "assistant"]

    def test_a_torn_record_with_many_objects_does_not_hide_a_whole_one(self) -> None:
        torn = encode(told(reply(*(use(f"t{n}", todos=[{"a": 1}, {"b": 2}]) for n in range(300))))[0])[:-30]
        found = decoded(torn + LINE_A + b"\n")
        assert [record.type for record in found] == ["malformed", "user"]

    def test_a_nested_object_of_a_torn_record_is_not_a_record(self) -> None:
        torn = b'{"type":"progress","data":{"type":"agent_progress","message":' + LINE_A + b',"agentId":"a'
        (record,) = decoded(torn)
        assert record.type == "malformed"

    def test_a_block_of_a_torn_record_is_not_a_record(self) -> None:
        line = encode(told(reply(use("t1", command="ls")))[0])
        (torn,) = decoded(line[: line.index(b"}") + 2])
        assert torn.raw.endswith(b'"input":{"command":"ls"}}')
        assert torn.type == "malformed"

    @pytest.mark.parametrize(
        ("whole", "type"),
        [({**use("t1"), "uuid": "u1"}, "assistant"), ({"id": "k", "claudeMessage": None}, "output")],
        ids=["early", "stored"],
    )
    def test_a_record_of_another_dialect_after_a_torn_one(self, whole: Object, type: str) -> None:
        _, record = decoded(LINE_B[:30] + encode(whole) + b"\n")
        assert (record.type, record.value) == (type, whole)

    def test_garbage_before_a_record(self) -> None:
        garbage, record = decoded(b"oops " + LINE_A + b"\n")
        assert (garbage.type, garbage.raw, record.value) == ("malformed", b"oops", A)

    def test_only_a_newline_ends_a_line(self) -> None:
        data = encode(user("a\u2028b\u2029c\u0085d"), ascii_only=False) + b"\n"
        (record,) = decoded(data)
        assert record.value["message"]["content"] == "a\u2028b\u2029c\u0085d"

    def test_line_numbers_count_blank_lines(self) -> None:
        assert [record.line for record in decoded(b"\n\n" + LINE_A + b"\n\n" + LINE_B)] == [3, 5]

    def test_an_incomplete_line_stays_pending(self) -> None:
        decoder = Decoder()
        assert decoder.feed(LINE_A) == []
        assert [record.line for record in decoder.feed(b"\n" + LINE_B[:10])] == [1]
        assert [record.type for record in decoder.flush()] == ["malformed"]

    def test_lines_are_a_sequence(self) -> None:
        lines = reread.open(LINE_A + b"\n\n" + LINE_B).lines
        assert [line.raw for line in lines] == [LINE_A + b"\n", b"\n", LINE_B]
        assert (lines[-1], lines[1:]) == (lines[2], [lines[1], lines[2]])
        for outside in (3, -4, -5):
            with pytest.raises(IndexError):
                lines[outside]


class TestArrays:
    """A file whose first byte is `[` is one JSON array."""

    def written(self, items: list[Any], **style: Any) -> bytes:
        """Return an array of these values."""
        return json.dumps(items, **style).encode()

    @table("style", [{}, {"indent": 2}, {"separators": (",", ":")}])
    @table("around", [(b"", b""), (BOM, b"\n"), (b" \n", b"\n\n")])
    def test_its_objects_are_its_records(self, style: Object, around: tuple[bytes, bytes]) -> None:
        data = around[0] + self.written([A, B], **style) + around[1]
        found = decoded(data)
        assert [record.value for record in found] == [A, B]
        assert [data[r.offset : r.offset + len(r.raw)] for r in found] == [r.raw for r in found]

    @pytest.mark.parametrize("size", [1, 3, 50, 10_000])
    def test_each_record_has_the_line_it_starts_on(self, size: int) -> None:
        data = self.written([A, B, A], indent=1)
        found = decoded(*(data[at : at + size] for at in range(0, len(data), size)))
        assert [record.line for record in found] == [1 + data[: r.offset].count(b"\n") for r in found]

    @pytest.mark.parametrize("data", [b"[]", b"[ \n ]\n", BOM + b"[]"])
    def test_an_empty_array_has_no_records(self, data: bytes) -> None:
        assert decoded(data) == []

    def test_a_torn_array_has_its_whole_elements(self) -> None:
        data = self.written([A, B])[:-20]
        whole, torn = decoded(data)
        assert (whole.value, torn.type) == (A, "malformed")

    @table("odd", [1, None, "words, and more", [1, 2], [[]], "a ] b", "{", [{}]])
    @table("place", [0, 1, 2])
    def test_other_elements_do_not_hide_objects(self, odd: Any, place: int) -> None:
        items = [A, B]
        items.insert(place, odd)
        found = [record.value for record in decoded(self.written(items))]
        assert [value for value in found if value in (A, B)] == [A, B]

    def test_records_are_returned_as_their_elements_end(self) -> None:
        decoder, data = Decoder(), self.written([A, B])
        assert [record.value for record in decoder.feed(data[: len(LINE_A) + 60])] == [A]

    @pytest.mark.parametrize("size", [1, 1000])
    def test_white_space_before_an_array_in_any_chunks(self, size: int) -> None:
        data = b" " * (1 << 17) + self.written([A, B])
        assert [r.value for r in decoded(*(data[at : at + size] for at in range(0, len(data), size)))] == [
            A,
            B,
        ]

    def test_a_file_that_was_empty_when_it_was_read_can_become_one(self) -> None:
        decoder = Decoder()
        assert decoder.feed(b"") == decoder.flush() == []
        assert [record.value for record in decoder.feed(self.written([A, B], indent=1))] == [A, B]

    def test_a_log_that_starts_with_a_bracket_is_not_an_array(self) -> None:
        assert types(b"[INFO] started\n" + LINE_A + b"\n") == ["malformed", "user"]

    def test_a_line_that_is_an_array_further_down_is_malformed(self) -> None:
        assert types(LINE_A + b"\n[1]\n") == ["user", "malformed"]


@one_in(3)
@pytest.mark.parametrize("name", ["attachment", "data", "event", "summary", "origin", "content", "message"])
def test_any_field_may_be_too_deep(name: str) -> None:
    for type in ("user", "assistant", "system", "attachment", "progress", "summary", "new"):
        data = encode({**state(type, uuid="u1"), name: DEEP})
        (found,) = decoded(data)
        assert (found.type, found.fault) == (type, None)
        session = reread.open(data + b"\n" + data.replace(b"u1", b"u2"))
        assert len(session.ledger) == 2
        assert all(message.blocks is not None for message in session.messages)
        assert isinstance(session.title, str)


def test_usage_may_be_too_deep() -> None:
    usage = {"output_tokens": 5, "iterations": DEEP}
    session = reread.open(jsonl(*told(user("Hi"), reply("Hello", usage=usage))))
    assert (session.messages[1].text, session.messages[1].usage.output_tokens) == ("Hello", 5)
    assert session.usage.output_tokens == 5


def test_a_long_element_in_small_chunks_is_fast() -> None:
    data = b"[" + encode(user("line\n" * 1_500_000)) + b"," + LINE_A + b"]"
    with within(3):
        records = decoded(*(data[at : at + 65_536] for at in range(0, len(data), 65_536)))
        assert [record.type for record in records] == ["user", "user"]


MODE = encode(state("mode", mode="normal"))


def repeat(unit: bytes) -> Callable[[int], bytes]:
    """Make junk of a size by repeating a unit."""
    return lambda size: unit * (size // len(unit))


def nest(opening: bytes, middle: bytes, closing: bytes) -> Callable[[int], bytes]:
    """Make junk of a size by nesting as deep as it takes."""

    def made(size: int) -> bytes:
        depth = size // len(opening + closing)
        return opening * depth + middle + closing * depth

    return made


JUNK: dict[str, Callable[[int], bytes]] = {
    "nested objects": repeat(b'{"a":'),
    "nested arrays": repeat(b"["),
    "nested objects and arrays": repeat(b'{"a":['),
    "braces": lambda size: b'{"a":' + b"{" * size,
    "quotes": repeat(b'"'),
    "quotes and backslashes": repeat(b'"\\'),
    "objects with backslashes": repeat(b'{"a":\\"'),
    "unclosed strings": repeat(b'{"a":"b'),
    "escaped quotes": lambda size: b'{"a":"' + b'\\"' * (size // 2) + b'"x',
    "unclosed escapes": repeat(b'{"a":"\\u00'),
    "unclosed names": repeat(b'{"aaaaaaaa'),
    "names without a value": repeat(b'{"a"'),
    "names and white space": repeat(b'{"a"   '),
    "objects that go on": repeat(b'{"a":{},'),
    "splices": repeat(b"}{"),
    "splices in strings": repeat(b'{"a":"b}{'),
    "objects that are not JSON": repeat(b'{"type":x}'),
    "torn objects that are not JSON": repeat(b'{"a":x'),
    "objects that are not records": lambda size: b'{"a":' + b'{"type":"x"}' * (size // 12),
    "torn records": repeat(b'{"type":'),
    "records and torn ones": repeat(MODE + b'{"a":'),
    "records and torn strings": repeat(MODE + b'{"a":"'),
    "records and deep torn ones": repeat(MODE + b'{"a":' * 1_500),
    "deep objects": nest(b'{"a":', b"1", b"}"),
    "deep arrays": nest(b"[", b"1", b"]"),
    "deep objects that are not JSON": nest(b'{"type":', b"x", b"}"),
    "deep arrays that are not JSON": lambda size: b'{"a":' + nest(b"[", b"x", b"]")(size) + b"}",
    "deep objects that are spliced": nest(b'{"type":"mode","a":', b"x", b"}{}"),
    "padding": repeat(b"\0 {"),
}
"""Lines that take quadratic time if the scan ever moves back or decodes a byte again."""


@one_in(3)
@pytest.mark.parametrize("first", [b"{}\n", b"["], ids=["line", "array"])
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_takes_time_in_proportion(junk: Callable[[int], bytes], first: bytes) -> None:
    assert_linear(lambda size: partial(decoded, first + junk(size)), 30_000, enough=0.02)


@pytest.mark.parametrize("name", ["nested objects", "deep objects that are not JSON", "deep objects that are spliced"])
def test_a_megabyte_of_junk_takes_seconds_at_the_most(name: str) -> None:
    with within(4):  # on a quiet machine, a tenth of that
        decoded(b"{}\n" + JUNK[name](1_000_000))


@table("torn", JUNK.values())
@table("end", [b"", b"{"])
def test_a_record_is_found_behind_any_junk(torn: Callable[[int], bytes], end: bytes) -> None:
    assert decoded(b"{}\n" + torn(20_000) + b'{"a":"' + LINE_A + end)[-1 - len(end)].raw == LINE_A
