"""Careless and hostile use: odd names, odd files, closed streams, interrupted runs."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from batches import table
from command import forked
from effort import one_in
from limits import child_process
from making import jsonl, reply, text, user

import reread
from reread.accounting.collect import Inputs
from reread.base.paths import SAMPLES
from reread.catalog.store import Store
from reread.catalog.stored_conversation import StoredConversation
from reread.disk import layout
from reread.errors import Misuse
from reread.handover.resuming import resumption
from reread.reports.check_report import check_report
from reread.session.follow import follow
from reread.storage.atomic import write_atomic

REREAD = str(Path(sys.executable).with_name("reread"))
POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and links as POSIX has them")
FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
BYTES = pytest.mark.skipif(sys.platform != "linux", reason="a file's name may be any bytes on Linux only")
HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
TALK = jsonl(user("hello"), reply(text("hi")))
COUNTING = "import time; print('here', flush=True); [print(n, flush=True) or time.sleep(0.1) for n in range(100)]"
ESCAPES = "\x1b[31mred\x1b]0;title\x07\u202e"


def run(*words: str | bytes, timeout: float = 60, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a verb; as a program of its own if its streams, environment or names are out of the ordinary."""
    if options.keys() <= {"cwd"} and all(isinstance(word, str) for word in words):
        return forked([str(word) for word in words], env=os.environ, **options)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([REREAD, *words], timeout=timeout, check=False, **options)


def shell(command: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", command.replace("reread", REREAD, 1)], capture_output=True, timeout=150, **options
    )


