"""Capture: a command runs as it would without reread, and every line of its output is recorded."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import making
import pytest
from batches import table
from command import forked
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from limits import PATIENCE, run_apart

import reread
from reread.base.claude_argv import takes_stream_json, wants_terminal, with_stream_json
from reread.base.shell_words import quote_command
from reread.catalog.store import Store
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.writer import ConversationWriter
from reread.errors import Unwritable
from reread.recording import recorder
from reread.recording.recorder import Recorder

POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")
INIT = b'{"type":"system","subtype":"init","session_id":"s-1","claude_code_version":"2.1.325"}\n'
RESULT = b'{"type":"result","subtype":"success","session_id":"s-1","total_cost_usd":0.5,"duration_ms":9}\n'


@pytest.fixture(autouse=True)
def own_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))


def command(*words: Any) -> list[str]:
    return [sys.executable, "-m", "reread", *map(str, words)]


def run(*words: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
    if options.keys() <= {"input", "cwd"}:
        return forked(list(map(str, words)), stdin=options.get("input"), env=os.environ, cwd=options.get("cwd"))
    return subprocess.run(command(*words), capture_output=True, timeout=150, **options)


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def start(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def stored(name: str = "latest") -> StoredConversation:
    return Store().open(name)


def recorded(stream: str = "out") -> bytes:
    return b"".join(line.raw + line.end for line in stored().lines() if line.stream == stream)


class TestCommand:
    def test_output_and_exit_code_are_the_commands_own(self) -> None:
        data = INIT + b"no json \xff\r\n" + RESULT + b"torn"
        program = f"import sys; sys.stdout.buffer.write({data!r}); sys.stderr.write('aside\\n'); sys.exit(3)"
        done = run("capture", "--conversation", "c", "--title", "Mine", "--", *python(program))
        assert done.stdout == data
        assert done.returncode == 3
        assert done.stderr.splitlines() == [b"reread: conversation c", b"aside"]
        assert recorded() == data and recorded("err") == b"aside\n"
        (only,) = stored().runs
        assert (only.exit_code, only.title, only.cwd) == (3, "Mine", str(Path.cwd()))
        assert only.argv == python(program)

    def test_a_new_conversation_prints_its_id(self) -> None:
        done = run("capture", "--", *python("print('{}')"))
        assert done.stderr.decode().split() == ["reread:", "conversation", stored().id]
        run("capture", "-q", "--", *python("print('{}')"))
        assert len(list(Store().conversations())) == 2

    def test_appends_a_run_to_an_existing_conversation(self) -> None:
        for word in ("one", "two"):
            run("capture", "--conversation", "c", "--", *python(f"print({word!r})"))
        assert recorded() == b"one\ntwo\n" and len(stored("c").runs) == 2
        assert run("replay", "c", "--speed=instant").stdout == b"one\ntwo\n"

    def test_an_unknown_command_is_an_error_and_leaves_no_file(self) -> None:
        done = run("capture", "--", "no-such-command-here")
        assert done.returncode == 2 and b"No such command" in done.stderr
        assert list(Store().conversations()) == []

    def test_does_not_start_while_another_capture_writes_the_conversation(self, tmp_path: Path) -> None:
        ran = tmp_path / "ran"
        with Store().writer("c"):
            done = run("capture", "--conversation", "c", "--", *python(f"open({str(ran)!r}, 'w')"))
        assert done.returncode == 2 and b"is being captured right now" in done.stderr
        assert not ran.exists()

    def test_passes_half_a_line_on_at_once(self, tmp_path: Path) -> None:
        go = tmp_path / "go"
        program = (
            "import sys, time, pathlib\n"
            "sys.stdout.write('half'); sys.stdout.flush()\n"
            f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\n"
            "print(' and whole')\n"
        )
        child = start("capture", "--", *python(program))
        assert child.stdout is not None
        assert os.read(child.stdout.fileno(), 100) == b"half"
        go.touch()
        assert child.communicate(timeout=150)[0] == b" and whole\n"
        assert recorded() == b"half and whole\n"

    def test_reads_a_pipe_to_its_end(self) -> None:
        done = run("capture", "-", input=INIT + RESULT)
        assert (done.stdout, done.returncode) == (INIT + RESULT, 0)
        assert recorded() == INIT + RESULT

    def test_records_both_directions_of_stream_json(self) -> None:
        program = "import sys\nfor line in sys.stdin: print('{\"echo\":' + line.strip() + '}', flush=True)"
        words = [*python(program), "--input-format", "stream-json"]
        done = run("capture", "--", *words, input=b'{"n":1}\n{"n":2}\n')
        assert done.stdout == b'{"echo":{"n":1}}\n{"echo":{"n":2}}\n' == recorded()
        assert recorded("in") == b'{"n":1}\n{"n":2}\n'
        assert run("replay", "latest", "--speed=instant").stdout == done.stdout

    def test_passes_other_input_on_without_recording_it(self) -> None:
        done = run("capture", "--", *python("import sys; print(sys.stdin.read())"), input=b"hello")
        assert done.stdout == b"hello\n" and recorded("in") == b""

    def test_pretty_prints_messages(self) -> None:
        message = {"id": "m", "role": "assistant", "content": [making.text("Hello there.")]}
        spoken = {"type": "assistant", "message": message, "session_id": "s-1"}
        done = run("capture", "--format=terminal", "-", input=INIT + json.dumps(spoken).encode() + b"\n" + RESULT)
        assert b"Hello there." in done.stdout and b"{" not in done.stdout
        assert recorded().endswith(RESULT)

    @POSIX
    def test_ends_when_its_output_is_closed(self) -> None:
        child = start("capture", "--", *python("while True: print('y' * 100)"))
        assert child.stdout is not None and child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(timeout=150) != 0
        child.stderr.close()

    def test_does_not_wait_for_a_grandchild_that_keeps_the_pipe_open(self) -> None:
        program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(200)'])"
        began = time.monotonic()
        assert run("capture", "--", *python(f"{program}; print('done')")).stdout == b"done\n"
        assert time.monotonic() - began < PATIENCE


@POSIX
class TestSignals:
    @pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
    def test_are_forwarded(self, name: str) -> None:
        program = (
            "import signal, sys, time\n"
            f"def stop(*_): print('got it', flush=True); sys.exit(42)\n"
            f"signal.signal(signal.{name}, stop)\n"
            "print('ready', flush=True)\n"
            "while True: time.sleep(0.05)\n"
        )
        child = start("capture", "--", *python(program))
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        child.send_signal(getattr(signal, name))
        out, _ = child.communicate(timeout=150)
        assert (out, child.returncode) == (b"got it\n", 42)
        assert recorded() == b"ready\ngot it\n"

    def test_that_end_the_command_are_in_the_exit_code(self) -> None:
        done = run("capture", "--", *python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
        assert done.returncode == 137 == stored().runs[0].exit_code

    def test_a_killed_capture_has_recorded_what_it_passed_on(self) -> None:
        program = "import time\nfor n in range(10**6): print('{\"n\":%d}' % n, flush=True); time.sleep(0.0005)"
        for turn in range(3):
            child = start("capture", "--conversation", "c", "--", *python(program))
            assert child.stdout is not None and child.stderr is not None
            for _ in range(50 + 30 * turn):
                last = child.stdout.readline()
            child.kill()
            seen = last + b"".join(line for line in child.stdout.readlines() if line.endswith(b"\n"))
            child.wait()
            child.stdout.close()
            child.stderr.close()
            mine = [line.raw for line in stored("c").lines() if line.run == turn + 1]
            assert mine[: len(mine)] == [b'{"n":%d}' % n for n in range(len(mine))]
            assert seen.splitlines()[-1] in mine
        assert stored("c").runs[0].ended is None
        again = run("capture", "--conversation", "c", "--", *python("print('{}')"))
        assert again.returncode == 0

    def test_a_torn_line_is_repaired_with_a_notice(self) -> None:
        run("capture", "--conversation", "c", "--", *python("print('{}')"))
        path = stored("c").path
        path.write_bytes(path.read_bytes() + b'{"id":"to')
        done = run("capture", "--conversation", "c", "--", *python("print('{}')"))
        assert b"stopped in the middle of a line" in done.stderr and done.stdout == b"{}\n"


@POSIX
class TestTerminal:
    def screen(self, *words: Any, keys: bytes = b"") -> bytes:
        """Run a command on a terminal and return what it shows."""
        import pty

        pid, master = pty.fork()
        if pid == 0:
            os.execv(sys.executable, command(*words))
        import fcntl
        import struct
        import termios

        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
        shown = b""
        while True:
            try:
                piece = os.read(master, 1024)
            except OSError:
                break
            if not piece:
                break
            shown += piece
            if keys and b"name?" in shown:
                os.write(master, keys)
                keys = b""
        os.waitpid(pid, 0)
        os.close(master)
        return shown

    def test_an_interactive_program_has_one(self) -> None:
        program = (
            "import os, sys, time; time.sleep(0.5); print(os.isatty(0), os.isatty(1), os.get_terminal_size()[:]);"
            "print('name?', flush=True); print('hello', input())"
        )
        shown = self.screen("capture", "-q", "--", *python(program), keys=b"Ann\r")
        assert b"True True" in shown and b"hello Ann" in shown
        assert b"(99, 33)" in shown
        assert b"hello Ann" in recorded()

    def test_a_program_that_prints_messages_has_none(self) -> None:
        program = "import os; print(os.isatty(1))"
        assert b"False" in self.screen("capture", "-q", "--", *python(program), "stream-json")


@POSIX
@pytest.mark.usefixtures("no_bytecode")
class TestFullDisk:
    def check(self, done: subprocess.CompletedProcess[bytes], out: bytes, code: int, reason: bytes) -> None:
        assert done.stdout == out
        assert done.returncode == code
        assert reason in done.stderr and b"passed on but not recorded" in done.stderr

    def test_is_reported_and_all_output_is_passed_on(self) -> None:
        line = json.dumps({"pad": "x" * 1000})
        program = f"for _ in range(200): print({line!r})"

        def small() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

        done = run("capture", "--conversation", "c", "--", *python(program), preexec_fn=small)
        self.check(done, (line.encode() + b"\n") * 200, 74, b"File too large")
        kept = len(list(stored("c").lines()))
        assert 10 < kept < 50
        assert f"Recorded {kept} lines of this run".encode() in done.stderr
        again = run("capture", "--conversation", "c", "--", *python("print('{}')"))
        assert b"stopped in the middle of a line" in again.stderr and again.returncode == 0
        assert list(stored("c").lines())[-1].raw == b"{}"

    @pytest.mark.parametrize("code", [0, 5])
    def test_the_commands_own_exit_code_has_priority(self, code: int) -> None:
        def none() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        done = run("capture", "--conversation", "c", "--", *python(f"print('{{}}'); exit({code})"), preexec_fn=none)
        self.check(done, b"{}\n", code or 74, b"File too large")


class TestLaw7:
    @settings(max_examples=examples(50))
    @given(st.lists(st.tuples(st.binary(max_size=60), st.booleans()), max_size=30), st.lists(st.integers(1, 50)))
    def test_an_instant_replay_emits_the_captured_bytes(
        self, pieces: list[tuple[bytes, bool]], sizes: list[int]
    ) -> None:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            whole = b"".join(piece + b"\n" * end for piece, end in pieces)
            reader, writer = os.pipe()
            with reread.capture(reader, root=folder, conversation="c") as run:
                at = 0
                chunks = run.chunks()
                while at < len(whole):
                    size = sizes.pop() if sizes else 64
                    os.write(writer, whole[at : at + size])
                    next(chunks)
                    at += size
                os.close(writer)
                run.wait()
            os.close(reader)
            played = reread.replay(run, speed=float("inf"))
            assert b"".join(line.raw + line.end for line in played) == whole

    @pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r", b"\xff\xfe\n", b'{"a":1}\r\n{"a":1}', b"x" * 200_000])
    def test_through_the_program(self, data: bytes) -> None:
        assert run("capture", "--conversation", "c", "-", input=data).stdout == data
        assert run("replay", "c", "--speed=instant").stdout == data


class TestLibrary:
    def test_yields_records_as_they_come(self, tmp_path: Path) -> None:
        program = f"import sys; sys.stdout.buffer.write({INIT + b'oops' + RESULT!r})"
        run = reread.capture(python(program), root=tmp_path, conversation="c", title="T")
        assert [record.type for record in run][:1] == ["system"]
        assert run.exit_code == 0 and run.stored.title == "T"

    def test_input_can_be_sent(self, tmp_path: Path) -> None:
        program = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"
        words = [*python(program), "--input-format=stream-json"]
        with reread.capture(words, root=tmp_path, conversation="c") as run:
            run.send(b'{"n":1}\n')
            assert next(iter(run)).raw == b'{"n":1}'
            run.close_input()
            assert run.wait() == 0
        assert [line.stream for line in run.stored.lines()] == ["in", "out"]

    def test_a_line_longer_than_64_mib_is_recorded_in_pieces(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert recorder.MAX_LINE == 64 << 20
        monkeypatch.setattr(recorder, "MAX_LINE", 100_000)
        data = b"x" * 1_000_000 + b"\nshort\n"
        (tmp_path / "stream").write_bytes(data)
        with (tmp_path / "stream").open("rb") as stream:
            run = reread.capture(stream, root=tmp_path, conversation="c")
            run.wait()
        lines = list(run.stored.lines())
        assert max(len(line.raw) for line in lines) <= 100_000 + recorder.CHUNK
        assert b"".join(line.raw + line.end for line in lines) == data

    def test_a_command_that_does_not_start_leaves_the_conversation_alone(self, tmp_path: Path) -> None:
        Store(tmp_path).append("c", b"{}")
        with pytest.raises(reread.NotFound, match="No such command: no-such-command"):
            reread.capture(["no-such-command"], root=tmp_path, conversation="c")
        assert len(list(Store(tmp_path).open("c").lines())) == 1

    def test_last_lines_without_newline_are_recorded_in_every_stream(self, tmp_path: Path) -> None:
        program = "import sys; print(sys.stdin.read(), end=''); sys.stderr.write('aside')"
        with reread.capture([*python(program), "--input-format=stream-json"], root=tmp_path) as run:
            run.send(b"question")
            run.close_input()
            run.wait()
        lines = {line.stream: line.raw + line.end for line in run.stored.lines()}
        assert lines == {"in": b"question", "out": b"question", "err": b"aside"}

    def test_late_error_output_is_recorded(self, tmp_path: Path) -> None:
        late = "import sys, time; time.sleep(0.5); sys.stderr.write('late')"
        program = f"import subprocess; subprocess.Popen({python(late)!r}, stdout=subprocess.DEVNULL)"
        run = reread.capture(python(program), root=tmp_path)
        run.wait()
        assert [(line.stream, line.raw) for line in run.stored.lines()] == [("err", b"late")]

    def test_a_write_error_is_raised_after_the_last_record(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = reread.capture(python("print('{}'); print('{}')"), root=tmp_path)
        monkeypatch.setattr(ConversationWriter, "extend", fail_to_write)
        records: list[reread.value_types.Record] = []
        with pytest.raises(Unwritable):
            records.extend(run)
        assert len(records) == 2 and run.exit_code == 0

    def test_nothing_is_recorded_after_a_write_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        notices: list[str] = []
        recording = Recorder(Store(tmp_path), "c", notify=notices.append)
        recording.record([b"before\n"], "out")
        with monkeypatch.context() as patch:
            patch.setattr(ConversationWriter, "extend", fail_to_write)
            recording.record([b"lost\n"], "out")
        recording.record([b"after\n"], "out")
        recording.end_run(0)
        assert [line.raw for line in Store(tmp_path).open("c").lines()] == [b"before"]
        assert notices == [
            str(recording.error),
            "Recorded 1 line of this run; the rest is passed on but not recorded.",
        ]

    def test_leaving_the_context_terminates_the_command(self, tmp_path: Path) -> None:
        with reread.capture(python("import time; time.sleep(60)"), root=tmp_path) as run:
            pass
        assert run.exit_code not in (None, 0)

    def test_rejects_invalid_commands(self, tmp_path: Path) -> None:
        with pytest.raises(reread.Misuse, match="is a string; use a list of words"):
            reread.capture("claude -p hi", root=tmp_path)
        with pytest.raises(reread.Misuse, match="command is empty"):
            reread.capture([], root=tmp_path)
        (tmp_path / "file").touch()
        with pytest.raises(Unwritable):
            reread.capture(["true"], root=tmp_path / "file")


def fail_to_write(*_: Any, **__: Any) -> None:
    raise Unwritable("the disk is full")


STREAM_JSON = ["--output-format", "stream-json", "--verbose"]


@table(
    ("given", "run"),
    [
        (["claude", "-p", "hi"], ["claude", *STREAM_JSON, "-p", "hi"]),
        (["/opt/claude", "--print", "hi"], ["/opt/claude", *STREAM_JSON, "--print", "hi"]),
        (["claude", "-cp", "hi"], ["claude", *STREAM_JSON, "-cp", "hi"]),
        (["claude", "-p", "hi", "--verbose"], ["claude", *STREAM_JSON[:2], "-p", "hi", "--verbose"]),
        (["claude", "-p", "--output-format=stream-json"], ["claude", "--verbose", "-p", "--output-format=stream-json"]),
        (["claude", "-p", "--output-format", "json"], ["claude", "-p", "--output-format", "json"]),
        (["claude"], ["claude"]),
        (["claude", "mcp", "list"], ["claude", "mcp", "list"]),
        (["my-claude", "-p", "hi"], ["my-claude", "-p", "hi"]),
    ],
)
def test_claude_print_gets_the_options_for_messages(given: list[str], run: list[str]) -> None:
    assert with_stream_json(given) == run


def test_input_format_and_terminal_are_read_from_a_command() -> None:
    assert takes_stream_json(["x", "--input-format", "stream-json"])
    assert takes_stream_json(["x", "--input-format=stream-json"])
    assert not takes_stream_json(["x", "--input-format"])
    assert wants_terminal(["claude"]) and not wants_terminal(["claude", "-p", "hi"])


class TestAnswers:
    """`--format answers` prints the answers, and the stream is recorded all the same."""

    ANSWER = b'{"type":"result","subtype":"success","session_id":"s-1","result":"It works.\\n"}\n'

    @pytest.mark.parametrize(
        ("data", "printed"),
        [
            (INIT + ANSWER, b"It works.\n"),
            (INIT + ANSWER.rstrip(), b"It works.\n"),
            (INIT + b"no json\n" + ANSWER + ANSWER, b"no json\nIt works.\nIt works.\n"),
            (ANSWER.replace(b"It works", b"\\u001b]0;x\\u0007"), b"\\x1b]0;x\\x07.\n"),
        ],
    )
    def test_only_answers_and_what_is_no_message_are_printed(self, data: bytes, printed: bytes) -> None:
        done = run("capture", "--format=answers", "--", *python(f"import sys; sys.stdout.buffer.write({data!r})"))
        assert done.stdout == printed and recorded() == data
        assert run("replay", "latest", "--speed=instant", "--format=answers").stdout == printed

    def test_an_error_says_how_it_ended(self) -> None:
        data = b'{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s-1","num_turns":3}\n'
        done = run("capture", "-q", "--format=answers", "-", input=data)
        assert done.stdout == b"" and b"ended: error max turns" in done.stderr


@POSIX
class TestResume:
    @pytest.fixture
    def claude(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """A program called claude, first on PATH, that prints its arguments."""
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "claude"
        program.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            "print(json.dumps({'type': 'system', 'subtype': 'init', 'session_id': 's-1', 'cwd': os.getcwd()}))\n"
            "print(json.dumps({'argv': sys.argv[1:]}))\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield program

    def test_continues_in_the_same_folder_and_conversation(self, claude: Path, tmp_path: Path) -> None:
        place = tmp_path / "it's here"
        place.mkdir()
        run("capture", "--conversation", "c", "--", "claude", "-p", "hi", cwd=place)
        done = run("resume", "c", "go", "on")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[0]["cwd"] == str(place)
        assert lines[1]["argv"] == [*STREAM_JSON, "--resume", "s-1", "-p", "go on"]
        assert len(stored("c").runs) == 2

    def test_prints_the_quoted_command(self, claude: Path, tmp_path: Path) -> None:
        place = tmp_path / "it's here"
        place.mkdir()
        run("capture", "--conversation", "c", "--", "claude", "-p", "hi", cwd=place)
        shown = run("resume", "c", "--dry-run", "it's $HOME").stdout.decode()
        output = subprocess.run(["sh", "-c", shown], capture_output=True, timeout=150).stdout.splitlines()
        assert json.loads(output[0])["cwd"] == str(place)
        assert json.loads(output[1])["argv"][-1] == "it's $HOME"
        assert len(stored("c").runs) == 1

    def test_a_conversation_without_a_session_is_an_error(self) -> None:
        run("capture", "--conversation", "c", "--", *python("print('{}')"))
        done = run("resume", "c")
        assert done.returncode == 2 and b"no Claude Code session" in done.stderr


def test_commands_are_quoted_for_each_shell() -> None:
    words = ["claude", "-p", 'say "hi" & 100%']
    assert quote_command(words, "/a b", windows=False) == "cd '/a b' && claude -p 'say \"hi\" & 100%'"
    assert quote_command(words, "C:\\a b", windows=True) == 'cd /d ^"C:\\a b^" && claude -p ^"say \\^"hi\\^" ^& 100^%^"'


def test_concurrent_captures_record_all_lines() -> None:
    program = "for n in range(300): print('{\"n\":%d}' % n)"
    children = [start("capture", "--conversation", f"c{n}", "--", *python(program)) for n in range(examples(10))]
    for child in children:
        out, _ = child.communicate(timeout=150)
        assert child.returncode == 0 and len(out.splitlines()) == 300
    for n in range(len(children)):
        lines = list(stored(f"c{n}").lines())
        assert [json.loads(line.raw)["n"] for line in lines] == list(range(300))


class TestTitles:
    """A stream does not contain the prompt, but the command does."""

    def record(self, *argv: str, title: str | None = None) -> StoredConversation:
        with Store().writer("c") as writer:
            writer.start_run(argv, cwd="/", title=title)
            writer.append(b'{"type":"system","subtype":"init","session_id":"s-1","cwd":"/","model":"m"}')
            writer.append(b'{"type":"result","subtype":"success","session_id":"s-1","result":"done"}')
        return stored("c")

    @pytest.mark.parametrize(
        ("argv", "title"),
        [
            (["claude", "-p", "Why do\nthe tests fail?"], "Why do the tests fail?"),
            (["/opt/bin/claude", "-p", "--model", "opus", "--verbose", "Fix it"], "Fix it"),
            (["timeout", "9", "claude", "-p", "Fix it", "--allowedTools", "Bash", "Edit"], "Fix it"),
            (["claude", "-p", "--model", "opus"], "(no prompt)"),
            (["cat", "run.jsonl"], "(no prompt)"),
        ],
    )
    def test_the_prompt_in_the_command_is_the_title_if_there_is_no_other(self, argv: list[str], title: str) -> None:
        opened = reread.open(self.record(*argv).path)
        assert (opened.title or "(no prompt)") == title
        [header] = reread.sessions(root=Store().root)
        assert (header.title, header.title_guessed) == (title, title != "(no prompt)")

    def test_a_given_title_has_priority(self) -> None:
        path = self.record("claude", "-p", "Fix it", title="The fix").path
        assert reread.open(path).title == next(iter(reread.sessions(root=Store().root))).title == "The fix"

    def test_the_title_in_the_transcript_has_priority(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        project = tmp_path / "config/projects/-p"
        project.mkdir(parents=True)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
        titled = {"type": "ai-title", "aiTitle": "A good name", "sessionId": "s-1"}
        (project / "s-1.jsonl").write_text(json.dumps(titled) + "\n")
        self.record("claude", "-p", "Fix it")
        assert {header.title for header in reread.sessions()} == {"A good name"}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_records_can_be_awaited(tmp_path: Path, backend: str) -> None:
    if backend == "trio":
        pytest.importorskip("trio")
    lines = 'print(\'{"type": "system"}\', flush=True); print(\'{"type": "result"}\')'

    async def main() -> tuple[list[str], int | None]:
        async with reread.capture([sys.executable, "-c", lines], root=tmp_path) as run:
            return [record.type async for record in run], run.exit_code

    assert run_apart(lambda: anyio.run(main, backend=backend)) == (["system", "result"], 0)


def test_a_cancelled_capture_ends_its_command_and_keeps_what_it_printed(tmp_path: Path) -> None:
    endless = 'import time; print(\'{"type": "system"}\', flush=True); time.sleep(600)'

    async def main() -> recorder.Capture:
        with anyio.CancelScope() as scope:
            async with reread.capture([sys.executable, "-c", endless], root=tmp_path) as run:
                async for _ in run:
                    scope.cancel()
        return run

    began = time.monotonic()
    run = run_apart(lambda: anyio.run(main))
    assert time.monotonic() - began < PATIENCE
    assert run.exit_code == 128 + signal.SIGTERM
    assert [line.raw for line in run.stored.lines()] == [b'{"type": "system"}']
