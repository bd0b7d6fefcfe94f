"""`reread resume`: any session, in its folder, with its id; and what it refuses to run."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import REREAD, forked
from effort import one_in
from limits import child_process

from reread.base.paths import SAMPLES
from reread.base.shell_words import quote_command
from reread.catalog.store import Store
from reread.handover.resuming import resumption

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a script stands for claude")

SESSION = "5e551017-0000-4000-8000-000000000001"
KEPT_SAMPLE = "1d9c4e83-5b60-4f2a-8e17-a04c6b93d275"
"""The sample that Claude Code has deleted."""
CLAUDE = f"""#!{sys.executable}
import json, os, sys
session = sys.argv[sys.argv.index("--resume") + 1]
print(json.dumps({{"type": "system", "subtype": "init", "session_id": session, "cwd": os.getcwd()}}))
print(json.dumps({{"type": "result", "subtype": "success", "session_id": session, "result": " ".join(sys.argv[1:])}}))
"""
STREAM = "--output-format stream-json --verbose "


class Home:
    """A folder with sessions, a program called claude, and a project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "it's a project"
        self.project.mkdir()
        (folder / "bin").mkdir()
        program = folder / "bin" / "claude"
        program.write_text(CLAUDE)
        program.chmod(0o755)
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            "REREAD_HOME": str(folder / "store"),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        }

    def write(self, folder: Path, cwd: str | None = None) -> Path:
        """Write a transcript below a folder."""
        path = folder / "projects" / "-p" / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        record = {"type": "user", "uuid": "u", "sessionId": SESSION, "message": {"role": "user", "content": "Hi"}}
        path.write_text(json.dumps(record | {"cwd": cwd or str(self.project)}) + "\n")
        return path

    def run(self, *words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        done = forked(["resume", *map(str, words)], env=self.environment, cwd=cwd)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def conversations(self) -> list[list[str]]:
        return [stored.session_ids for stored in Store(self.folder / "store").conversations()]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    yield Home(tmp_path)


def test_any_session_is_resumed_in_its_folder_with_its_id(home: Home) -> None:
    home.write(home.folder / "claude")
    done = home.run("5e55", "go", "on")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert lines[0]["cwd"] == str(home.project)
    assert lines[1]["result"] == f"{STREAM}--resume {SESSION} -p go on"


def test_it_is_captured_into_one_conversation_however_often(home: Home) -> None:
    home.write(home.folder / "claude")
    for _ in range(2):
        assert home.run("5e55", "go on").returncode == 0
    assert home.conversations() == [[SESSION]]
    (stored,) = Store(home.folder / "store").conversations()
    assert [run.exit_code for run in stored.runs] == [0, 0]


def test_without_capture_the_program_takes_over(home: Home) -> None:
    home.write(home.folder / "claude")
    done = home.run("5e55", "--no-capture", "go on")
    assert json.loads(done.stdout.splitlines()[1])["result"] == f"--resume {SESSION} -p go on"
    assert home.conversations() == []


def test_the_answer_can_be_printed_as_text(home: Home) -> None:
    home.write(home.folder / "claude")
    done = home.run("--format=answers", "--", "5e55", "--go on")
    assert done.stdout == f"{STREAM}--resume {SESSION} -p -- --go on\n"
    assert home.conversations() == [[SESSION]]


@one_in(0)
def test_every_id_that_completion_offers_can_be_resumed(home: Home) -> None:
    shutil.copytree(SAMPLES, home.folder / "claude")
    request = {"_REREAD_COMPLETE": "zsh_complete", "COMP_WORDS": "reread resume ", "COMP_CWORD": "2"}
    offered = subprocess.run(REREAD, capture_output=True, text=True, env={**home.environment, **request}, timeout=150)
    ids = [line for line in offered.stdout.splitlines() if len(line) == 36]
    assert len(ids) == 9 and KEPT_SAMPLE in ids
    for id in ids:
        done = home.run(id, "--dry-run", cwd=home.project)
        where = "/home/sam/code/" if id != KEPT_SAMPLE else quote_command([str(home.project)])
        assert done.stdout.splitlines()[-1].startswith(f"cd {where}") and " && claude --resume " in done.stdout


class TestTrust:
    """A file from elsewhere can name any folder: nothing runs there before someone agrees."""

    def test_nothing_is_run_for_a_foreign_conversation_without_asking(self, home: Home) -> None:
        repository = home.folder / "cloned"
        words = self.captured(home, repository)
        done = home.run(*words, cwd=repository)
        assert (done.returncode, done.stdout) == (2, "")
        assert "not one of your own sessions" in done.stderr and "use --yes" in done.stderr
        assert quote_command(["claude", "--resume", SESSION], str(home.project)) in done.stderr
        assert home.run(*words, "--yes", cwd=repository).returncode == 0
        assert home.run(*words, "--dry-run", cwd=repository).returncode == 0

    def captured(self, home: Home, repository: Path) -> list[str]:
        with Store(repository / ".chorus").writer("c") as writer:
            writer.start_run(["claude", "-p", "hi"], cwd=str(home.project))
            writer.append(json.dumps({"type": "system", "subtype": "init", "session_id": SESSION}).encode())
        return ["c"]

    @pytest.mark.parametrize("place", ["file", "root"])
    def test_a_transcript_from_elsewhere_chooses_no_folder(self, place: str, home: Home) -> None:
        here = home.folder / "here"
        here.mkdir()
        path = home.write(home.folder / "cloned")
        words: list[object] = [path] if place == "file" else [SESSION, "--root", home.folder / "cloned"]
        done = home.run(*words, cwd=here)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[0])["cwd"] == str(here)
        assert f"the session ran in {home.project}; use --in" in done.stderr

    @pytest.mark.parametrize(("answer", "runs"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
    def test_a_person_is_asked(self, answer: bytes, runs: bool, home: Home) -> None:
        words = self.captured(home, home.folder / "elsewhere")
        master, slave = pty.openpty()
        command = [*REREAD, "--root", str(home.folder / "elsewhere" / ".chorus"), "resume", *words, "--no-capture"]
        try:
            with child_process(
                command, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home.environment
            ) as asked:
                os.write(master, answer)
                out, err = asked.communicate(timeout=150)
        finally:
            os.close(master)
            os.close(slave)
        assert b"Run it?" in err and (SESSION.encode() in out) == runs
        assert asked.returncode == (0 if runs else 1)


@pytest.mark.parametrize(
    "name", ["\x1b]52;c;aGk=\x07", "a\nb", "\u202egnp", "it's", "caf\u00e9", "$(touch x)", "-", "\x1bf0"]
)
def test_a_printed_command_is_safe_and_names_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for cwd, start in ((str(folder), "/"), (name, str(tmp_path))):
        printed = quote_command(["pwd"], cwd, windows=False)
        assert printed.isprintable()
        done = subprocess.run(["bash", "-c", f"{printed} && printf x"], cwd=start, capture_output=True, check=True)
        assert os.fsdecode(done.stdout) == f"{folder}\nx"


def test_a_folder_that_is_gone_is_an_error(home: Home) -> None:
    home.write(home.folder / "claude", cwd="/no/such/folder")
    done = home.run("latest")
    assert done.returncode == 2 and "No such folder: /no/such/folder" in done.stderr
    assert "--in" in done.stderr and "--dry-run" in done.stderr


def test_a_fork_is_resumed_by_its_own_id(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    lines = ({"type": "user", "sessionId": id, "message": {"content": "x"}} for id in ("other", SESSION))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert resumption(path).session == SESSION