def is_one_line(stderr: bytes) -> bool:
    return stderr.startswith(b"reread: ") and stderr.count(b"\n") == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder in the default configuration folder."""
    project = tmp_path / "config/projects/-p"
    project.mkdir(parents=True)
    (project / "one.jsonl").write_bytes(TALK)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    return project


@one_in(4)
class TestMessages:
    @pytest.mark.parametrize(
        "words",
        [
            ("show", f"/{ESCAPES}"),
            ("ls", "--root", ESCAPES),
            (ESCAPES,),
            ("ls", ESCAPES),
            ("usage", "--by", ESCAPES),
            ("capture", "--", ESCAPES),
            ("capture", "--conversation", ESCAPES, "--", sys.executable, "-c", ""),
        ],
        ids=" ".join,
    )
    def test_contain_no_control_characters(self, words: tuple[str, ...]) -> None:
        said = run(*words).stderr.decode()
        assert "\\x1b" in said and "\\u202e" in said
        assert not {"\x1b", "\x07", "\u202e"} & set(said)

    def test_json_escapes_control_characters(self, tmp_path: Path) -> None:
        path = tmp_path / "one.jsonl"
        path.write_bytes(jsonl({"type": "odd\x9b31m\x7f\u202e", "uuid": "u"}))
        said = run("check", path, "--json").stdout.decode()
        assert json.loads(said)["totals"]["unknown_types"] == {"odd\x9b31m\x7f\u202e": 1}
        assert not {"\x9b", "\x7f", "\u202e"} & set(said)

    @one_in(3)
    @FULL
    @pytest.mark.parametrize(
        "verb", ["show d2a9 --format=raw", "show d2a9", "ls", "check --schema", "replay d2a9 --speed=instant"]
    )
    def test_report_that_standard_output_is_full(self, verb: str) -> None:
        done = shell(f"reread --demo {verb} >/dev/full")
        assert done.returncode == 2
        assert done.stderr == b"reread: Cannot write to standard output: No space left on device.\n"

    @FULL
    def test_report_that_buffered_output_cannot_be_written(self, folder: Path) -> None:
        done = shell(f"reread show {folder / 'one.jsonl'} -f raw >/dev/full")
        assert done.returncode == 2 and b"No space left on device" in done.stderr

    @FULL
    def test_that_cannot_be_printed_do_not_change_the_exit_code(self) -> None:
        assert shell("reread show nothing 2>/dev/full").returncode == 2
        assert shell("reread --demo ls 2>/dev/full").returncode == 0

    @POSIX
    def test_report_that_memory_is_short(self, tmp_path: Path) -> None:
        (tmp_path / "long.jsonl").write_bytes(jsonl(user("x" * 200_000_000)))
        done = shell(f"ulimit -v 400000; reread show {tmp_path / 'long.jsonl'} --format json")
        assert done.returncode == 2 and b"Not enough memory" in done.stderr and is_one_line(done.stderr)


@one_in(4)
@POSIX
class TestStreams:
    @one_in(3)
    @pytest.mark.parametrize("verb", ["show d2a9 --format=raw", "show d2a9", "ls --json", "--help", "check --schema"])
    def test_a_closed_pipe_is_not_an_error(self, verb: str) -> None:
        read, write = os.pipe()
        os.close(read)
        done = run("--demo", *verb.split(), stdout=write)
        os.close(write)
        assert (done.returncode, done.stderr) == (0, b"")

    @one_in(2)
    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    def test_may_be_closed(self, closed: str) -> None:
        for verb in ("--demo ls", "--demo show d2a9 --format=raw", "show -", "--help"):
            done = shell(f"reread {verb} {closed}")
            assert done.returncode == 0 and b"Traceback" not in done.stderr

    def test_that_are_closed_do_not_mix_with_the_recording(self) -> None:
        program = "import os; os.write(1, b'{}\\n'); os.write(2, b'aside\\n')"
        done = shell(f'reread capture --conversation c -- {sys.executable} -c "{program}" <&- >&- 2>&-')
        assert done.returncode == 0
        kept = Store().open("c")
        assert sorted(entry.raw for entry in kept.lines()) == [b"aside", b"{}"]
        assert not [finding for finding in reread.check(kept.path) if finding.level == "error"]

    def test_a_non_blocking_pipe_gets_everything(self) -> None:
        read, write = os.pipe()
        os.set_blocking(write, False)
        with child_process([REREAD, "show", HARBOR, "--format=raw"], stdout=write, stderr=subprocess.PIPE) as child:
            os.close(write)
            time.sleep(1)
            with os.fdopen(read, "rb") as pipe:
                assert pipe.read() == HARBOR.read_bytes()
            assert child.communicate(timeout=150) == (None, b"") and child.returncode == 0


@one_in(4)
@POSIX
class TestExits:
    def test_ctrl_c_during_imports_is_not_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
        done = run("--demo", "ls", env={**os.environ, "PYTHONPATH": str(tmp_path)})
        assert (done.returncode, done.stderr) == (130, b"")

    def test_a_capture_ends_cleanly_when_its_terminal_disappears(self, tmp_path: Path) -> None:
        master, slave = os.openpty()
        words = [REREAD, "capture", "--pty", "--conversation", "c", "--", sys.executable, "-c", COUNTING]
        with (
            (tmp_path / "said").open("wb") as said,
            child_process(words, stdin=slave, stdout=slave, stderr=said, start_new_session=True) as child,
        ):
            os.close(slave)
            assert b"here" in os.read(master, 1024)
            os.close(master)
            child.wait(150)
        assert b"Traceback" not in (tmp_path / "said").read_bytes()
        run_info = Store().open("c").runs[0]
        assert run_info.ended is not None and run_info.exit_code == child.returncode


@one_in(4)
class TestNames:
    @one_in(5)
    @pytest.mark.parametrize(
        "name", ["a" * 5000, "/" + "a" * 5000, "~nobody-has-this-name/x", "/x\n", "\\", "[/]", "*"]
    )
    @pytest.mark.parametrize("verb", ["show", "check", "usage", "resume", "replay", "export", "serve"])
    def test_that_match_nothing_are_errors(self, verb: str, name: str, folder: Path) -> None:
        done = run(verb, name)
        assert done.returncode == 2 and done.stderr.startswith(b"reread: ") and b"Traceback" not in done.stderr

    @pytest.mark.parametrize("verb", ["show", "check", "usage", "export", "serve", "tail", "resume", "replay"])
    def test_that_are_empty_are_rejected_as_sessions(self, verb: str, folder: Path) -> None:
        done = run(verb, "", cwd=folder)
        assert done.returncode == 2 and b"Empty session name" in done.stderr

    @pytest.mark.parametrize("words", [("ls", "--root", ""), ("ls", "--project", ""), ("usage", "--project", "")])
    def test_that_are_empty_are_rejected_as_folders(self, words: tuple[str, ...], folder: Path) -> None:
        done = run(*words, cwd=folder)
        assert done.returncode == 2 and b"is a variable not set?" in done.stderr

    @pytest.mark.parametrize("name", ["a" * 5000, "/" + "a" * 5000, "~nobody-has-this-name/x", "a\0b", "\ud800"])
    def test_raise_rereads_own_errors(self, name: str) -> None:
        for work in (reread.open, reread.usage, reread.export, lambda name: list(reread.replay(name))):
            with pytest.raises(reread.RereadError):
                work(name)

    def test_work_without_a_home(self, tmp_path: Path) -> None:
        bare = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
        for words in (("ls",), ("usage",), ("--demo", "show", "d2a9"), ("show", "latest")):
            done = run(*words, env={**bare, "HOME": "~"}, cwd=tmp_path)
            assert b"Traceback" not in done.stderr and done.returncode in (0, 2)

    @BYTES
    def test_that_are_not_utf_8_work(self, folder: Path, tmp_path: Path) -> None:
        odd = os.fsencode(folder) + b"/\xff\xfe.jsonl"
        Path(os.fsdecode(odd)).write_bytes(TALK)
        rows = json.loads(run("ls", "--json").stdout)
        assert len(rows) == 2 and any("�" in row["path"] for row in rows)
        for words in (
            ("show", odd),
            ("check", odd, "--json"),
            ("usage", odd),
            ("usage", "--json"),
            ("usage", "--json"),
        ):
            done = run(*words)
            assert (done.returncode, done.stderr) == (0, b"")
        for fresh in (2, 0):
            done = run("export", folder, "-f", "html", "-o", tmp_path / "site")
            assert f": {fresh} written, {2 - fresh} unchanged" in done.stderr.decode()


@one_in(4)
@POSIX
class TestFiles:
    def test_that_are_pipes_or_devices_are_rejected(self, folder: Path) -> None:
        os.mkfifo(folder / "pipe.jsonl")
        (folder / "zeros.jsonl").symlink_to("/dev/zero")
        for verb in ("show", "check", "usage", "export", "tail", "replay"):
            for name, word in (("pipe", b"is a pipe; pass it as standard input"), ("zeros", b"is a device")):
                done = run(verb, folder / f"{name}.jsonl")
                assert done.returncode == 2 and word in done.stderr and is_one_line(done.stderr)

    def test_that_are_pipes_devices_or_broken_links_are_skipped_in_folders(self, folder: Path) -> None:
        os.mkfifo(folder / "pipe.jsonl")
        for name, to in (("zeros", "/dev/zero"), ("loop", "loop.jsonl"), ("nothing", "nowhere"), ("folder", ".")):
            (folder / f"{name}.jsonl").symlink_to(to)
        (folder / "round").symlink_to("..")
        (folder / "here").symlink_to(".")
        assert [header.path for header in reread.sessions(root=folder.parent)] == [str(folder / "one.jsonl")]
        assert layout.transcripts_in(folder) == [folder / "one.jsonl"]
        wanted = Inputs()
        wanted.add_folder(folder)
        assert list(wanted.states) == [str(folder / "one.jsonl")]
        for words in (("ls",), ("usage",), ("check", folder)):
            done = run(*words)
            assert (done.returncode, done.stderr) == (0, b"")

    def test_in_deeply_nested_folders_are_found(self, folder: Path) -> None:
        deep = folder
        for _ in range(300):
            deep = deep / "d"
        deep.mkdir(parents=True)
        (deep / "two.jsonl").write_bytes(TALK)
        assert len(layout.transcripts_in(folder)) == 2

    def test_of_agents_that_cannot_be_read_do_not_hide_the_session(self, folder: Path) -> None:
        agents = folder / "one" / "subagents"
        agents.mkdir(parents=True)
        (agents / "agent-a.jsonl").symlink_to("nowhere")
        os.mkfifo(agents / "agent-b.jsonl")
        assert b"hello" in run("show", folder / "one.jsonl").stdout

    @pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
    def test_in_a_folder_without_permission_are_an_error(self, folder: Path) -> None:
        folder.chmod(0)
        for verb in ("check", "usage", "serve", "export"):
            done = run(verb, folder)
            assert done.returncode == 2 and b": Permission denied; check its permissions." in done.stderr
        folder.chmod(0o700)

    def test_in_a_folder_that_cannot_be_listed_are_an_error(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(os, "scandir", refuse)
        for work in (reread.usage, lambda path: check_report([path])):
            with pytest.raises(reread.Unreadable, match="check its permissions"):
                work(folder)

    def test_are_found_without_a_working_directory(self, tmp_path: Path) -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        for verb in ("--demo ls", "--demo usage", f"show {HARBOR}", f"capture -q -- {sys.executable} -c 'print(1)'"):
            done = shell(f"mkdir -p '{gone}'; cd '{gone}'; rmdir '{gone}'; " + f"reread {verb}")
            assert done.returncode == 0 and not done.stderr


@table(
    "words",
    [
        ("show", "d2a9", "--turns", "1" * 5000),
        ("show", "d2a9", "--turns", ""),
        ("show", "d2a9", "--turns", "٣"),
        ("show", "d2a9", "--turns", "0"),
        ("show", "d2a9", "--turns", "9-3"),
        ("usage", "--since", "2026-12-01", "--until", "2020-01-01"),
        ("usage", "--json", "--csv"),
        ("ls", "--size", "inf-"),
        ("ls", "--size", "1e400-"),
        ("ls", "--since", ""),
        ("ls", "--since", "2025-02-30"),
        ("usage", "--until", "9999-12-31"),
    ],
)
def test_invalid_numbers_and_times_are_rejected(words: tuple[str, ...]) -> None:
    done = run("--demo", *words)
    assert done.returncode == 2 and is_one_line(done.stderr) and b"; use " in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "reread: No sessions in "),
        (("--only", "captured"), "reread: No captured conversations in "),
        (("--since", "1d"), "reread: No sessions in "),
    ],
)
def test_an_empty_list_gives_the_reason(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    assert run("ls", "--root", tmp_path, *words).stderr.decode().startswith(said)


class TestExports:
    def test_cannot_overwrite_the_session(self, tmp_path: Path) -> None:
        path = tmp_path / "one.jsonl"
        path.write_bytes(TALK)
        (tmp_path / "link.md").symlink_to(path)
        for to in (path, tmp_path / "link.md"):
            done = run("export", path, "-f", "markdown", "-o", to)
            assert done.returncode == 2 and b"is the session itself" in done.stderr
            with pytest.raises(Misuse, match="is the session itself"):
                reread.export(path, to=to)
        assert path.read_bytes() == TALK

    @POSIX
    def test_that_fail_leave_no_partial_file(self, tmp_path: Path) -> None:
        (tmp_path / "out.md").write_bytes(b"before")
        done = shell(f"ulimit -f 1; reread export {HARBOR} -f html -o {tmp_path / 'out.md'}")
        assert done.returncode == 2 and b"Cannot write " in done.stderr and b"File too large" in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["out.md"]
        assert (tmp_path / "out.md").read_bytes() == b"before"

    def test_appear_only_when_complete(self, tmp_path: Path) -> None:
        place = tmp_path / "out"

        def pieces() -> Any:
            for n in range(3):
                assert not place.exists()
                yield b"%d" % n

        write_atomic(place, pieces())
        assert place.read_bytes() == b"012"

    def test_that_fail_keep_the_existing_file(self, tmp_path: Path) -> None:
        place = tmp_path / "out"
        place.write_bytes(b"before")

        def pieces() -> Any:
            yield b"half"
            raise OSError(errno.EIO, "no more")

        with pytest.raises(OSError, match="no more"):
            write_atomic(place, pieces())
        assert place.read_bytes() == b"before" and list(tmp_path.iterdir()) == [place]

    @POSIX
    def test_keep_links_modes_and_devices(self, tmp_path: Path) -> None:
        place = tmp_path / "out"
        place.write_bytes(b"before")
        place.chmod(0o640)
        (tmp_path / "link").symlink_to(place)
        write_atomic(tmp_path / "link", [b"after"])
        assert (tmp_path / "link").is_symlink() and place.read_bytes() == b"after"
        assert place.stat().st_mode & 0o777 == 0o640
        write_atomic(Path(os.devnull), [b"gone"])
        assert not os.path.isfile(os.devnull)

    def test_two_at_once_into_one_folder_are_both_complete(self, folder: Path, tmp_path: Path) -> None:
        (folder / "two.jsonl").write_bytes(HARBOR.read_bytes())
        words = [REREAD, "export", str(folder), "-f", "html", "-o", str(tmp_path / "site")]
        with (
            child_process(words, stderr=subprocess.PIPE) as one,
            child_process(words, stderr=subprocess.PIPE) as other,
        ):
            for child in (one, other):
                _, said = child.communicate(timeout=150)
                assert child.returncode == 0, said
        names = {path.name for path in (tmp_path / "site").iterdir()}
        assert names == {"assets", "index.html", "one.html", "two.html", "site.json"}
        assert all(path.read_bytes().endswith(b"</html>\n") for path in (tmp_path / "site").glob("*.html"))


def test_a_file_object_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    closed = (tmp_path / "closed").open("wb")
    closed.close()
    with (tmp_path / "written").open("wb") as written:
        for file in (closed, written):
            for work in (reread.open, reread.usage):
                with pytest.raises(reread.Unreadable, match="open for reading"):
                    work(file)


@one_in(4)
class TestFollowing:
    @BYTES
    def test_works_if_the_folder_cannot_be_watched(self, tmp_path: Path) -> None:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")).mkdir()
        path = tmp_path / "one.jsonl"
        path.write_bytes(TALK)
        stop = threading.Event()
        changes = follow(path, stop=stop, heartbeat=20)
        with path.open("ab") as file:
            threading.Timer(0.2, lambda: (file.write(jsonl(user("more"))), file.flush())).start()
            assert next(changes).line == 3
        stop.set()
        assert list(changes) == []


class TestResuming:
    def conversation(self, root: Path, session: str) -> StoredConversation:
        with Store(root).writer("c") as writer:
            writer.start_run(["/elsewhere/claude", "-p", "hi"], cwd="/")
            writer.append(json.dumps({"type": "system", "subtype": "init", "session_id": session}).encode())
        return Store(root).open("c")

    @pytest.mark.parametrize("session", ["--dangerously-skip-permissions", "-x", ESCAPES, "a b", "a;b"])
    def test_takes_no_option_from_a_file(self, session: str, tmp_path: Path) -> None:
        with pytest.raises(Misuse, match="no Claude Code session"):
            resumption(self.conversation(tmp_path, session).path)

    @pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
    def test_takes_a_link_to_a_file_from_elsewhere_for_what_it_is(self, tmp_path: Path) -> None:
        theirs = self.conversation(tmp_path / "theirs", "s-1").path
        link = layout.default_store() / "x" / theirs.name
        link.parent.mkdir(parents=True)
        link.symlink_to(theirs)
        assert not resumption(link).trusted
        assert resumption(link).program == "claude"

    def test_takes_the_program_only_from_the_own_store(self, tmp_path: Path) -> None:
        assert resumption(self.conversation(tmp_path / "theirs", "s-1").path).program == "claude"
        assert resumption(self.conversation(layout.default_store(), "s-1").path).program == "/elsewhere/claude"
