"""Hard input: content never raises, no byte is lost, and everything readable is read."""

import copy
import io
import json
import math
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from effort import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st
from making import answer, attachment, jsonl, progress, reply, result, state, system, use, user
from rich.console import Console
from walk import holds_together, texts, types, walk

import reread
from reread.render.selection import Selection
from reread.render.terminal import TerminalView

pytestmark = one_in(3)

HARD = Path(__file__).parent / "fixtures" / "hard"
SEEDS = HARD.parent / "seeds"
FIXTURES = sorted(path.name for path in HARD.iterdir())

CHAT = ["user", "assistant", "user", "assistant"]
TALK = ["What is in the file?", "A list of names.", "Sort it.", "Sorted."]


class Expected(NamedTuple):
    """What must be read from a fixture."""

    types: list[str] = CHAT
    """Types of the records that are not malformed."""
    texts: list[str] | None = TALK
    broken: list[int] | None = []
    """Lines with a malformed record; None if that is up to the reader."""


EXPECTED = {
    "array_empty.json": Expected(types=[], texts=[], broken=None),
    "array_one_line.json": Expected(types=["system", "assistant", "result"], texts=None),
    "array_pretty.json": Expected(types=["system", "assistant", "result"], texts=None),
    "array_torn.json": Expected(types=["system", "assistant"], texts=None, broken=None),
    "big_integers.jsonl": Expected(texts=["What is in the file?", "", "Many."]),
    "blank_lines.jsonl": Expected(),
    "bom.jsonl": Expected(),
    "content_absent.jsonl": Expected(texts=None),
    "content_dict.jsonl": Expected(texts=None),
    "content_list.jsonl": Expected(texts=None),
    "content_null.jsonl": Expected(texts=None),
    "content_number.jsonl": Expected(texts=None),
    "content_string.jsonl": Expected(texts=["a string", "also a string", "Sort it.", "Sorted."]),
    "crlf.jsonl": Expected(),
    "duplicate_keys.jsonl": Expected(texts=["the last one", *TALK[1:]]),
    "duplicate_uuid.jsonl": Expected(types=["user", "assistant", *CHAT]),
    "empty.jsonl": Expected(types=[], texts=[]),
    "invalid_utf8.jsonl": Expected(texts=None, broken=None),
    "key_order.jsonl": Expected(),
    "lone_result.json": Expected(types=["result"], texts=None),
    "lone_surrogate.jsonl": Expected(texts=None),
    "long_floats.jsonl": Expected(texts=["What is in the file?", "", "Fine."]),
    "message_odd.jsonl": Expected(types=[*CHAT, "user", "assistant"], texts=None),
    "nan_infinity.jsonl": Expected(texts=["What is in the file?", "", "There is no mean."]),
    "no_final_newline.jsonl": Expected(),
    "non_object_line.jsonl": Expected(broken=[2, 3, 4, 5, 6, 7, 8]),
    "not_a_transcript.csv": Expected(types=[], texts=[], broken=[1, 2]),
    "not_a_transcript.txt": Expected(types=[], texts=[], broken=[1, 3, 5]),
    "nul_after.jsonl": Expected(broken=None),
    "nul_before.jsonl": Expected(broken=None),
    "nul_tail.jsonl": Expected(broken=None),
    "orphan_result.jsonl": Expected(types=["user", "user", "assistant", "assistant"], texts=None),
    "parent_cycle.jsonl": Expected(texts=["round", "and round", "I am my own parent", "So you are."]),
    "parent_later.jsonl": Expected(types=[*CHAT[:2], "attachment", *CHAT[2:]], texts=None),
    "parent_missing.jsonl": Expected(),
    "result_before_call.jsonl": Expected(types=["user", "user", "assistant", "assistant"], texts=None),
    "spaced_json.jsonl": Expected(),
    "summary_only.jsonl": Expected(types=["summary"], texts=[]),
    "three_on_a_line.jsonl": Expected(),
    "timestamp_absent.jsonl": Expected(),
    "timestamp_number.jsonl": Expected(),
    "timestamp_odd.jsonl": Expected(),
    "timestamp_offset.jsonl": Expected(),
    "timestamp_string_bad.jsonl": Expected(),
    "torn_in_a_character.jsonl": Expected(types=CHAT[:3], texts=TALK[:3], broken=[4]),
    "torn_tail.jsonl": Expected(types=CHAT[:3], texts=TALK[:3], broken=[4]),
    "truncated_then_whole.jsonl": Expected(broken=[3]),
    "two_on_a_line.jsonl": Expected(),
    "u2028.jsonl": Expected(texts=["one\u2028two\u2029three\u0085four", "A\u2028B", "Sort it.", "Sorted."]),
    "usage_null.jsonl": Expected(
        types=[*CHAT, "user", "assistant", "assistant", "assistant"],
        texts=[*TALK, "Again.", "Odd.", "Odder.", "Oddest."],
    ),
}


