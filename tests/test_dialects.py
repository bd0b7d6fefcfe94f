"""Dialects: detected for each record, and translated into the native format."""

import math
from datetime import datetime
from typing import Any

import pytest
from batches import table
from making import SESSION, Object, answer, event, jsonl, printed, reply, result, state, system, told, user

import reread
from reread.addons.atif import dialect as atif
from reread.addons.codex import dialect as codex
from reread.records import dialects
from reread.records.dialects import stored

NATIVE = told(user("a"), reply("b"), system("turn_duration"), state("mode", mode="normal"))


def dialect(value: Object) -> str:
    """The dialect of a record."""
    return dialects.translate(value)[0]


def native(value: Object) -> Object:
    """A record in the native format."""
    return dialects.translate(value)[1]


class TestContract:
    """The contract of every dialect."""

    @pytest.fixture(params=(*dialects.DIALECTS, atif, codex), ids=lambda dialect: dialect.NAME)
    def member(self, request: pytest.FixtureRequest) -> dialects.Dialect:
        return request.param

    @table("record", [*NATIVE, {}, {"type": None}, {"type": "summary", "summary": "x"}])
    def test_it_does_not_recognise_native_records(self, member: dialects.Dialect, record: Object) -> None:
        assert not member.looks_like(record)

    @table("odd", [None, 5, [], {}, [{"type": "user"}], {"type": 5}, math.nan, "x"])
    @table(
        "name",
        (
            "type message timestamp claudeMessage session_id content tool_use_id role "
            "atif step observation usage payload codex"
        ).split(),
    )
    def test_no_shape_raises(self, member: dialects.Dialect, name: str, odd: Any) -> None:
        for record in (
            {"type": "human", "timestamp": 5},
            {"type": "tool_result", "content": "x"},
            {"type": "compact_prelude"},
            {"type": "message"},
            {"claudeMessage": {"type": "user"}},
            {"atif": {"session": "s"}, "step": {"source": "agent", "message": "x"}},
            {"atif": {"session": "s"}, "observation": {"results": [{"content": "x"}]}},
            {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
            printed(reply("x"), compact_metadata={}),
        ):
            changed = {**record, name: odd}
            if member.looks_like(changed):
                assert isinstance(member.translate(changed), dict)

    def test_the_names(self) -> None:
        assert [member.NAME for member in dialects.DIALECTS] == ["stored", "early", "stream-json", "history"]


class TestNative:
    """What Claude Code 2.x writes on disk."""

    @pytest.mark.parametrize("record", NATIVE)
    def test_is_left_unchanged(self, record: Object) -> None:
        assert dialects.translate(record)[1] is record
        assert dialect(record) == "native"

    def test_a_record_with_both_spellings_of_the_session_is_native(self) -> None:
        assert dialect({"type": "user", "sessionId": "a", "session_id": "b", "message": {}}) == "native"

    def test_a_message_inside_an_agents_progress_is_native(self) -> None:
        assert dialect({"type": "user", "message": {}, "uuid": "u", "timestamp": "2025-01-01"}) == "native"

    def test_an_unknown_type_is_native(self) -> None:
        assert dialect({"type": "brand-new", "x": 1}) == "native"


class TestStreamJson:
    """What `claude -p --output-format stream-json` prints."""

    def test_fields_get_their_names_on_disk(self) -> None:
        record = printed(answer(result("t1")), "t0", tool_use_result={"a": 1}, isSynthetic=True)
        assert dialect(record) == "stream-json"
        translated = native(record)
        assert translated["sessionId"] == SESSION
        assert translated["parentToolUseID"] == "t0"
        assert translated["toolUseResult"] == {"a": 1}
        assert translated["isMeta"] is True
        assert not {"session_id", "parent_tool_use_id", "tool_use_result", "isSynthetic"} & set(translated)

    def test_the_metadata_of_a_compaction(self) -> None:
        figures = {"pre_tokens": 5, "preserved_segment": {"head_uuid": "u1"}}
        record = printed(system("compact_boundary"), compact_metadata=figures)
        assert native(record)["compactMetadata"] == {"preTokens": 5, "preservedSegment": {"headUuid": "u1"}}

    @table(
        "record",
        [
            printed(reply("x")),
            {"type": "assistant", "message": {"content": []}},
            {"type": "user", "message": {"role": "user", "content": "typed"}},
            {"type": "result", "subtype": "success"},
            {"type": "keep_alive"},
            {"type": "control_request", "request_id": "r", "request": {}},
            {"type": "system", "subtype": "init", "session_id": "s"},
            {"type": "rate_limit_event", "rate_limit_info": {}},
            event("message_stop"),
        ],
    )
    def test_is_recognised_by_its_types_and_field_names(self, record: Object) -> None:
        assert dialect(record) == "stream-json"

    def test_the_version_of_an_init(self) -> None:
        record = {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.0"}
        assert native(record)["version"] == "2.1.0"

    def test_the_agent_and_the_request(self) -> None:
        record = printed(reply("x"), agent_id="a", request_id="r")
        assert (native(record)["agentId"], native(record)["requestId"]) == ("a", "r")
        assert native({"type": "control_request", "request_id": "r"})["request_id"] == "r"

    def test_deeply_nested_metadata(self) -> None:
        deep: Any = {}
        for _ in range(1500):
            deep = {"a_b": deep}
        native(printed(system("compact_boundary"), compact_metadata=deep))


class TestEarly:
    """The format of the first public descriptions."""

    @pytest.mark.parametrize(
        ("written", "type"),
        [
            ("human", "user"),
            ("tool_result", "user"),
            ("tool", "user"),
            ("tool_use", "assistant"),
            ("compact_prelude", "system"),
            ("compact_recap", "user"),
        ],
    )
    def test_types_are_renamed(self, written: str, type: str) -> None:
        record = {"type": written, "uuid": "u", "sessionId": "s", "message": {"content": "x"}}
        assert (dialect(record), native(record)["type"]) == ("early", type)

    @pytest.mark.parametrize("spelling", ["sessionId", "session_id"])
    def test_both_names_of_the_session_id(self, spelling: str) -> None:
        record = {"type": "human", "uuid": "u", spelling: "s", "message": {"content": "x"}}
        assert native(record)["type"] == "user"

    @pytest.mark.parametrize(
        ("number", "stamp"),
        [
            (1738160130123, "2025-01-29T14:15:30.123Z"),
            (1738160130123.0, "2025-01-29T14:15:30.123Z"),
            (1738160130, "2025-01-29T14:15:30.000Z"),
        ],
    )
    def test_numbers_are_timestamps(self, number: float, stamp: str) -> None:
        record = {"type": "assistant", "uuid": "u", "sessionId": "s", "timestamp": number, "message": {}}
        assert (dialect(record), native(record)["timestamp"]) == ("early", stamp)
        assert datetime.fromisoformat(stamp).tzinfo is not None

    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**400, -(10**20), 1e300])
    def test_numbers_out_of_range_are_kept(self, number: float) -> None:
        kept = native({"type": "human", "timestamp": number})["timestamp"]
        assert repr(kept) == repr(number)

    def test_a_boolean_is_not_a_timestamp(self) -> None:
        assert dialect({"type": "user", "uuid": "u", "timestamp": True, "message": {}}) == "native"

    @pytest.mark.parametrize(
        ("record", "block"),
        [
            (
                {"tool_use_id": "t1", "content": "out", "is_error": True},
                {"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True},
            ),
            (
                {"message": {"content": "out", "tool_use_id": "t1"}},
                {"type": "tool_result", "tool_use_id": "t1", "content": "out"},
            ),
            ({"message": "out"}, {"type": "tool_result", "tool_use_id": None, "content": "out"}),
            ({"output": "out"}, {"type": "tool_result", "tool_use_id": None, "content": "out"}),
        ],
    )
    def test_a_result_becomes_a_block(self, record: Object, block: Object) -> None:
        assert native({"type": "tool_result", **record})["message"]["content"] == [block]

    def test_a_result_that_has_its_block_keeps_it(self) -> None:
        content = [result("t1"), result("t2")]
        assert native({"type": "tool_result", "message": {"content": content}})["message"]["content"] == content

    def test_a_use_becomes_a_block(self) -> None:
        record = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
        assert native(record)["message"]["content"] == [record]

    def test_prelude_and_recap(self) -> None:
        prelude = native({"type": "compact_prelude", "message": {"content": "long"}})
        assert (prelude["subtype"], prelude["content"]) == ("compact_boundary", "long")
        assert native({"type": "compact_recap", "message": {"content": "short"}})["isCompactSummary"] is True

    @pytest.mark.parametrize("role", ["user", "assistant"])
    def test_a_message_gets_its_type_from_its_role(self, role: str) -> None:
        assert native({"type": "message", "message": {"role": role}})["type"] == role
        assert native({"type": "message", "role": role, "content": "x"})["type"] == role

    def test_a_message_with_its_role_at_the_top_is_read(self) -> None:
        record = {"type": "message", "role": "user", "content": "words", "uuid": "u1"}
        assert [m.text for m in reread.open(jsonl(record)).messages] == ["words"]

    def test_a_message_without_a_role_is_unknown(self) -> None:
        assert dialect({"type": "message", "message": {}}) == "native"


class TestStored:
    """A line of a captured conversation."""

    def line(self, message: Any, **more: Any) -> Object:
        """A line of a captured conversation."""
        return {
            "id": "k",
            "conversationId": "c",
            "agentId": "a",
            "timestamp": "2025",
            "claudeMessage": message,
            **more,
        }

    def test_the_message_has_its_own_dialect(self) -> None:
        name, translated = dialects.translate(self.line(printed(reply("x"), "t1")))
        assert name == "stored"
        assert (translated["sessionId"], translated["parentToolUseID"]) == (SESSION, "t1")
        assert native(self.line({"type": "human", "message": {"content": "x"}}))["type"] == "user"

    def test_a_message_without_a_timestamp_gets_that_of_the_line(self) -> None:
        assert native(self.line({"type": "result"}))["timestamp"] == "2025"
        assert native(self.line({"type": "result", "timestamp": "2024"}))["timestamp"] == "2024"

    @pytest.mark.parametrize("message", [None, 5, "words", [1]])
    def test_a_line_that_is_not_an_object_is_output(self, message: Any) -> None:
        translated = native(self.line(message, raw="eA=="))
        assert (translated["type"], translated["raw"]) == ("output", "eA==")

    def test_a_stored_line_in_a_stored_line(self) -> None:
        assert native(self.line(self.line({"type": "human"})))["type"] == "user"

    def test_deeply_nested_stored_lines(self) -> None:
        message: Any = {"type": "human"}
        for _ in range(1500):
            message = {"claudeMessage": message}
        native(message)

    def test_a_record_with_a_type_of_its_own_is_not_stored(self) -> None:
        assert not stored.looks_like({"type": "user", "claudeMessage": {}})


def test_a_file_can_mix_dialects() -> None:
    mixed = jsonl(
        NATIVE[0],
        printed(reply("b")),
        {"type": "human", "uuid": "h", "timestamp": 1738160130123, "message": {"content": "c"}},
        {"claudeMessage": printed(user("d"))},
    )
    session = reread.open(mixed)
    assert [record.dialect for record in session.records] == ["native", "stream-json", "early", "stored"]
    assert [message.text for message in session.messages] == ["a", "b", "c", "d"]
