"""The fake `claude` with patterns of prompts, recording what was not recorded, and its pytest fixture.

What stands for the real program is the fake one itself, with the recordings of the real client: it prints what that one
printed, and it asks its caller what that one asked.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from effort import one_in
from test_fake_claude import PLAIN, STORE, STREAM, TALK, Conversation, allow, deny, json_lines, prompt, request

from reread.catalog.store import Store
from reread.errors import NotFound
from reread.fake_claude.record_once import find_claude, recording_place

pytestmark = one_in(4)

ROOT = Path(__file__).parent.parent
FAKE = [sys.executable, "-P", "-m", "reread.fake_claude"]

Done = subprocess.CompletedProcess[bytes]


def script(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """What stands for the real program; it notes each call."""
    words = " ".join(f"'{word}'" for word in FAKE)
    called = f"echo called >> '{tmp_path}/calls'"
    settings = f"env -u REREAD_REPLAY -u REREAD_PATTERNS REREAD_HOME='{STORE}'"
    return script(tmp_path / "real-claude", called, f'exec {settings} {words} "$@"')


@pytest.fixture
def environment(tmp_path: Path, real: Path) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("REREAD_", "CLAUDE"))}
    own = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "none"), "REREAD_HOME": str(tmp_path / "kept")}
    return {**clean, **own, "REREAD_CLAUDE": str(real), "REREAD_RECORD": "once"}


@pytest.fixture
def claude(environment: dict[str, str], tmp_path: Path) -> Any:
    def call(*words: str, stdin: bytes = b"", **settings: str) -> Done:
        named = {f"REREAD_{key.upper()}": value for key, value in settings.items()}
        return subprocess.run(
            [*FAKE, *words], input=stdin, capture_output=True, env={**environment, **named}, cwd=tmp_path, timeout=150
        )

    return call


def calls(tmp_path: Path) -> int:
    path = tmp_path / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


@one_in(4)
@pytest.mark.parametrize("words", [(), ("--output-format", "json"), STREAM, ("--output-format=text",)], ids=str)
def test_a_prompt_is_recorded_once_and_then_replayed(claude: Any, tmp_path: Path, words: tuple[str, ...]) -> None:
    first = claude("-p", PLAIN, *words)
    assert (first.returncode, first.stderr) == (0, b"")
    assert b"All done." in first.stdout
    again = claude("-p", PLAIN, *words)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert calls(tmp_path) == 1
    assert claude("-p", PLAIN, *words, record="", claude="").stdout == first.stdout


def test_one_recording_answers_in_every_format(claude: Any, tmp_path: Path) -> None:
    assert claude("-p", PLAIN).stdout == b"All done.\n"
    assert json.loads(claude("-p", PLAIN, "--output-format", "json").stdout)["result"] == "All done."
    assert calls(tmp_path) == 1


def test_a_piped_prompt_is_recorded(claude: Any, tmp_path: Path) -> None:
    first, again = (claude("-p", stdin=PLAIN.encode()) for _ in range(2))
    assert first.stdout == again.stdout == b"All done.\n"
    assert calls(tmp_path) == 1


def test_it_is_recorded_under_the_name_to_replay(claude: Any, tmp_path: Path) -> None:
    claude("-p", PLAIN, replay="mine")
    claude("-p", "Say hello", replay="mine")
    (stored,) = Store(tmp_path / "kept").conversations()
    assert (stored.id, len(stored.runs)) == ("mine", 2)
    assert claude("-p", "Say hello", replay="mine", record="").returncode == 0
    assert calls(tmp_path) == 2


def test_it_is_recorded_in_the_folder_to_replay(claude: Any, tmp_path: Path) -> None:
    claude("-p", PLAIN, replay=str(tmp_path / "elsewhere"))
    assert len(list(Store(tmp_path / "elsewhere").conversations())) == 1
    assert claude("-p", PLAIN, replay=str(tmp_path / "elsewhere"), record="").stdout == b"All done.\n"


def test_a_run_without_a_result_is_not_kept(claude: Any, tmp_path: Path) -> None:
    failing = script(tmp_path / "failing", "echo broken >&2", "exit 7")
    claude("-p", PLAIN, replay="mine")
    before = Store(tmp_path / "kept").open("mine").path.read_bytes()
    for name in ("mine", "other"):
        done = claude("-p", "Something else", replay=name, claude=str(failing))
        assert (done.returncode, done.stdout) == (7, b"")
        assert b"nothing was recorded" in done.stderr
    assert [stored.id for stored in Store(tmp_path / "kept").conversations()] == ["mine"]
    assert Store(tmp_path / "kept").open("mine").path.read_bytes() == before


def test_a_run_that_was_killed_is_recorded_again(claude: Any, tmp_path: Path) -> None:
    claude("-p", PLAIN, replay="mine")
    path = Store(tmp_path / "kept").open("mine").path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"result"' not in line))
    assert claude("-p", PLAIN, replay="mine").stdout == b"All done.\n"
    assert calls(tmp_path) == 2


def test_without_a_real_program_the_error_says_what_to_set(claude: Any) -> None:
    done = claude("-p", PLAIN, claude="", path="")
    assert done.returncode == 3
    assert b"set REREAD_CLAUDE" in done.stderr


def talk(environment: dict[str, str], **settings: str) -> list[dict[str, Any]]:
    """Allow one file, refuse the other, and return what was printed."""
    conversation = Conversation(environment, **settings)
    conversation.send(request("i", subtype="initialize", hooks=None))
    printed = [conversation.receive()]
    conversation.send(prompt("Touch two files"))
    printed += conversation.receive_until("control_request")
    conversation.send(allow(printed[-1]))
    printed += conversation.receive_until("control_request")
    conversation.send(deny(printed[-1], "Not that one."))
    printed += conversation.receive_until("result")
    assert conversation.close()[0] == 0
    return printed


def test_a_conversation_in_both_directions_is_recorded_as_it_happens(
    environment: dict[str, str], tmp_path: Path
) -> None:
    first = talk(environment, replay="mine")
    assert [message["type"] for message in first].count("control_response") == 1
    assert first[-1]["result"] == "One was made, one was not."
    again = talk(environment, replay="mine", record="", claude="")
    assert again[1:] == first[1:]
    assert calls(tmp_path) == 1


def test_a_prompt_that_comes_after_recorded_ones_cannot_be_recorded_alone(claude: Any, tmp_path: Path) -> None:
    claude(*TALK, stdin=json_lines(prompt("Say hello")), replay="mine")
    done = claude(*TALK, stdin=json_lines(prompt("Say hello"), prompt("And now?")), replay="mine")
    assert done.returncode == 3
    assert b"is the last recorded turn of its session" in done.stderr
    assert calls(tmp_path) == 1


def test_the_real_program_is_the_next_on_the_path_that_is_not_fake(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("empty", "link", "shim", "real")]
    for folder in folders:
        folder.mkdir()
    (tmp_path / "reread-claude").write_text("from reread.fake_claude.client import main")
    (tmp_path / "reread-claude").chmod(0o755)
    (tmp_path / "link" / "claude").symlink_to(tmp_path / "reread-claude")
    script(tmp_path / "shim" / "claude", 'exec python -m reread.fake_claude "$@"')
    real = script(tmp_path / "real" / "claude", "echo")
    assert find_claude({"PATH": os.pathsep.join(map(str, folders))}) == str(real)
    with pytest.raises(NotFound, match="set REREAD_CLAUDE"):
        find_claude({"PATH": os.pathsep.join(map(str, folders[:3]))})


def test_where_a_recording_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    store, name = recording_place([])
    assert (store.root, len(name)) == (tmp_path, 36)
    store, name = recording_place([str(tmp_path / "new"), "greeting"])
    assert (store.root, name) == (tmp_path / "new", "greeting")


@pytest.fixture
def patterns(tmp_path: Path) -> str:
    path = tmp_path / "patterns.json"
    path.write_text(json.dumps({"What is [A-Z]*?": "plain", "Say*": "hello", "*": "turns"}))
    return str(path)


@one_in(4)
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("What is This?", b"All done."),
        ("Say something\non two lines", b"Hello! This is a plain text answer"),
        ("anything", b""),
        (PLAIN, b"All done."),
    ],
)
def test_a_pattern_chooses_the_recording(claude: Any, patterns: str, asked: str, answer: bytes) -> None:
    done = claude("-p", asked, patterns=patterns, home=str(STORE), record="")
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout


def test_a_pattern_that_names_no_recording_says_so(claude: Any, tmp_path: Path) -> None:
    path = tmp_path / "patterns.json"
    path.write_text(json.dumps({"Say*": "helo", "*": "nosuch"}))
    for asked, said in (
        ("Say it", "'helo' for it, which is no recording here. Did you mean hello?"),
        ("else", "'nosuch' for it, which is no recording here.\n"),
    ):
        done = claude("-p", asked, patterns=str(path), home=str(STORE), record="")
        assert (done.returncode, done.stdout) == (3, b"") and said in done.stderr.decode()


def test_the_next_prompts_of_a_session_may_fit_a_pattern(claude: Any, tmp_path: Path) -> None:
    path = tmp_path / "patterns.json"
    path.write_text(json.dumps({"*": "turns"}))
    words = json_lines(prompt("Un"), prompt("Deux"), prompt("Trois"))
    done = claude(*TALK, stdin=words, patterns=str(path), home=str(STORE), record="")
    assert (done.returncode, done.stdout.count(b'"type":"result"')) == (0, 3)


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', "[" * 100_000, None], ids=lambda text: str(text)[:9])
def test_patterns_that_cannot_be_read_are_an_error(claude: Any, tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "patterns.json"
    if text is not None:
        path.write_text(text)
    done = claude("-p", PLAIN, patterns=str(path), home=str(STORE), record="")
    assert (done.returncode, done.stdout) == (3, b"")
    assert str(path).encode() in done.stderr


def run_pytest(folder: Path, *words: str, **variables: str) -> str:
    """Run pytest as a user of the plug-in does."""
    known = any(point.value == "reread.fake_claude.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if known else ["-p", "reread.fake_claude.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *words]
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("REREAD_", "CLAUDE", "PYTEST"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**clean, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=150,
    )
    return done.stdout + done.stderr


ID = "11111111-1111-4111-8111-111111111111"
SAID = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn"}
PRINTED = [
    {"type": "system", "subtype": "init", "cwd": "/w", "tools": [], "model": "claude-opus-5-5", "session_id": ID},
    {"type": "assistant", "message": {**SAID, "content": [{"type": "text", "text": "Hello!"}]}, "session_id": ID},
    {"type": "result", "subtype": "success", "is_error": False, "result": "Hello!", "session_id": ID},
]
"""What `claude -p "Say hello" --output-format stream-json --verbose` prints."""


def printed_stream() -> str:
    return "".join(json.dumps(value) + "\n" for value in PRINTED)


def test_the_page_is_right_from_the_recording_to_the_test(tmp_path: Path) -> None:
    """Do what the page says, in its own words, in an empty folder."""
    text = (ROOT / "docs" / "fake-claude.md").read_text()
    (command,) = re.findall(r"^reread capture .*$", text, re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "bin").mkdir()
    (tmp_path / "stream.jsonl").write_text(printed_stream())
    script(tmp_path / "bin" / "claude", f"exec cat '{tmp_path}/stream.jsonl'")
    program, *words = shlex.split(command)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    env = {**os.environ, "HOME": str(tmp_path), "PATH": path}
    subprocess.run([Path(sys.executable).with_name(program), *words], cwd=tmp_path, env=env, check=True, timeout=150)
    (tmp_path / "tests/test_example.py").write_text(code)
    assert "3 passed" in (said := run_pytest(tmp_path, "tests")), said


PLAIN_FILES = """
import subprocess
from pathlib import Path

