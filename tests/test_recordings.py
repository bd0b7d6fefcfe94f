"""Recordings: everything that was said is in a turn, and every turn knows what it follows."""

from pathlib import Path
from typing import Any

import making  # noqa: F401  # its profile
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.base import jsontext
from reread.base.claude_argv import Invocation, call_of
from reread.catalog.stored_line import ERR, IN, OUT
from reread.cli._options import SAMPLES
from reread.fake_claude.control_protocol import difference, reply_to
from reread.fake_claude.script import RecordedTurn, Recording, frame_of, prompt_of, recorded_turns
from reread.fake_claude.script_sources import read_recordings

HERE = Path(__file__).parent
STORE = HERE / "recordings"
REAL = HERE / "real"
WORDS = [
    "subtype",
    "message",
    "request",
    "response",
    "request_id",
    "content",
    "role",
    "session_id",
    "isReplay",
    "hooks",
]


def turns_in(*places: Path) -> list[RecordedTurn]:
    return recorded_turns(read_recordings([str(place) for place in places]))


def kept(name: str) -> Path:
    return STORE / "conversations" / "default" / "default" / f"{name}.jsonl"


@pytest.mark.parametrize("stream", sorted(REAL.glob("*/*/stream*.jsonl")), ids=lambda p: f"{p.parts[-3]}-{p.parts[-2]}")
def test_every_line_of_a_stream_is_in_a_turn(stream: Path) -> None:
    frames = [frame for turn in turns_in(stream) for frame in turn.frames if frame.stream == OUT]
    assert b"".join(frame.raw for frame in frames) == stream.read_bytes()


def test_prompts_are_those_that_were_said() -> None:
    assert [turn.prompt for turn in turns_in(kept("turns"))] == ["One", "Two", "Three"]
    assert [turn.prompt for turn in turns_in(kept("piped"))] == ["Sum this up:\none\ntwo"]
    assert [turn.prompt for turn in turns_in(REAL / "2.1.220" / "plain" / "stream.jsonl")] == [None]


def test_a_session_is_followed_through_runs_and_forks() -> None:
    first, second, fork, fourth = turns_in(kept("resume"))
    assert (first.follows, second.follows, fork.follows) == (None, first.session, first.session)
    assert (fork.forks, fork.session != first.session, fourth.follows) == (True, True, fork.session)
    assert (first.next, second.next, fork.next) == (second, None, fourth)


def test_sessions_are_followed_from_file_to_file() -> None:
    first, second = turns_in(*(REAL / "1.0.128" / "resume" / name for name in ("stream.jsonl", "stream.1.jsonl")))
    assert second.follows == first.session and first.next is second


def test_where_only_one_side_was_recorded_prompts_are_put_where_they_must_have_been() -> None:
    stopped, after = turns_in(REAL / "2.1.220" / "interrupt_sdk" / "stream.jsonl")
    assert stopped.prompt is after.prompt is None
    assert stopped.result and stopped.result.value["subtype"] == "error_during_execution"
    assert after.result and after.result.value["subtype"] == "success"


def test_an_unrecorded_answer_is_waited_for_all_the_same() -> None:
    (turn,) = turns_in(REAL / "2.1.76" / "deny_sdk" / "stream.jsonl")
    asked = [frame.value["request_id"] for frame in turn.frames if frame.kind == "control_request"]
    heard = [frame.value["response"]["request_id"] for frame in turn.frames if frame.stream == IN]
    assert asked == heard and len(asked) == 2


def test_exit_codes_belong_to_the_last_turn() -> None:
    assert [turn.exit_code for turn in turns_in(kept("turns"))] == [None, None, 0]
    assert [turn.exit_code for turn in turns_in(kept("failing"))] == [1]


def test_every_turn_has_a_key_of_its_own() -> None:
    turns = turns_in(STORE, REAL / "2.1.220")
    assert len({turn.key for turn in turns}) == len(turns) > 30


def test_a_store_is_played_in_the_order_of_its_making() -> None:
    names = [turn.name for turn in turns_in(STORE)]
    assert names.index("hello") < names.index("permission") < names.index("plain")


def test_prompts_are_equal_where_what_is_seen_is_equal() -> None:
    picture = {"type": "image", "source": {"data": "AA=="}}
    words = {"type": "text", "text": "Look"}
    assert prompt_of({"content": " Look\n"}) == prompt_of({"content": [words]}) == "Look"
    assert prompt_of({"content": [words, picture]}) not in (
        "Look",
        prompt_of({"content": [words, {**picture, "x": 1}]}),
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["claude", "-p", "Hi"],
        ["/usr/local/bin/claude", "Hi", "-p"],
        ["env", "A=1", "claude.exe", "-p", "Hi"],
        ["my-wrapper", "-p", "Hi"],
    ],
)
def test_the_call_is_found_in_a_command(argv: list[str]) -> None:
    call = call_of(argv)
    assert call is not None and call.prompt == "Hi"


def test_a_transcript_is_played_turn_by_turn() -> None:
    (transcript,) = (REAL / "2.1.220" / "tui_rewind" / "projects").glob("*/*.jsonl")
    session = reread.open(transcript)
    turns = turns_in(transcript)
    assert [turn.prompt for turn in turns] == [turn.prompt.text.strip() for turn in session.turns if turn.prompt]
    for number, turn in enumerate(turns):
        shown = [frame.value for frame in turn.frames if frame.stream == OUT]
        assert (shown[0]["subtype"], shown[-1]["type"], shown[-1]["duration_api_ms"]) == ("init", "result", 0)
        assert turn.follows == (session.id if number else None)


def test_names_are_those_of_captured_conversations_and_of_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(STORE))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(SAMPLES))
    assert [turn.prompt for turn in recorded_turns(read_recordings(["hello"]))] == ["Say hello"]
    assert recorded_turns(read_recordings([reread.open("latest").id]))[0].prompt
    with pytest.raises(reread.NotFound):
        list(read_recordings(["nonsense"]))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "system", "result", "control_request", "control_response"]) | ANYTHING},
    optional=dict.fromkeys(WORDS, ANYTHING),
)


@given(st.lists(st.tuples(st.sampled_from([IN, OUT, ERR]), MESSAGES | ANYTHING), max_size=8), MESSAGES)
def test_nothing_that_was_recorded_raises(lines: list[tuple[str, Any]], asked: Any) -> None:
    frames = [frame_of(stream, jsontext.dumps(value) + b"\n") for stream, value in lines]
    for call in (None, Invocation("Hi"), Invocation(options={"--input-format": "stream-json"})):
        turns = recorded_turns([Recording("it", Path("it"), load=lambda: frames, call=call)])
        kept = [frame.raw for turn in turns for frame in turn.frames if frame.stream == OUT]
        assert not kept or kept == [frame.raw for frame in frames if frame.stream == OUT]
        assert reply_to(asked, None, turns)["type"] == "control_response"
        assert all(isinstance(turn.opening, dict) and (turn.result is None or turn.result.value) for turn in turns)
        for frame in frames:
            difference(frame.value, frame.value, asked)


def test_a_session_begun_twice_under_one_id_is_two_beginnings() -> None:
    frames = [frame_of(OUT, b'{"type":"result","session_id":"s"}\n')]
    again = [Recording(name, Path(name), load=lambda: frames, call=Invocation("Hi")) for name in "ab"]
    assert [turn.follows for turn in recorded_turns(again)] == [None, None]