def read(name: str) -> tuple[reread.Session, bytes]:
    """Open a fixture; return the session and its bytes."""
    return reread.open(HARD / name), (HARD / name).read_bytes()


def user_line(content: object, uuid: str) -> str:
    """Return a user record as a line of JSON."""
    message = {"role": "user", "content": content}
    return json.dumps({"type": "user", "uuid": uuid, "parentUuid": None, "sessionId": "s", "message": message})


def before_an_ordinary_line(hard: str) -> bytes:
    """Return a hard line, followed by an ordinary one."""
    return f"{hard}\n{user_line('Go on.', 'u1')}\n".encode()


@one_in(3)
@pytest.mark.parametrize("name", FIXTURES)
def test_no_input_raises_and_no_byte_is_lost(name: str) -> None:
    session, data = read(name)
    walk(session)
    holds_together(session, data)


@pytest.mark.parametrize("name", FIXTURES)
def test_checking_never_raises(name: str) -> None:
    _, data = read(name)
    findings = list(reread.check(HARD / name))
    assert all(f.level in {"error", "warning", "info"} and f.code and f.text for f in findings)
    assert all(f.line is None or 0 <= f.line <= data.count(b"\n") + 1 for f in findings)


@one_in(3)
@pytest.mark.parametrize("name", FIXTURES)
def test_a_path_bytes_and_an_open_file_read_alike(name: str) -> None:
    session, data = read(name)
    for other in (reread.open(data), reread.open(io.BytesIO(data))):
        walk(other)
        holds_together(other, data)
        assert (types(other), texts(other)) == (types(session), texts(session))


@one_in(3)
@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_chunks_of_any_size_give_the_same_records(name: str, size: int) -> None:
    data = (HARD / name).read_bytes()
    whole, parts = reread.Decoder(), reread.Decoder()
    expected = [*whole.feed(data), *whole.flush()]
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    got = [record for chunk in chunks for record in parts.feed(chunk)] + parts.flush()

    def facts(records: list[reread.value_types.Record]) -> list[tuple[object, ...]]:
        return [(r.type, r.line, r.offset, r.raw) for r in records]

    assert facts(got) == facts(expected)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_fixture_reads_as_it_should(name: str) -> None:
    expected, (session, _) = EXPECTED[name], read(name)
    assert [kind for kind in types(session) if kind != "malformed"] == expected.types
    if expected.broken is not None:
        assert [r.line for r in session.records if r.type == "malformed"] == expected.broken
    if expected.texts is not None and name != "duplicate_uuid.jsonl":
        assert texts(session) == expected.texts


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if expected.types])
def test_readable_records_have_their_value_as_written(name: str) -> None:
    session, _ = read(name)
    for record in session.records:
        if record.type != "malformed":
            text = record.raw.decode("utf-8", "replace")
            assert repr(record.value) == repr(json.loads(text))


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if e.broken == [] and n.endswith(".jsonl")])
def test_odd_but_readable_files_yield_no_error(name: str) -> None:
    assert [f for f in reread.check(HARD / name) if f.level == "error"] == []


def test_two_objects_on_one_line_are_two_records_of_that_line() -> None:
    session, _ = read("two_on_a_line.jsonl")
    assert [r.line for r in session.records] == [1, 2, 2, 3]
    assert len(session.lines) == 3
    first, second = (r for r in session.records if r.line == 2)
    assert second.offset == first.offset + len(first.raw)


def test_three_objects_on_one_line_are_three_records_of_that_line() -> None:
    session, _ = read("three_on_a_line.jsonl")
    assert [r.line for r in session.records] == [1, 1, 1, 2]


def test_a_whole_record_behind_a_truncated_one_is_kept() -> None:
    session, data = read("truncated_then_whole.jsonl")
    torn, whole = (r for r in session.records if r.line == 3)
    assert (torn.type, whole.type) == ("malformed", "user")
    assert torn.raw + whole.raw == data.split(b"\n")[2]
    assert any(p.line == 3 for p in session.problems)


