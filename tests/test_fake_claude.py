"""The fake `claude`, run as a program runs it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from effort import one_in
from limits import child_process

from reread.catalog.store import Store
from reread.fake_claude import client
from reread.fake_claude.client import Pipes, run_fake_claude
from reread.fake_claude.matcher import FakeClaudeSettings

pytestmark = one_in(2)

HERE = Path(__file__).parent
STORE = HERE / "recordings"
CONVERSATIONS = STORE / "conversations" / "default" / "default"
REAL = HERE / "real"
FAKE_CLAUDE = [str(Path(sys.executable).with_name("reread-claude"))]
STREAM = ["--output-format", "stream-json", "--verbose"]
TALK = [*STREAM, "--input-format", "stream-json"]
PLAIN = "What is this?"
SETTINGS = set(re.findall(r"REREAD_\w+", client.HELP))

Done = subprocess.CompletedProcess[bytes]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and the recordings of these tests."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("REREAD_", "CLAUDE"))}
    return {**clean, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "none"), "REREAD_HOME": str(STORE)}


@pytest.fixture
def claude(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call the fake client on pipes of its own; keyword arguments are settings: `replay="hello"` is REREAD_REPLAY."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, stdin: bytes = b"", **settings: str) -> Done:
        named = {f"REREAD_{key.upper()}": value for key, value in settings.items()}
        out, err, (reading, writing) = io.BytesIO(), io.BytesIO(), os.pipe()
        os.write(writing, stdin)
        os.close(writing)
        with monkeypatch.context() as patch:
            for name in [key for key in os.environ if key.startswith(("REREAD_", "CLAUDE"))]:
                patch.delenv(name)
            for name, value in {**environment, **named}.items():
                patch.setenv(name, value)
            try:
                code = run_fake_claude(words, FakeClaudeSettings.from_environment(os.environ), Pipes(reading, out, err))
            finally:
                os.close(reading)
        return Done(words, code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def process(environment: dict[str, str], tmp_path: Path) -> Any:
    """Run the executable as a program would."""

    def call(*words: str, stdin: bytes = b"", **settings: str) -> Done:
        named = {f"REREAD_{key.upper()}": value for key, value in settings.items()}
        command, variables = [*FAKE_CLAUDE, *words], {**environment, **named}
        return subprocess.run(command, input=stdin, capture_output=True, env=variables, cwd=tmp_path, timeout=150)

    return call


def recorded(name: str, stream: str = "out") -> list[bytes]:
    """Return the lines of a stream in a recorded conversation."""
    lines = [json.loads(line) for line in (CONVERSATIONS / f"{name}.jsonl").read_text().splitlines()]
    messages = [line["claudeMessage"] for line in lines if line.get("stream", "out") == stream]
    return [json.dumps(it, separators=(",", ":"), ensure_ascii=False).encode() for it in messages if it]


def values(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def json_lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def prompt(words: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": words}, "parent_tool_use_id": None, "session_id": ""}


def request(id: str, **body: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id, "request": body}


def allow(asked: dict[str, Any]) -> dict[str, Any]:
    body = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
    return {"type": "control_response", "response": {**success(asked), "response": body}}


def deny(asked: dict[str, Any], message: str) -> dict[str, Any]:
    body = {"behavior": "deny", "message": message}
    return {"type": "control_response", "response": {**success(asked), "response": body}}


def success(asked: dict[str, Any]) -> dict[str, Any]:
    return {"subtype": "success", "request_id": asked["request_id"]}


PERMISSION, NOBODY = json_lines(prompt("Touch two files")), "11111111-0000-4000-8000-000000000000"
HOOKED = json_lines(
    request("i", subtype="initialize", hooks={"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]}),
    prompt("Say hello"),
)
SEEN = prompt([{"type": "text", "text": "Say hello"}, {"type": "image", "source": {"data": "AA=="}}])
ANSWERED = [
    ((PLAIN,), {}, b"All done.\n"),
    (("-p",), {"stdin": PLAIN.encode()}, b"All done.\n"),
    (("-p", "Sum this up:"), {"stdin": b"one\ntwo\n"}, None),
    (("-p", "Only text"), {}, b"Hello! This is a plain text answer from the stub, long enough for a few deltas.\n"),
    (("-p", "Say it in other words"), {"replay": "plain", "match": "order"}, b"All done.\n"),
    (("-p", "And then?", "--continue"), {}, None),
    (("--version",), {}, b"2.1.325 (Claude Code)\n"),
    (("--version",), {"replay": str(REAL / "2.1.220/plain/stream.jsonl")}, b"2.1.220 (Claude Code)\n"),
    ((*TALK,), {}, b""),
    ((*TALK,), {"stdin": b"\n \n"}, b""),
    ((*TALK,), {"stdin": json_lines(prompt([{"type": "text", "text": "Say hello"}])), "replay": "hello"}, None),
    ((*TALK,), {"stdin": HOOKED, "replay": "hello", "match": "order"}, None),
]
"""Calls that succeed, with the settings and standard input of each, and what is printed if that is known."""
REFUSED = [
    (("-p",), {}, 1, b"", b"Error: Input must be provided either through stdin or as a prompt argument"),
    (("-p", "Fail"), {}, 1, b"API Error: 400 messages.0: something is invalid\n", b""),
    (("-p", "Go on for ever", "--max-turns", "1"), {}, 1, b"Error: Reached max turns (1)", b""),
    (("-p", "Go on for ever"), {}, 1, b"Error: Reached max turns (1)", b""),
    (("-p", "Spend", "--max-budget-usd", "0.0001"), {}, 1, b"Error: Exceeded USD budget (0.0001)", b""),
    (("-p", "Sum this up:"), {"stdin": b"one\nthree\n"}, 3, b"", b""),
    (("-p", PLAIN), {"home": "none"}, 3, b"", b"There are no recordings."),
    (("-p", PLAIN), {"replay": "nonsense"}, 3, b"", b"nonsense"),
    (
        ("-p", "Only text", "--output-format", "json"),
        {},
        3,
        b"",
        b"astext was recorded as text; record it with --output",
    ),
    (("-p", PLAIN, *STREAM, "--include-partial-messages"), {}, 3, None, b"record it with --include-partial-messages"),
    (("-p", "Touch two files"), {}, 3, b"", b"play it with --input-format stream-json"),
    (("-p", "And then?"), {}, 3, b"", b"continues session "),
    (("-p", PLAIN, "--resume", NOBODY), {}, 1, b"", f"No conversation found with session ID: {NOBODY}".encode()),
    (("-p", "Größe?"), {}, 3, b"", 'No recording answers "Größe?".'.encode()),
    (("-p", "x", "--resume", NOBODY), {"replay": str(REAL / "2.1.220/plain/stream.jsonl")}, 1, b"", b": any prompt\n"),
    (("-p", PLAIN, "--resume", "no such title"), {}, 1, b"", b'Provided value "no such title" is not a UUID'),
    (
        (*TALK,),
        {"stdin": b"not json\n"},
        1,
        b"",
        b"Error parsing streaming input line (type=unknown, 8 chars): SyntaxE",
    ),
    ((*TALK,), {"stdin": b'{"type":"user"}\n'}, 1, b"", b"Error: Expected message role 'user', got 'undefined'"),
    ((*TALK,), {"stdin": PERMISSION, "replay": "permission"}, 3, None, b"(Bash) here, but standard input is closed"),
    ((*TALK,), {"stdin": HOOKED, "replay": "hello"}, 3, None, b"hello was recorded with other hooks: None"),
    ((*TALK,), {"stdin": json_lines(SEEN), "replay": "hello"}, 3, None, b""),
    (
        (*TALK,),
        {"stdin": json_lines(prompt("One"), prompt("Three")), "replay": "turns"},
        3,
        None,
        b'the prompt recorded next is "Two".',
    ),
    (
        (*TALK,),
        {"stdin": json_lines(*map(prompt, ["One", "Two", "Three", "Four"])), "replay": "turns"},
        3,
        None,
        b"turns#3 is the last recorded turn of its session.",
    ),
]
"""Calls that fail: what is printed, as far as that is known, and what standard error says among other things."""


@pytest.mark.parametrize(("words", "given", "printed"), ANSWERED)
def test_what_was_recorded_is_answered(claude: Any, words: Any, given: dict[str, Any], printed: bytes | None) -> None:
    done = claude(*words, **given)
    assert (done.returncode, done.stderr) == (0, b"") and printed in (None, done.stdout)


@pytest.mark.parametrize(("words", "given", "code", "printed", "error"), REFUSED)
def test_what_cannot_be_answered_is_refused_as_by_the_client_or_explained(
    claude: Any, words: Any, given: dict[str, Any], code: int, printed: bytes | None, error: bytes
) -> None:
    done = claude(*words, **given)
    assert done.returncode == code and printed in (None, done.stdout) and error in done.stderr


def test_an_executable_answers_and_explains(process: Any) -> None:
    done = process("-p", PLAIN)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"All done.\n", b"")
    done = process("-p", "What else?")
    assert (done.returncode, done.stdout) == (3, b"")
    for words in (
        b'No recording answers "What else?".',
        b"Needed: a recording whose first prompt is this one",
        b'plain: "What is this?"',
    ):
        assert words in done.stderr


def test_json_output_is_the_recorded_result(claude: Any) -> None:
    done = claude("-p", PLAIN, "--output-format", "json")
    (result,) = values(done)
    assert (result["type"], result["result"]) == ("result", "All done.")
    assert done.stdout.rstrip() in recorded("plain")


def test_verbose_json_output_is_one_array(claude: Any) -> None:
    whole = json.loads(claude("-p", PLAIN, "--output-format", "json", "--verbose").stdout)
    stream = values(claude("-p", PLAIN, *STREAM))
    assert whole == stream
    assert (whole[0]["subtype"], whole[-1]["type"]) == ("init", "result")


def test_json_and_text_output_are_whole_lines(claude: Any, tmp_path: Path) -> None:
    home = record(tmp_path, ["-p", "Hi", *STREAM], INIT, answer("Hello.\n"))
    assert claude("-p", "Hi", "--output-format", "json", "--verbose", home=home).stdout.count(b"\n") == 1
    assert claude("-p", "Hi", home=home).stdout == b"Hello.\n"


def test_stream_output_is_the_recorded_bytes(claude: Any) -> None:
    done = claude("-p", PLAIN, *STREAM)
    printed = done.stdout.splitlines()
    assert printed == recorded("plain")[: len(printed)]
    assert json.loads(printed[-1])["type"] == "result"


def test_a_stream_gets_the_error_as_a_message_and_no_result(claude: Any) -> None:
    (notice,) = values(claude("-p", "What else?", *STREAM))
    assert (notice["type"], notice["level"]) == ("system", "error")
    assert 'No recording answers "What else?".' in notice["content"]


def test_a_session_is_resumed_by_id(claude: Any) -> None:
    session = values(claude("-p", PLAIN, "--output-format", "json"))[0]["session_id"]
    assert claude("-p", "And then?", "--resume", session).returncode == 0
    assert f"continues session {session}" in claude("-p", "And then?").stderr.decode()


def test_an_unknown_session_is_an_error_result(claude: Any) -> None:
    done = claude("-p", PLAIN, "--resume", NOBODY, *STREAM)
    assert (done.returncode, values(done)[0]["errors"]) == (1, [f"No conversation found with session ID: {NOBODY}"])
    done = claude(*TALK, "--resume", NOBODY, replay="turns")
    assert (done.returncode, values(done)[0]["subtype"]) == (1, "error_during_execution")


def test_the_caller_chooses_the_session_id(claude: Any, tmp_path: Path) -> None:
    mine, played = "22222222-0000-4000-8000-000000000000", str(tmp_path / "played")
    first = claude("-p", PLAIN, "--output-format", "json", "--session-id", mine, played=played)
    assert values(first)[0]["session_id"] == mine
    assert claude("-p", "And then?", "--resume", mine, played=played).returncode == 0
    (note,) = Path(played).glob("*.session")
    for content in (b"[" * 100_000, b"5", b"\xff", b""):
        note.write_bytes(content)
        assert claude("-p", "And then?", "--resume", mine, played=played).returncode == client.FAILED


def test_with_a_played_folder_each_recording_is_played_once(claude: Any, tmp_path: Path) -> None:
    played = str(tmp_path / "played")
    files = [str(REAL / "2.1.220" / name / "stream.jsonl") for name in ("plain", "api_529")]
    answers = [claude("-p", "Whatever", replay=os.pathsep.join(files), played=played) for _ in range(3)]
    assert [done.returncode for done in answers] == [0, 0, 3]
    assert answers[0].stdout != answers[1].stdout
    assert b"All of its recordings (2 recordings) have been played" in answers[2].stderr


def test_partial_messages_are_printed_on_request(claude: Any) -> None:
    stream = REAL / "2.1.220" / "partial" / "stream.jsonl"
    with_parts = claude("-p", "x", *STREAM, "--include-partial-messages", replay=str(stream))
    assert with_parts.stdout == stream.read_bytes()
    without = {value["type"] for value in values(claude("-p", "x", *STREAM, replay=str(stream)))}
    assert "stream_event" not in without


@pytest.mark.parametrize("scenario", ["1.0.128/agent", "2.0.55/stream_cut", "2.1.220/agent_nested"])
def test_a_stream_of_the_real_client_is_printed_unchanged(claude: Any, scenario: str) -> None:
    stream = REAL / scenario / "stream.jsonl"
    done = claude("-p", "x", *STREAM, replay=str(stream))
    assert done.stdout == stream.read_bytes()
    assert done.returncode == json.loads((stream.parent / "meta.json").read_text())["steps"][0]["rc"]


class Conversation:
    """A process of the fake client, with messages in both directions."""

    def __init__(self, environment: dict[str, str], *words: str, **settings: str) -> None:
        named = {f"REREAD_{key.upper()}": value for key, value in settings.items()}
        self.process = subprocess.Popen(
            [*FAKE_CLAUDE, *TALK, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **named},
        )

    def send(self, *messages: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json_lines(*messages))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def receive_until(self, kind: str) -> list[dict[str, Any]]:
        lines = [self.receive()]
        while lines[-1]["type"] != kind:
            lines.append(self.receive())
        return lines

    def close(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=150)
        return self.process.returncode, out, err


def test_messages_are_answered_one_by_one(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="turns")
    conversation.send(request("i", subtype="initialize", hooks=None))
    assert conversation.receive()["response"]["request_id"] == "i"
    for words in ("One", "Two", "Three"):
        conversation.send(prompt(words))
        assert conversation.receive_until("result")[-1]["subtype"] == "success"
    assert conversation.close() == (0, b"", b"")


def test_messages_sent_at_once_are_answered_in_order(claude: Any) -> None:
    done = claude(*TALK, stdin=json_lines(prompt("One"), prompt("Two"), prompt("Three")), replay="turns")
    assert [value["result"] for value in values(done) if value["type"] == "result"][1] == "Hello after thinking."
    wanted = [line for line in recorded("turns") if b'"control_response"' not in line and b"sdk_host_only" not in line]
    assert done.stdout.splitlines() == wanted
    assert done.returncode == 0


def test_state_messages_are_printed_on_request(claude: Any, environment: dict[str, str]) -> None:
    done = claude(*TALK, stdin=json_lines(prompt("Say hello")), replay="hello")
    assert b"session_state_changed" not in done.stdout
    environment["CLAUDE_CODE_SDK_READS_SESSION_STATE"] = "1"
    done = claude(*TALK, stdin=json_lines(prompt("Say hello")), replay="hello")
    assert done.stdout.splitlines() == [line for line in recorded("hello") if b'"control_response"' not in line]


def test_prompts_are_repeated_on_request(claude: Any) -> None:
    done = claude(*TALK, "--replay-user-messages", stdin=json_lines(prompt("Say hello")), replay="hello")
    assert [v["message"]["content"] for v in values(done) if v.get("isReplay")] == ["Say hello"]


def test_permission_requests_are_sent_and_answers_compared(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="permission")
    conversation.send(prompt("Touch two files"))
    conversation.send(allow(conversation.receive_until("control_request")[-1]))
    conversation.send(deny(conversation.receive_until("control_request")[-1], "Not that one."))
    assert conversation.receive_until("result")[-1]["result"] == "One was made, one was not."
    assert conversation.close()[0] == 0


def test_an_answer_other_than_the_recorded_one_is_an_error(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="permission")
    conversation.send(prompt("Touch two files"))
    conversation.send(deny(conversation.receive_until("control_request")[-1], "Never."))
    code, out, err = conversation.close()
    assert code == 3
    assert b"answer to can_use_tool (Bash) is not the recorded one: behavior was 'allow' and is now 'deny'" in err
    assert json.loads(out)["subtype"] == "informational"


def test_a_recorded_interrupt_is_awaited(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="interrupt")
    conversation.send(prompt("Slow please"))
    assert conversation.receive_until("assistant")[-1]["message"]["content"][0]["text"] == "Complete first block."
    conversation.send(request("int", subtype="interrupt"))
    acknowledged, *_, result = conversation.receive_until("result")
    assert acknowledged["response"] == {"subtype": "success", "request_id": "int", "response": {"still_queued": []}}
    assert result["subtype"] == "error_during_execution"
    conversation.send(prompt("Go on"))
    assert conversation.receive_until("result")[-1]["subtype"] == "success"
    assert conversation.close()[0] == 0


def test_an_unrecorded_interrupt_ends_the_turn(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="permission")
    conversation.send(prompt("Touch two files"))
    conversation.receive_until("control_request")
    conversation.send(request("int", subtype="interrupt"))
    reply, line, result = conversation.receive_until("result")
    assert reply["response"]["subtype"] == "success"
    assert line["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert conversation.close()[0] == 1


def test_requests_are_answered_before_and_after_a_turn(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="hello")
    conversation.send(
        request("a", subtype="set_model", model="m"), request("b", subtype="bogus"), {"type": "unheard-of"}
    )
    assert conversation.receive()["response"]["response"] == {"model": "m"}
    assert conversation.receive()["response"]["error_code"] == "unsupported_request"
    conversation.send(prompt("Say hello"))
    conversation.receive_until("result")
    conversation.send(request("c", subtype="interrupt"))
    assert conversation.receive()["response"]["request_id"] == "c"
    assert conversation.close()[0] == 0


def test_a_recording_without_input_is_played_both_ways(environment: dict[str, str]) -> None:
    stream = REAL / "2.1.76" / "deny_sdk" / "stream.jsonl"
    conversation = Conversation(environment, replay=str(stream))
    conversation.send(prompt("Whatever"))
    conversation.send(deny(conversation.receive_until("control_request")[-1], "No."))
    conversation.send(deny(conversation.receive_until("control_request")[-1], "Stop."))
    conversation.receive_until("result")
    conversation.close()


INIT = {"type": "system", "subtype": "init", "session_id": "s"}


def answer(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "result": text, "session_id": "s", **fields}


def record(store: Path, argv: list[str], *lines: Any, **timestamps: datetime) -> str:
    """Record a run; a line is a message that the client printed, or a stream and a message."""
    with Store(store).writer("made") as writer:
        writer.start_run(["claude", *argv])
        for line in lines:
            stream, message = line if isinstance(line, tuple) else ("out", line)
            writer.append(json.dumps(message).encode(), stream=stream, timestamp=timestamps.get(message["type"]))
    return str(store)


def test_an_error_result_implies_the_exit_code(claude: Any, tmp_path: Path) -> None:
    for is_error in (False, True):
        stream = tmp_path / f"{is_error}.jsonl"
        stream.write_bytes(json_lines(INIT, answer("Done.", is_error=is_error)))
        assert claude("-p", "x", replay=str(stream)).returncode == is_error


def test_match_order_compares_no_answers(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="permission", match="order")
    conversation.send(prompt("Whatever"))
    for _ in range(2):
        conversation.send(deny(conversation.receive_until("control_request")[-1], "Never."))
    assert conversation.receive_until("result")[-1]["subtype"] == "success"
    assert conversation.close()[0] == 0


def test_a_recorded_echo_of_the_prompt_is_printed_once_on_request(claude: Any, tmp_path: Path) -> None:
    echo = {"type": "user", "message": {"role": "user", "content": "Hi"}, "isReplay": True, "session_id": "s"}
    home = record(tmp_path, [*TALK, "--replay-user-messages"], ("in", prompt("Hi")), INIT, echo, answer("Hello."))
    for options, count in (([], 0), (["--replay-user-messages"], 1)):
        done = claude(*TALK, *options, stdin=json_lines(prompt("Hi")), home=home)
        assert [value.get("isReplay") for value in values(done)].count(True) == count


def test_an_interrupt_after_the_result_ends_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    now = datetime.now(UTC)
    late = {"type": "late", "session_id": "s"}
    home = record(tmp_path, TALK, ("in", prompt("Hi")), INIT, answer("Hello."), late, late=now + timedelta(seconds=2))
    conversation = Conversation(environment, home=home, speed="1")
    conversation.send(prompt("Hi"))
    conversation.receive_until("result")
    conversation.send(request("int", subtype="interrupt"))
    assert [conversation.receive()["type"] for _ in range(2)] == ["control_response", "late"]
    assert conversation.close()[:2] == (0, b"")


def test_an_interrupt_between_turns_does_not_end_the_next(environment: dict[str, str]) -> None:
    conversation = Conversation(environment, replay="turns")
    conversation.send(prompt("One"))
    conversation.receive_until("result")
    conversation.send(request("int", subtype="interrupt"))
    conversation.receive_until("control_response")
    conversation.send(prompt("Two"), request("model", subtype="set_model", model="m"))
    assert conversation.receive_until("result")[-1]["subtype"] == "success"
    conversation.close()


def test_an_interrupted_turn_ends_with_the_idle_state(environment: dict[str, str]) -> None:
    conversation = Conversation({**environment, "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}, replay="permission")
    conversation.send(prompt("Touch two files"))
    conversation.receive_until("control_request")
    conversation.send(request("int", subtype="interrupt"))
    conversation.receive_until("result")
    assert conversation.receive()["state"] == "idle"
    conversation.close()


def test_mirrored_transcript_lines_are_printed_on_request_with_the_callers_path(
    claude: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    sent = json_lines(prompt("Mirror me"))
    assert b"transcript_mirror" not in claude(*TALK, stdin=sent, replay="mirror").stdout
    mirrored = [v for v in values(claude(*TALK, "--session-mirror", stdin=sent, replay="mirror")) if "filePath" in v]
    project = re.sub("[^a-zA-Z0-9]", "-", str(tmp_path.resolve()))
    folder = Path(environment["CLAUDE_CONFIG_DIR"], "projects", project)
    assert mirrored and {Path(value["filePath"]).parent for value in mirrored} == {folder}


def test_standard_input_is_read_to_its_end_once_it_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "STDIN_SECONDS", 0.2)
    settings = FakeClaudeSettings(sources=(str(CONVERSATIONS / "piped.jsonl"),))

    def call(*writes: bytes) -> int:
        (reading, writing), out = os.pipe(), io.BytesIO()

        def write() -> None:
            for data in writes:
                os.write(writing, data)
                time.sleep(0.5)
            os.close(writing)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            return run_fake_claude(["-p", "Sum this up:"], settings, Pipes(reading, out, out))
        finally:
            writer.join()
            os.close(reading)

    assert call(b"one\n", b"two\n") == 0
    assert call(b"one\n") == 3


def test_a_client_that_was_killed_ends_after_its_last_turn(environment: dict[str, str], tmp_path: Path) -> None:
    home = record(tmp_path, TALK, ("in", prompt("Hi")), INIT)
    conversation = Conversation(environment, home=home)
    conversation.send(prompt("Hi"))
    assert conversation.process.wait(timeout=150) == 1
    conversation.close()


def test_an_answer_made_up_by_the_client_needs_no_partial_messages(claude: Any) -> None:
    done = claude("-p", "Fail", *STREAM, "--include-partial-messages")
    assert (done.returncode, values(done)[-1]["type"]) == (1, "result")


def test_a_fork_is_preferred_for_a_fork(claude: Any, tmp_path: Path) -> None:
    record(tmp_path, ["-p", "Hi"], INIT, answer("Hello."))
    record(tmp_path, ["-p", "More", "--resume", "s"], INIT, answer("Plain."))
    home = record(tmp_path, ["-p", "More", "--resume", "s", "--fork-session"], answer("Forked.", session_id="f"))
    more = ("-p", "More", "--resume", "s")
    assert claude(*more, home=home, match="prompt").stdout == b"Plain.\n"
    assert claude(*more, "--fork-session", home=home).stdout == b"Forked.\n"


def test_every_turn_of_a_process_is_marked_as_played(claude: Any, tmp_path: Path) -> None:
    played = str(tmp_path / "played")
    done = claude(*TALK, stdin=json_lines(prompt("One"), prompt("Two")), replay="turns", played=played)
    resume = ["--resume", values(done)[-1]["session_id"]]
    again = claude("-p", "Two", *resume, replay="turns", played=played)
    assert b"All of its recordings (1 recording) have been played" in again.stderr
    assert claude("-p", "Three", *resume, replay="turns", played=played).returncode == 0


def slow_store(folder: Path, seconds: float) -> str:
    """Make a store in which the answer to "Wait" took this long."""
    now = datetime.now(UTC)
    with Store(folder).writer("slow") as writer:
        writer.start_run(["claude", "-p", "Wait", *STREAM])
        writer.append(b'{"type":"system","subtype":"init","session_id":"s"}', timestamp=now)
        late = now + timedelta(seconds=seconds)
        writer.append(b'{"type":"result","subtype":"success","result":"At last.","session_id":"s"}', timestamp=late)
    return str(folder)


def test_speed_is_relative_to_the_recorded_pace(claude: Any, tmp_path: Path) -> None:
    home = slow_store(tmp_path / "store", 200)

    def seconds(speed: str) -> float:
        began = time.monotonic()
        assert claude("-p", "Wait", home=home, speed=speed).stdout == b"At last.\n"
        return time.monotonic() - began

    assert seconds("200") >= 1
    assert seconds("") < 200


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupt_signal_ends_the_turn_as_the_client_does(environment: dict[str, str], tmp_path: Path) -> None:
    settings = {"REREAD_HOME": slow_store(tmp_path / "store", 120), "REREAD_SPEED": "1"}
    with child_process(
        [*FAKE_CLAUDE, "-p", "Wait", *STREAM],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, **settings},
    ) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        lines = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert (process.returncode, lines[-1]["subtype"]) == (0, "error_during_execution")


def test_help_names_every_setting(claude: Any) -> None:
    words = claude("--help").stdout.decode()
    assert all(setting in words for setting in SETTINGS)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"match": "fuzzy"}, b"use prompt or order"),
        ({"speed": "fast"}, b"use 1 for the recorded pace"),
        ({"speed": "inf"}, b"use 1"),
        ({"speed": "-1"}, b"use 1"),
        ({"record": "always"}, b"use once"),
    ],
)
def test_an_invalid_setting_is_rejected(process: Any, settings: dict[str, str], words: bytes) -> None:
    done = process("-p", PLAIN, **settings)
    assert (done.returncode, done.stdout) == (3, b"")
    assert words in done.stderr


def test_replay_as_claude(environment: dict[str, str]) -> None:
    reread = str(Path(sys.executable).with_name("reread"))

    def call(*words: str) -> Done:
        return subprocess.run([reread, *words], stdin=subprocess.DEVNULL, capture_output=True, env=environment)

    done = call("replay", "plain", "--as-claude", "-p", PLAIN, "--output-format", "json")
    assert (done.returncode, values(done)[0]["result"]) == (0, "All done.")
    assert call("replay", "hello", "--as-claude", "-p", PLAIN).returncode == 3
    assert call("replay", "--root", str(STORE), "--as-claude", "-p", PLAIN).stdout == b"All done.\n"
    assert call("replay", "--as-claude", "--version").stdout == b"2.1.325 (Claude Code)\n"
    assert call("replay").returncode == 0  # the newest one


def test_every_setting_is_documented() -> None:
    text = (HERE.parent / "docs" / "fake-claude.md").read_text()
    assert len(SETTINGS) > 7
    assert all(f"| `{setting}` |" in text for setting in SETTINGS)
