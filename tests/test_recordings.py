"""Recordings: every line is in a turn, and every turn is linked to the session it continues."""

from pathlib import Path
from typing import Any

import making  # noqa: F401  # its profile
import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.base import jsontext
from reread.base.claude_argv import Invocation, find_invocation
from reread.base.paths import SAMPLES
from reread.catalog.stored_line import ERR, IN, OUT
from reread.fake_claude.control_protocol import difference, reply_to
from reread.fake_claude.script import RecordedTurn, Recording, frame_of, prompt_text, recorded_turns
from reread.fake_claude.script_sources import read_recordings

HERE = Path(__file__).parent
STORE = HERE / "recordings"
REAL = HERE / "real"
FIELDS = [
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


def turns_in(*sources: Path) -> list[RecordedTurn]:
    return recorded_turns(read_recordings([str(source) for source in sources]))


def conversation(name: str) -> Path:
    return STORE / "conversations" / "default" / "default" / f"{name}.jsonl"


@table("stream", sorted(REAL.glob("*/*/stream*.jsonl")))
def test_every_line_of_a_stream_is_in_a_turn(stream: Path) -> None:
    frames = [frame for turn in turns_in(stream) for frame in turn.frames if frame.stream == OUT]
    assert b"".join(frame.raw for frame in frames) == stream.read_bytes()


def test_prompts_are_the_recorded_ones() -> None:
    assert [turn.prompt for turn in turns_in(conversation("turns"))] == ["One", "Two", "Three"]
    assert [turn.prompt for turn in turns_in(conversation("piped"))] == ["Sum this up:\none\ntwo"]
    assert [turn.prompt for turn in turns_in(REAL / "2.1.220" / "plain" / "stream.jsonl")] == [None]


def test_turns_are_linked_through_runs_and_forks() -> None:
    first, second, fork, fourth = turns_in(conversation("resume"))
    assert (first.resumed_session, second.resumed_session, fork.resumed_session) == (None, first.session, first.session)
    assert (fork.is_fork, fork.session != first.session, fourth.resumed_session) == (True, True, fork.session)
    assert (first.next, second.next, fork.next) == (second, None, fourth)


def test_turns_are_linked_from_file_to_file() -> None:
    first, second = turns_in(*(REAL / "1.0.128" / "resume" / name for name in ("stream.jsonl", "stream.1.jsonl")))
    assert second.resumed_session == first.session and first.next is second


def test_missing_prompts_are_inferred() -> None:
    stopped, after = turns_in(REAL / "2.1.220" / "interrupt_sdk" / "stream.jsonl")
    assert stopped.prompt is after.prompt is None
    assert stopped.result and stopped.result.value["subtype"] == "error_during_execution"
    assert after.result and after.result.value["subtype"] == "success"


def test_missing_answers_are_inferred() -> None:
    (turn,) = turns_in(REAL / "2.1.76" / "deny_sdk" / "stream.jsonl")
    asked = [frame.value["request_id"] for frame in turn.frames if frame.kind == "control_request"]
    answered = [frame.value["response"]["request_id"] for frame in turn.frames if frame.stream == IN]
    assert asked == answered and len(asked) == 2


def test_exit_codes_belong_to_the_last_turn() -> None:
    assert [turn.exit_code for turn in turns_in(conversation("turns"))] == [None, None, 0]
    assert [turn.exit_code for turn in turns_in(conversation("failing"))] == [1]


def test_keys_are_unique() -> None:
    turns = turns_in(STORE, REAL / "2.1.220")
    assert len({turn.key for turn in turns}) == len(turns) > 30


def test_a_store_is_played_in_the_order_of_capture() -> None:
    names = [turn.name for turn in turns_in(STORE)]
    assert names.index("hello") < names.index("permission") < names.index("plain")


def test_prompts_with_equal_content_are_equal() -> None:
    image = {"type": "image", "source": {"data": "AA=="}}
    text = {"type": "text", "text": "Look"}
    assert prompt_text({"content": " Look\n"}) == prompt_text({"content": [text]}) == "Look"
    assert prompt_text({"content": [text, image]}) not in (
        "Look",
        prompt_text({"content": [text, {**image, "x": 1}]}),
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
def test_the_invocation_is_found_in_a_command(argv: list[str]) -> None:
    invocation = find_invocation(argv)
    assert invocation is not None and invocation.prompt == "Hi"


def test_a_transcript_is_played_turn_by_turn() -> None:
    (transcript,) = (REAL / "2.1.220" / "tui_rewind" / "projects").glob("*/*.jsonl")
    session = reread.open(transcript)
    turns = turns_in(transcript)
    assert [turn.prompt for turn in turns] == [turn.prompt.text.strip() for turn in session.turns if turn.prompt]
    for number, turn in enumerate(turns):
        printed = [frame.value for frame in turn.frames if frame.stream == OUT]
        assert (printed[0]["subtype"], printed[-1]["type"], printed[-1]["duration_api_ms"]) == ("init", "result", 0)
        assert turn.resumed_session == (session.id if number else None)


def test_sources_are_names_of_conversations_or_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(STORE))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(SAMPLES))
    assert [turn.prompt for turn in recorded_turns(read_recordings(["hello"]))] == ["Say hello"]
    assert recorded_turns(read_recordings([reread.open("latest").id]))[0].prompt
    with pytest.raises(reread.NotFound):
        list(read_recordings(["nonsense"]))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "system", "result", "control_request", "control_response"]) | ANYTHING},
    optional=dict.fromkeys(FIELDS, ANYTHING),
)