def test_a_torn_tail_is_a_malformed_record_that_a_live_file_would_complete() -> None:
    session, data = read("torn_tail.jsonl")
    torn = session.records[-1]
    assert (torn.type, torn.line, torn.raw) == ("malformed", 4, data.split(b"\n")[-1])
    decoder = reread.Decoder()
    assert len(decoder.feed(data)) == 3
    assert [r.type for r in decoder.flush()] == ["malformed"]


def test_a_last_line_without_a_newline_is_an_ordinary_record() -> None:
    session, _ = read("no_final_newline.jsonl")
    assert not session.lines[-1].raw.endswith(b"\n")
    assert session.messages[-1].text == "Sorted."


def test_blank_lines_are_lines_but_not_records() -> None:
    session, _ = read("blank_lines.jsonl")
    assert [r.line for r in session.records] == [3, 6, 10, 11]
    assert len(session.lines) == 12


def test_a_bom_belongs_to_the_first_line() -> None:
    session, _ = read("bom.jsonl")
    assert session.lines[0].raw.startswith(b"\xef\xbb\xbf{")


def test_crlf_belongs_to_the_line_and_not_to_the_record() -> None:
    session, _ = read("crlf.jsonl")
    assert all(line.raw.endswith(b"}\r\n") for line in session.lines)
    assert all(record.raw.endswith(b"}") for record in session.records)


@pytest.mark.parametrize("name", ["nul_before.jsonl", "nul_after.jsonl", "nul_tail.jsonl"])
def test_runs_of_nul_hide_no_record(name: str) -> None:
    session, data = read(name)
    assert b"\0" * 48 in data
    assert texts(session) == TALK
    assert all(b"\0" not in r.raw for r in session.records if r.type != "malformed")


def test_invalid_utf8_is_read_with_replacement_characters() -> None:
    session, data = read("invalid_utf8.jsonl")
    prompt = session.turns[0].prompt
    assert prompt.text.startswith("caf\ufffd ") and prompt.text.endswith("!")
    assert session.records[0].raw == data.split(b"\n")[0]
    assert texts(session)[1:] == TALK[1:]


def test_half_a_surrogate_pair_costs_at_most_that_character() -> None:
    session, _ = read("lone_surrogate.jsonl")
    first, second, *rest = texts(session)
    assert first.startswith("cut ") and first.endswith(" here") and len(first) == len("cut ? here")
    assert second == "whole \U0001f600 here"
    assert rest == TALK[2:]


def test_nan_and_infinity_are_numbers() -> None:
    session, _ = read("nan_infinity.jsonl")
    (call,) = session.calls
    assert math.isnan(call.input["of"]) and call.input["limit"] == math.inf
    assert call.data == {"mean": -math.inf}
    assert call.ok is True


def test_integers_beyond_64_bits_are_exact() -> None:
    big = {"over": 2**64, "under": -(2**63) - 1, "huge": 10**40, "edge": 2**63 - 1}
    session, _ = read("big_integers.jsonl")
    (call,) = session.calls
    assert call.input == big and call.data == big
    assert session.records[2].value["toolUseResult"] == big
    assert session.records[1].value["message"]["usage"]["input_tokens"] == 2**70


def test_the_last_of_two_equal_keys_wins_and_both_stay_in_the_bytes() -> None:
    session, _ = read("duplicate_keys.jsonl")
    assert session.messages[0].text == "the last one"
    assert b"the first one" in session.records[0].raw


def test_the_same_uuid_twice_is_shown_once() -> None:
    session, _ = read("duplicate_uuid.jsonl")
    assert texts(session) == TALK
    doubles = [entry for entry in session.ledger if "duplicate" in entry.fate]
    assert [entry.line for entry in doubles] == [3, 4]


def test_content_in_any_shape_still_shows() -> None:
    session, _ = read("content_dict.jsonl")
    first, second, *_, last = texts(session)
    assert (first, second, last) == ("a lone block", "an answer in a lone block", "Sorted.")


def test_odd_blocks_do_not_hide_their_neighbours() -> None:
    session, _ = read("content_list.jsonl")
    for message in session.messages[:2]:
        assert "a block" in message.text
        assert "hologram" in [block.type for block in message.blocks]
    assert texts(session)[2:] == TALK[2:]


@pytest.mark.parametrize("name", ["content_null.jsonl", "content_number.jsonl", "content_absent.jsonl"])
def test_a_message_without_readable_content_leaves_the_rest_alone(name: str) -> None:
    session, _ = read(name)
    assert texts(session)[-2:] == TALK[2:]
    assert "msg_02" in [message.id for message in session.messages]