import pytest
import reread

def ask(question):
    return subprocess.run(["claude", "-p", question], capture_output=True, text=True)

@pytest.mark.parametrize("name", ["greeting", "greeting.jsonl", "recordings/greeting.jsonl",
                                  Path(__file__).parent / "recordings" / "greeting.jsonl"])
def test_a_file(fake_claude, name):
    fake_claude.replay(name)
    assert ask("Say hello").stdout == "Hello!\\n"

def test_all_files(fake_claude):
    assert ask("Say hello").stdout == "Hello!\\n"

def test_a_captured_file(fake_claude):
    fake_claude.replay("copied")
    assert ask("What is this?").stdout == "All done.\\n"

def test_a_pattern(fake_claude):
    fake_claude.replay("copied")
    fake_claude.answer("What is *?", "copied")
    assert ask("What is that?").stdout == "All done.\\n"

def test_one_that_is_missing(fake_claude):
    with pytest.raises(reread.NotFound, match="No recording 'greting'; in .*copied, greeting. Did you mean greeting?"):
        fake_claude.replay("greting")
"""


def test_a_plain_file_beside_the_test_is_a_recording(tmp_path: Path) -> None:
    recordings = tmp_path / "tests" / "recordings"
    recordings.mkdir(parents=True)
    (recordings / "greeting.jsonl").write_text(printed_stream())
    shutil.copy(STORE / "conversations/default/default/plain.jsonl", recordings / "copied.jsonl")
    (tmp_path / "tests/test_it.py").write_text(PLAIN_FILES)
    assert "8 passed" in (said := run_pytest(tmp_path)), said


RECORDING = """
import subprocess

