"""The stand-in for `claude`, run as a program runs it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from limits import child_process

from reread.catalog.store import Store
from reread.fake_claude.client import Pipes, run_fake_claude
from reread.fake_claude.matcher import FakeClaudeSettings

HERE = Path(__file__).parent
STORE = HERE / "recordings"
KEPT = STORE / "conversations" / "default" / "default"
REAL = HERE / "real"
STAND_IN = [str(Path(sys.executable).with_name("reread-claude"))]
STREAM = ["--output-format", "stream-json", "--verbose"]
TALK = [*STREAM, "--input-format", "stream-json"]
PLAIN = "What is this?"
SETTINGS = ("REREAD_REPLAY", "REREAD_HOME", "REREAD_MATCH", "REREAD_PLAYED", "REREAD_SPEED")

Done = subprocess.CompletedProcess[bytes]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and the recordings of these tests."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("REREAD_", "CLAUDE"))}
    return {**clean, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "none"), "REREAD_HOME": str(STORE)}


@pytest.fixture
def claude(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls the stand-in, on pipes of its own; keyword arguments are settings: `replay="hello"` is REREAD_REPLAY."""
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
                code = run_fake_claude(words, FakeClaudeSettings.of(os.environ), Pipes(reading, out, err))
            finally:
                os.close(reading)
        return Done(words, code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def process(environment: dict[str, str], tmp_path: Path) -> Any:
    """Runs the executable as a program would."""

    def call(*words: str, stdin: bytes = b"", **settings: str) -> Done:
        named = {f"REREAD_{key.upper()}": value for key, value in settings.items()}
        command, variables = [*STAND_IN, *words], {**environment, **named}
        return subprocess.run(command, input=stdin, capture_output=True, env=variables, cwd=tmp_path, timeout=60)

    return call


def recorded(name: str, stream: str = "out") -> list[bytes]:
    """The lines of a stream in a kept conversation."""
    lines = [json.loads(line) for line in (KEPT / f"{name}.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["claudeMessage"] and line.get("stream", "out") == stream]
    return [json.dumps(line["claudeMessage"], separators=(",", ":"), ensure_ascii=False).encode() for line in kept]


def values(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def said(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def prompt(words: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": words}, "parent_tool_use_id": None, "session_id": ""}


def request(id: str, **body: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id, "request": body}


def allow(asked: dict[str, Any]) -> dict[str, Any]:
    body = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
    return {"type": "control_response", "response": {**heard(asked), "response": body}}


def deny(asked: dict[str, Any], message: str) -> dict[str, Any]:
    body = {"behavior": "deny", "message": message}
    return {"type": "control_response", "response": {**heard(asked), "response": body}}


def heard(asked: dict[str, Any]) -> dict[str, Any]:
    return {"subtype": "success", "request_id": asked["request_id"]}


def test_text_is_the_answer_and_a_line_end(process: Any) -> None:
    done = process("-p", PLAIN)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"All done.\n", b"")


def test_without_print_a_pipe_is_answered_too(claude: Any) -> None:
    assert claude(PLAIN).stdout == b"All done.\n"


def test_json_is_the_recorded_result(claude: Any) -> None:
    done = claude("-p", PLAIN, "--output-format", "json")
    (result,) = values(done)
    assert (result["type"], result["result"]) == ("result", "All done.")
    assert done.stdout.rstrip() in recorded("plain")


def test_verbose_json_is_all_of_it_in_one_array(claude: Any) -> None:
    whole = json.loads(claude("-p", PLAIN, "--output-format", "json", "--verbose").stdout)
    stream = values(claude("-p", PLAIN, *STREAM))
    assert whole == stream
    assert (whole[0]["subtype"], whole[-1]["type"]) == ("init", "result")


def test_a_stream_is_the_recorded_bytes(claude: Any) -> None:
    done = claude("-p", PLAIN, *STREAM)
    printed = done.stdout.splitlines()
    assert printed == recorded("plain")[: len(printed)]
    assert json.loads(printed[-1])["type"] == "result"


def test_the_prompt_may_come_on_standard_input(claude: Any) -> None:
    assert claude("-p", stdin=PLAIN.encode()).stdout == b"All done.\n"
    assert claude("-p", "Sum this up:", stdin=b"one\ntwo\n").returncode == 0
    assert claude("-p", "Sum this up:", stdin=b"one\nthree\n").returncode == 3


def test_no_prompt_at_all_is_refused_as_by_the_client(claude: Any) -> None:
    done = claude("-p")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Error: Input must be provided either through stdin or as a prompt argument")


@pytest.mark.parametrize(
    ("words", "code", "printed"),
    [
        (["Fail"], 1, b"API Error: 400 messages.0: something is invalid\n"),
        (["Go on for ever", "--max-turns", "1"], 1, b"Error: Reached max turns (1)"),
        (["Go on for ever"], 1, b"Error: Reached max turns (1)"),
        (["Spend", "--max-budget-usd", "0.0001"], 1, b"Error: Exceeded USD budget (0.0001)"),
        (["Only text"], 0, b"Hello! This is a plain text answer from the stub, long enough for a few deltas.\n"),
    ],
)
def test_text_and_exit_code_are_those_of_the_client(claude: Any, words: list[str], code: int, printed: bytes) -> None:
    done = claude("-p", *words)
    assert (done.returncode, done.stdout) == (code, printed)


def test_the_version_is_the_recorded_one(claude: Any) -> None:
    assert claude("--version").stdout == b"2.1.325 (Claude Code)\n"
    old = claude("--version", replay=str(REAL / "2.1.220" / "plain" / "stream.jsonl"))
    assert old.stdout == b"2.1.220 (Claude Code)\n"


def test_a_prompt_that_nobody_recorded_fails_loudly(process: Any) -> None:
    done = process("-p", "What else?")
    assert (done.returncode, done.stdout) == (3, b"")
    words = done.stderr.decode()
    assert 'no recording answers "What else?"' in words
    assert "needed: a recording whose first prompt is this one" in words
    assert 'plain: "What is this?"' in words


def test_to_a_program_the_failure_is_a_message_and_no_result(claude: Any) -> None:
    (notice,) = values(claude("-p", "What else?", *STREAM))
    assert (notice["type"], notice["level"]) == ("system", "error")
    assert 'no recording answers "What else?"' in notice["content"]


def test_an_empty_store_says_so(claude: Any, tmp_path: Path) -> None:
    done = claude("-p", PLAIN, home=str(tmp_path / "store"))
    assert done.returncode == 3
    assert b"there are no recordings" in done.stderr


def test_a_recording_that_is_not_there_is_named(claude: Any) -> None:
    done = claude("-p", PLAIN, replay="nonsense")
    assert done.returncode == 3
    assert b"nonsense" in done.stderr


def test_what_was_recorded_as_text_cannot_be_told_as_json(claude: Any) -> None:
    done = claude("-p", "Only text", "--output-format", "json")
    assert done.returncode == 3
    assert b"astext was recorded as text: record it with --output-format json" in done.stderr


def test_a_session_is_resumed_by_its_id(claude: Any) -> None:
    session = values(claude("-p", PLAIN, "--output-format", "json"))[0]["session_id"]
    assert claude("-p", "And then?", "--resume", session).returncode == 0
    assert claude("-p", "And then?", "--continue").returncode == 0
    fresh = claude("-p", "And then?")
    assert fresh.returncode == 3
    assert f"goes on with session {session}" in fresh.stderr.decode()


def test_an_unknown_session_is_refused_in_the_words_of_the_client(claude: Any) -> None:
    nobody = "11111111-0000-4000-8000-000000000000"
    said = f"No conversation found with session ID: {nobody}"
    quiet, loud = claude("-p", PLAIN, "--resume", nobody), claude("-p", PLAIN, "--resume", nobody, *STREAM)
    assert (quiet.returncode, quiet.stdout, loud.returncode) == (1, b"", 1)
    assert quiet.stderr.decode().startswith(said)
    assert values(loud)[0]["errors"] == [said]
    titled = claude("-p", PLAIN, "--resume", "no such title")
    assert b'Provided value "no such title" is not a UUID' in titled.stderr


def test_the_caller_chooses_the_session_id(claude: Any, tmp_path: Path) -> None:
    mine, played = "22222222-0000-4000-8000-000000000000", str(tmp_path / "played")
    first = claude("-p", PLAIN, "--output-format", "json", "--session-id", mine, played=played)
    assert values(first)[0]["session_id"] == mine
    assert claude("-p", "And then?", "--resume", mine, played=played).returncode == 0


def test_recordings_are_played_in_order_and_once(claude: Any, tmp_path: Path) -> None:
    played = str(tmp_path / "played")
    files = [str(REAL / "2.1.220" / name / "stream.jsonl") for name in ("plain", "api_529")]
    answers = [claude("-p", "Whatever", replay=os.pathsep.join(files), played=played) for _ in range(3)]
    assert [done.returncode for done in answers] == [0, 0, 3]
    assert answers[0].stdout != answers[1].stdout
    assert b"all 2 recordings of it have been played" in answers[2].stderr


def test_without_a_note_the_same_request_has_the_same_answer(claude: Any) -> None:
    assert claude("-p", PLAIN, *STREAM).stdout == claude("-p", PLAIN, *STREAM).stdout


def test_in_order_no_prompt_is_compared(claude: Any) -> None:
    assert claude("-p", "Say it in other words", replay="plain", match="order").stdout == b"All done.\n"


def test_partial_messages_only_where_they_are_asked_for(claude: Any) -> None:
    stream = REAL / "2.1.220" / "partial" / "stream.jsonl"
    with_parts = claude("-p", "x", *STREAM, "--include-partial-messages", replay=str(stream))
    assert with_parts.stdout == stream.read_bytes()
    without = {value["type"] for value in values(claude("-p", "x", *STREAM, replay=str(stream)))}
    assert "stream_event" not in without
    lacking = claude("-p", PLAIN, *STREAM, "--include-partial-messages")
    assert lacking.returncode == 3
    assert b"record it with --include-partial-messages" in lacking.stderr


def test_what_asks_its_caller_cannot_be_played_to_nobody(claude: Any) -> None:
    done = claude("-p", "Touch two files")
    assert done.returncode == 3
    assert b"it can only be played to stream-json input" in done.stderr


@pytest.mark.parametrize("scenario", ["1.0.128/agent", "2.0.55/stream_cut", "2.1.220/agent_nested"])
def test_a_stream_of_the_real_client_is_printed_as_it_was(claude: Any, scenario: str) -> None:
    stream = REAL / scenario / "stream.jsonl"
    done = claude("-p", "x", *STREAM, replay=str(stream))
    assert done.stdout == stream.read_bytes()
    assert done.returncode == json.loads((stream.parent / "meta.json").read_text())["steps"][0]["rc"]


class Talk:
    """A process of the stand-in, spoken to line by line."""

    def __init__(self, environment: dict[str, str], *words: str, **settings: str) -> None:
        named = {f"REREAD_{key.upper()}": value for key, value in settings.items()}
        self.process = subprocess.Popen(
            [*STAND_IN, *TALK, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **named},
        )

    def say(self, *messages: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(said(*messages))
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def hear_until(self, kind: str) -> list[dict[str, Any]]:
        lines = [self.hear()]
        while lines[-1]["type"] != kind:
            lines.append(self.hear())
        return lines

    def close(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


def test_prompts_on_standard_input_are_answered_one_by_one(environment: dict[str, str]) -> None:
    conversation = Talk(environment, replay="turns")
    conversation.say(request("i", subtype="initialize", hooks=None))
    assert conversation.hear()["response"]["request_id"] == "i"
    for words in ("One", "Two", "Three"):
        conversation.say(prompt(words))
        assert conversation.hear_until("result")[-1]["subtype"] == "success"
    assert conversation.close() == (0, b"", b"")


def test_prompts_that_are_all_there_are_answered_in_turn(claude: Any) -> None:
    done = claude(*TALK, stdin=said(prompt("One"), prompt("Two"), prompt("Three")), replay="turns")
    assert [value["result"] for value in values(done) if value["type"] == "result"][1] == "Hello after thinking."
    wanted = [line for line in recorded("turns") if b'"control_response"' not in line and b"sdk_host_only" not in line]
    assert done.stdout.splitlines() == wanted
    assert done.returncode == 0


def test_a_prompt_of_blocks_is_a_prompt(claude: Any) -> None:
    done = claude(*TALK, stdin=said(prompt([{"type": "text", "text": "Say hello"}])), replay="hello")
    assert done.returncode == 0
    seen = prompt([{"type": "text", "text": "Say hello"}, {"type": "image", "source": {"data": "AA=="}}])
    assert claude(*TALK, stdin=said(seen), replay="hello").returncode == 3


def test_the_state_is_told_only_to_those_who_read_it(claude: Any, environment: dict[str, str]) -> None:
    told = claude(*TALK, stdin=said(prompt("Say hello")), replay="hello")
    assert b"session_state_changed" not in told.stdout
    environment["CLAUDE_CODE_SDK_READS_SESSION_STATE"] = "1"
    told = claude(*TALK, stdin=said(prompt("Say hello")), replay="hello")
    assert told.stdout.splitlines() == [line for line in recorded("hello") if b'"control_response"' not in line]


def test_prompts_are_said_back_where_that_is_asked_for(claude: Any) -> None:
    done = claude(*TALK, "--replay-user-messages", stdin=said(prompt("Say hello")), replay="hello")
    assert [v["message"]["content"] for v in values(done) if v.get("isReplay")] == ["Say hello"]


def test_permission_is_asked_for_and_the_answers_are_compared(environment: dict[str, str]) -> None:
    conversation = Talk(environment, replay="permission")
    conversation.say(prompt("Touch two files"))
    conversation.say(allow(conversation.hear_until("control_request")[-1]))
    conversation.say(deny(conversation.hear_until("control_request")[-1], "Not that one."))
    assert conversation.hear_until("result")[-1]["result"] == "One was made, one was not."
    assert conversation.close()[0] == 0


def test_another_answer_than_the_recorded_one_fails_loudly(environment: dict[str, str]) -> None:
    conversation = Talk(environment, replay="permission")
    conversation.say(prompt("Touch two files"))
    conversation.say(deny(conversation.hear_until("control_request")[-1], "Never."))
    code, out, err = conversation.close()
    assert code == 3
    assert b"answer to can_use_tool (Bash) is not the recorded one: behavior was 'allow' and is now 'deny'" in err
    assert json.loads(out)["subtype"] == "informational"


def test_a_caller_that_goes_away_is_not_waited_for(claude: Any) -> None:
    done = claude(*TALK, stdin=said(prompt("Touch two files")), replay="permission")
    assert done.returncode == 3
    assert b"answer to can_use_tool (Bash) here, but standard input is closed" in done.stderr


def test_an_interrupt_is_waited_for_where_one_was_recorded(environment: dict[str, str]) -> None:
    conversation = Talk(environment, replay="interrupt")
    conversation.say(prompt("Slow please"))
    assert conversation.hear_until("assistant")[-1]["message"]["content"][0]["text"] == "Complete first block."
    conversation.say(request("int", subtype="interrupt"))
    acknowledged, *_, result = conversation.hear_until("result")
    assert acknowledged["response"] == {"subtype": "success", "request_id": "int", "response": {"still_queued": []}}
    assert result["subtype"] == "error_during_execution"
    conversation.say(prompt("Go on"))
    assert conversation.hear_until("result")[-1]["subtype"] == "success"
    assert conversation.close()[0] == 0


def test_an_interrupt_where_none_was_recorded_cuts_the_turn_short(environment: dict[str, str]) -> None:
    conversation = Talk(environment, replay="permission")
    conversation.say(prompt("Touch two files"))
    conversation.hear_until("control_request")
    conversation.say(request("int", subtype="interrupt"))
    reply, line, result = conversation.hear_until("result")
    assert reply["response"]["subtype"] == "success"
    assert line["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    conversation.close()


def test_requests_are_answered_at_any_time(environment: dict[str, str]) -> None:
    conversation = Talk(environment, replay="hello")
    conversation.say(
        request("a", subtype="set_model", model="m"), request("b", subtype="bogus"), {"type": "unheard-of"}
    )
    assert conversation.hear()["response"]["response"] == {"model": "m"}
    assert conversation.hear()["response"]["error_code"] == "unsupported_request"
    conversation.say(prompt("Say hello"))
    conversation.hear_until("result")
    conversation.say(request("c", subtype="interrupt"))
    assert conversation.hear()["response"]["request_id"] == "c"
    assert conversation.close()[0] == 0


def test_hooks_other_than_the_recorded_ones_fail_loudly(claude: Any) -> None:
    hooks = {"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]}
    opening = request("i", subtype="initialize", hooks=hooks)
    done = claude(*TALK, stdin=said(opening, prompt("Say hello")), replay="hello")
    assert done.returncode == 3
    assert b"hello was recorded with other hooks: None" in done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not json\n", b"Error parsing streaming input line (type=unknown, 8 chars): SyntaxError"),
        (b'{"type":"user"}\n', b"Error: Expected message role 'user', got 'undefined'"),
    ],
)
def test_nonsense_on_standard_input_is_refused_as_by_the_client(claude: Any, line: bytes, words: bytes) -> None:
    done = claude(*TALK, stdin=line)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(words)


def test_nothing_on_standard_input_is_no_failure(claude: Any) -> None:
    done = claude(*TALK)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_conversation_of_which_only_one_side_was_recorded(environment: dict[str, str]) -> None:
    stream = REAL / "2.1.76" / "deny_sdk" / "stream.jsonl"
    conversation = Talk(environment, replay=str(stream))
    conversation.say(prompt("Whatever"))
    conversation.say(deny(conversation.hear_until("control_request")[-1], "No."))
    conversation.say(deny(conversation.hear_until("control_request")[-1], "Stop."))
    conversation.hear_until("result")
    conversation.close()


def slow_store(folder: Path, seconds: float) -> str:
    """A store with one conversation, in which the answer to "Wait" took so long."""
    now = datetime.now(UTC)
    with Store(folder).writer("slow") as writer:
        writer.begin(["claude", "-p", "Wait", *STREAM])
        writer.append(b'{"type":"system","subtype":"init","session_id":"s"}', timestamp=now)
        late = now + timedelta(seconds=seconds)
        writer.append(b'{"type":"result","subtype":"success","result":"At last.","session_id":"s"}', timestamp=late)
    return str(folder)


def test_it_plays_at_the_recorded_pace_where_asked(claude: Any, tmp_path: Path) -> None:
    home = slow_store(tmp_path / "store", 20)

    def seconds(speed: str) -> float:
        began = time.monotonic()
        assert claude("-p", "Wait", home=home, speed=speed).stdout == b"At last.\n"
        return time.monotonic() - began

    assert seconds("20") >= 1
    assert seconds("") < 20


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_print_ends_as_the_client_does(environment: dict[str, str], tmp_path: Path) -> None:
    settings = {"REREAD_HOME": slow_store(tmp_path / "store", 120), "REREAD_SPEED": "1"}
    with child_process(
        [*STAND_IN, "-p", "Wait", *STREAM],
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
    [({"match": "fuzzy"}, b"say prompt or order"), ({"speed": "fast"}, b"say 1 for the recorded pace")],
)
def test_a_setting_that_makes_no_sense_is_refused(process: Any, settings: dict[str, str], words: bytes) -> None:
    done = process("-p", PLAIN, **settings)
    assert (done.returncode, done.stdout) == (3, b"")
    assert words in done.stderr


def test_it_is_also_a_way_to_replay(environment: dict[str, str]) -> None:
    reread = str(Path(sys.executable).with_name("reread"))

    def call(*words: str) -> Done:
        return subprocess.run([reread, *words], stdin=subprocess.DEVNULL, capture_output=True, env=environment)

    done = call("replay", "plain", "--as-claude", "-p", PLAIN, "--output-format", "json")
    assert (done.returncode, values(done)[0]["result"]) == (0, "All done.")
    assert call("replay", "hello", "--as-claude", "-p", PLAIN).returncode == 3
    assert call("replay", "--root", str(STORE), "--as-claude", "-p", PLAIN).stdout == b"All done.\n"
    assert call("replay", "--as-claude", "--version").stdout == b"2.1.325 (Claude Code)\n"
    assert b"Missing argument" in call("replay").stderr


def test_the_example_in_the_documents_runs(environment: dict[str, str], tmp_path: Path) -> None:
    text = (HERE.parent / "docs" / "standin.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "test_example.py").write_text(code)
    path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
    done = subprocess.run(command, cwd=tmp_path, env={**environment, "PATH": path}, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout


def test_every_setting_is_documented() -> None:
    text = (HERE.parent / "docs" / "standin.md").read_text()
    assert all(f"| `{setting}` |" in text for setting in SETTINGS)