def test_a_message_that_is_not_an_object_leaves_the_rest_alone() -> None:
    session, _ = read("message_odd.jsonl")
    assert texts(session)[-1] == "Still here."


@pytest.mark.parametrize("name", ["everything_null.jsonl", "wrong_types.jsonl"])
def test_null_and_wrong_types_anywhere_leave_the_rest_alone(name: str) -> None:
    session, data = read(name)
    assert len(session.records) == data.count(b"\n")
    assert {"What is in the file?", "A list of names."} <= set(texts(session))
    assert "no-such-type" in types(session)


SOUND = [json.loads(line) for path in SEEDS.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["text", "user", "[]"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "id", "content"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: object) -> list[tuple[Any, Any]]:
    """Return every container inside a value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(value, key), *places(item)]]


@one_in(0)
@given(data=st.data())
@settings(max_examples=examples(60))
def test_any_value_may_be_anywhere(data: st.DataObject) -> None:
    rows = copy.deepcopy(data.draw(st.lists(st.sampled_from(SOUND), min_size=1, max_size=8)))
    for row in rows:
        holder, key = data.draw(st.sampled_from(places(row)))
        holder[key] = data.draw(ANYTHING)
    raw = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    session = reread.open(raw)
    walk(session)
    holds_together(session, raw)
    assert len(session.records) == len(rows)


def test_timestamps_are_aware_or_none() -> None:
    def at(name: str) -> list[datetime | None]:
        return [message.timestamp for message in read(name)[0].messages]

    assert at("timestamp_absent.jsonl") == [None] * 4
    assert at("timestamp_odd.jsonl") == [None] * 4
    assert at("timestamp_string_bad.jsonl")[:3] == [None] * 3
    assert at("timestamp_number.jsonl")[0] == datetime(2025, 1, 29, 14, 15, 30, 123000, UTC)
    assert at("timestamp_number.jsonl")[2] is None
    offset, naive, nanos, plain = at("timestamp_offset.jsonl")
    assert offset == datetime(2026, 11, 15, 0, 0, 1, tzinfo=UTC)
    assert naive == datetime(2026, 11, 15, 0, 0, 2, tzinfo=UTC)
    assert nanos is not None and nanos.replace(microsecond=0) == datetime(2026, 11, 15, 0, 0, 3, tzinfo=UTC)
    assert plain == datetime(2026, 11, 15, 0, 0, 4, tzinfo=UTC)


def test_a_summary_is_the_title_of_a_file_with_nothing_else() -> None:
    session, _ = read("summary_only.jsonl")
    assert session.title == "Sorting a list of names"
    assert (session.turns, session.calls) == ([], [])


def test_parents_may_be_missing_late_or_cyclic() -> None:
    for name in ("parent_cycle.jsonl", "parent_missing.jsonl"):
        session, _ = read(name)
        assert sum(len(branch.turns) for branch in session.branches) >= 2
    session, _ = read("parent_later.jsonl")
    assert [turn.prompt.text for turn in session.turns] == ["What is in the file?", "Sort it."]
    assert len(session.branches) == 1


def test_results_without_calls_and_calls_without_results_are_kept() -> None:
    session, _ = read("orphan_result.jsonl")
    assert [(call.id, call.ok) for call in session.calls if call.name] == [("toolu_open", None)]
    assert list(session.ledger)[1].line == 2


def test_a_result_may_come_before_its_call() -> None:
    session, _ = read("result_before_call.jsonl")
    (call,) = session.calls
    assert (call.ok, call.data, call.result.content) == (True, "first", "first")


@pytest.mark.parametrize("name", ["array_one_line.json", "array_pretty.json"])
def test_a_json_array_is_one_document_of_records(name: str) -> None:
    session, _ = read(name)
    assert {record.dialect for record in session.records} == {"stream-json"}
    assert [m.text for m in session.messages if m.role == "assistant"] == ["A list of names."]
    assert all(json.loads(record.raw) == record.value for record in session.records)


def test_a_lone_result_is_a_session_too() -> None:
    session, _ = read("lone_result.json")
    assert session.records[0].dialect == "stream-json"
    assert session.id == "5e551000-0000-4000-8000-000000000001"


@pytest.mark.parametrize("name", [name for name in FIXTURES if name.startswith("not_a_transcript")])
def test_a_file_that_is_not_a_transcript_is_reported(name: str) -> None:
    session, _ = read(name)
    assert session.messages == [] and session.turns == []
    assert any(finding.level == "error" for finding in reread.check(HARD / name))


@pytest.mark.parametrize("open_, close", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
@pytest.mark.parametrize("depth", [500, 1_500, 5_000])
def test_deep_nesting_is_only_deep(tmp_path: Path, open_: str, close: str, depth: int) -> None:
    nest = open_ * depth + "1" + close * depth
    call = f'{{"type":"tool_use","id":"toolu_deep","name":"mcp__deep__dig","input":{{"x":{nest}}}}}'
    message = f'{{"id":"msg_deep","role":"assistant","content":[{call}]}}'
    data = before_an_ordinary_line(
        f'{{"type":"assistant","uuid":"a","parentUuid":null,"sessionId":"s","message":{message}}}'
    )
    (tmp_path / "deep.jsonl").write_bytes(data)
    session = reread.open(tmp_path / "deep.jsonl")
    holds_together(session, data)
    walk(session)
    list(reread.check(tmp_path / "deep.jsonl"))
    assert len(session.records) == 2
    assert texts(session)[-1] == "Go on."
    if depth <= 1_500:
        assert session.records[0].type == "assistant"
        assert [call.id for call in session.calls] == ["toolu_deep"]


def test_a_line_of_20_mb_is_one_record(tmp_path: Path) -> None:
    text = "0123456789abcde\n" * (20 * 2**20 // 16)
    content = [{"type": "tool_result", "tool_use_id": "toolu_big", "content": text}]
    hard = user_line(content, "u0")
    data = before_an_ordinary_line(hard)
    (tmp_path / "big.jsonl").write_bytes(data)
    session = reread.open(tmp_path / "big.jsonl")
    holds_together(session, data)
    walk(session)
    assert session.records[0].value == json.loads(hard)
    assert texts(session)[-1] == "Go on."


def test_a_directory_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(reread.RereadError) as refusal:
        walk(reread.open(tmp_path))
    assert str(tmp_path) in str(refusal.value)


def test_a_missing_file_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(reread.NotFound) as refusal:
        walk(reread.open(tmp_path / "missing.jsonl"))
    assert "missing.jsonl" in str(refusal.value)


def test_an_unknown_id_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    with pytest.raises(reread.NotFound) as refusal:
        reread.open("00000000-dead-4000-8000-00000000beef")
    assert "00000000-dead-4000-8000-00000000beef" in str(refusal.value)


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="here, permissions stop nobody")
def test_a_file_without_permission_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "closed.jsonl"
    path.write_bytes((HARD / "bom.jsonl").read_bytes())
    path.chmod(0)
    with pytest.raises(reread.Unreadable) as refusal:
        walk(reread.open(path))
    assert "closed.jsonl" in str(refusal.value)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets in the file system")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door.jsonl")
        with pytest.raises(reread.Unreadable) as refusal:
            walk(reread.open(tmp_path / "door.jsonl"))
    assert "door.jsonl" in str(refusal.value)


def test_misuse_is_refused_with_advice() -> None:
    for nonsense in (42, None, 1.5, object()):
        with pytest.raises((reread.RereadError, TypeError)):
            reread.open(nonsense)  # type: ignore[arg-type]


ODD_TIMES = [
    user("hello", timestamp="yesterday 1"),
    reply(use("toolu_1", "Bash", command="ls"), timestamp="yesterday 2"),
    answer(result("toolu_1"), timestamp="yesterday 3"),
    system("informational", "note", timestamp="yesterday 4"),
    attachment("file", {"filename": "x"}, timestamp="yesterday 5"),
    progress("hook_progress", {"hookName": "x"}, timestamp="yesterday 6"),
    state("mode", mode="plan", timestamp="yesterday 7"),
    user("again", timestamp={"at": "yesterday 8"}),
    {"type": "new", "uuid": "n", "sessionId": "s", "timestamp": "yesterday 9"},
]


@pytest.mark.parametrize("format", ["markdown", "terminal", "json"])
def test_a_time_that_is_none_is_shown_as_written(format: str) -> None:
    data = jsonl(*ODD_TIMES, reply("done", id="msg_2", timestamp="2026-01-02T03:04:05Z"))
    if format == "terminal":
        capture = io.StringIO()
        Console(file=capture, width=200).print(*TerminalView(Selection(full=True)).session(reread.open(data)))
        view = capture.getvalue()
    else:
        view = reread.export(data, format, **({"full": True} if format == "markdown" else {})).decode()
    assert [number for number in range(1, 10) if f"yesterday {number}" not in view] == []
    assert format == "json" or "2026-01-02T03" not in view