@given(st.lists(st.tuples(st.sampled_from([IN, OUT, ERR]), MESSAGES | ANYTHING), max_size=8), MESSAGES)
def test_no_recording_raises(lines: list[tuple[str, Any]], asked: Any) -> None:
    frames = [frame_of(stream, jsontext.dumps(value) + b"\n") for stream, value in lines]
    for invocation in (None, Invocation("Hi"), Invocation(options={"--input-format": "stream-json"})):
        turns = recorded_turns([Recording("it", Path("it"), load=lambda: frames, invocation=invocation)])
        printed = [frame.raw for turn in turns for frame in turn.frames if frame.stream == OUT]
        assert not printed or printed == [frame.raw for frame in frames if frame.stream == OUT]
        assert reply_to(asked, None, turns)["type"] == "control_response"
        assert all(
            isinstance(turn.initialize_request, dict) and (turn.result is None or turn.result.value) for turn in turns
        )
        for frame in frames:
            difference(frame.value, frame.value, asked)


def test_a_call_that_the_client_rejected_is_a_turn() -> None:
    (turn,) = turns_in(conversation("unknown"))
    assert turn.prompt is None and turn.result is not None and turn.result.value["is_error"]


def test_an_init_after_a_background_task_is_not_a_prompt() -> None:
    init = {"type": "system", "subtype": "init"}
    ended = {"type": "system", "subtype": "task_notification"}
    request = {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}}
    result = {"type": "result"}
    frames = [frame_of(OUT, jsontext.dumps(it)) for it in (init, request, result, ended, init, result, init, result)]
    recording = Recording("it", Path("it"), load=lambda: frames)
    assert [len(turn.frames) for turn in recorded_turns([recording])] == [7, 2]


def run_of(session: str, *options: str) -> Recording:
    frames = [frame_of(OUT, b'{"type":"result","session_id":"%b"}\n' % session.encode())]
    arguments = ["claude", "-p", "Hi", *options]
    return Recording(
        " ".join([session, *options]), Path("it"), load=lambda: frames, invocation=find_invocation(arguments)
    )


def test_a_turn_is_linked_to_the_first_that_resumed_it() -> None:
    first, second, third = recorded_turns([run_of("a"), run_of("b", "--resume", "a"), run_of("c", "--resume", "a")])
    assert (first.next, second.next, third.next) == (second, None, None)


def test_continue_resumes_the_session_used_last() -> None:
    runs = [run_of("a"), run_of("b"), run_of("a", "--resume", "a"), run_of("c", "--continue")]
    assert [turn.resumed_session for turn in recorded_turns(runs)] == [None, None, "a", "a"]


def test_a_session_started_twice_has_two_first_turns() -> None:
    frames = [frame_of(OUT, b'{"type":"result","session_id":"s"}\n')]
    again = [Recording(name, Path(name), load=lambda: frames, invocation=Invocation("Hi")) for name in "ab"]
    assert [turn.resumed_session for turn in recorded_turns(again)] == [None, None]