def test_one(fake_claude):
    asked = subprocess.run(["claude", "-p", "What is this?"], capture_output=True, text=True)
    assert asked.stdout == "All done.\\n", asked
"""


def test_the_option_records_what_is_missing_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(RECORDING)
    (tmp_path / "bin").mkdir()
    words = " ".join(f"'{word}'" for word in FAKE)
    script(tmp_path / "hidden", f'exec env REREAD_HOME="{STORE}" {words} "$@"')
    script(tmp_path / "bin" / "claude", f'exec "{tmp_path}/hidden" "$@"')
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    assert "1 failed" in run_pytest(tmp_path, PATH=path)
    assert "1 passed" in (said := run_pytest(tmp_path, "--record-claude", PATH=path)), said
    (tmp_path / "bin" / "claude").unlink()
    assert "1 passed" in run_pytest(tmp_path)
    assert len(list(Store(tmp_path / "recordings").conversations())) == 1


def test_the_plugin_loads_nothing_until_a_test_asks_for_it() -> None:
    probe = "import sys; before = set(sys.modules); import pytest; pytest_only = set(sys.modules)\n"
    probe += "import reread.fake_claude.pytest_plugin; print(*(set(sys.modules) - pytest_only))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("reread")}
    own = {"reread", "reread.base", "reread.base.version", "reread.fake_claude", "reread.fake_claude.pytest_plugin"}
    assert loaded == own
    assert len(done.stdout.split()) < 20
