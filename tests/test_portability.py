"""Differences between systems: paths, line ends, reading by position, watching."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path, PureWindowsPath
from typing import Any

import msgspec
import pytest
from batches import each, table
from command import run
from test_real_client import TRANSCRIPTS, name

import reread
from reread.base.paths import SAMPLES, program_name
from reread.disk.projects import expand_folders, guess_project, is_within

HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("-home-sam-code", "/home/sam/code"),
        ("-Users-sam-code", "/Users/sam/code"),
        ("C--Users-sam-code", "C:\\Users\\sam\\code"),
        ("d--work", "D:\\work"),
        ("code", "code"),
    ],
)
def test_the_project_is_guessed_from_the_folder_name(folder: str, project: str) -> None:
    assert guess_project(Path("projects") / folder / "x.jsonl") == project


def test_a_windows_project_path_is_kept(tmp_path: Path) -> None:
    cwd = str(PureWindowsPath("C:/Users/sam/code"))
    record = {"type": "user", "uuid": "u", "cwd": cwd, "message": {"role": "user", "content": "hi"}}
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(record).encode())
    session = reread.open(path)
    assert session.project == cwd


@table(
    ("project", "folder", "within"),
    [
        ("C:\\Users\\sam\\code", "c:/users/sam", True),
        ("C:\\Users\\sam\\code", "C:\\Users\\sam\\code\\", True),
        ("C:\\Users\\sam\\code", "C:\\Users\\sam\\co", False),
        ("C:\\Users\\sam\\code", "D:\\Users\\sam\\code", False),
        ("C:\\Users\\sam\\code", "C:\\", True),
        ("\\\\server\\share\\code", "\\\\SERVER\\share", True),
        ("C:\\Users\\sam\\code", "Code", True),
        ("/home/sam/code", "/home/sam", True),
        ("/home/sam/Code", "/home/sam/code", False),
        ("/home/sam/a\\b", "b", False),
        ("/home/sam", "/", True),
    ],
)
def test_a_project_of_any_system_is_found_by_its_folder(project: str, folder: str, within: bool) -> None:
    assert is_within(project, expand_folders(folder)) is within


def test_a_folder_of_another_system_is_not_looked_for_on_this_one() -> None:
    assert expand_folders("C:\\code" if os.name != "nt" else "/code")[0] in ("C:\\code", "/code")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("C:\\Program Files\\nodejs\\Claude.EXE", "claude"),
        ("C:\\Users\\sam\\AppData\\Roaming\\npm\\claude.cmd", "claude"),
        ("/usr/local/bin/claude", "claude"),
        ("claude", "claude"),
        ("/odd\\claude", "odd\\claude"),
    ],
)
def test_a_program_of_any_system_has_a_name(path: str, name: str) -> None:
    assert program_name(path) == name


def windows_session(folder: Path, name: str, cwd: str) -> Path:
    """Write a short session of Windows, as it lies in a folder that was copied here."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    base = {"cwd": cwd, "sessionId": name, "timestamp": "2026-11-01T10:00:00Z", "version": "2.1.0"}
    user = {**base, "type": "user", "uuid": "u", "message": {"role": "user", "content": "Look\r\nhere\r"}}
    said = {"role": "assistant", "id": f"msg_{name}", "model": "claude-sonnet-5", "content": "ok", "usage": usage}
    path = folder / "projects" / "C--Users-sam-code" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    answer = {
        **base,
        "type": "assistant",
        "uuid": "a",
        "requestId": name,
        "message": {**said, "stop_reason": "end_turn"},
    }
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\r\n" for record in (user, answer)))
    return path


def test_a_project_whose_drive_letter_is_written_in_two_ways_is_one(tmp_path: Path) -> None:
    windows_session(tmp_path, "one", "c:\\Users\\sam\\code")
    windows_session(tmp_path, "two", "C:\\Users\\sam\\code\\")
    assert {header.project for header in reread.sessions(root=tmp_path)} == {"C:\\Users\\sam\\code"}
    (row,) = reread.usage(root=tmp_path, by="project", cache=False).rows
    assert (row["project"], row["responses"]) == ("C:\\Users\\sam\\code", 2)
    for folder in ("c:\\users\\sam", "C:/Users/sam/code", "code"):
        assert len(list(reread.sessions(root=tmp_path, project=folder))) == 2
        assert reread.usage(root=tmp_path, project=folder, cache=False).totals.responses == 2


HOME = "C:\\work\\proj"


def on_windows(value: Any, cwd: str) -> Any:
    """Return a record as it would be in a session of Windows: with other paths below the working folder."""
    if isinstance(value, dict):
        return {on_windows(key, cwd): on_windows(inner, cwd) for key, inner in value.items()}
    if isinstance(value, list):
        return [on_windows(inner, cwd) for inner in value]
    if not isinstance(value, str):
        return value
    return re.sub(rf"{re.escape(cwd)}((?:/[\w.-]+)*/?)", lambda found: HOME + found[1].replace("/", "\\"), value)


def back_here(value: Any, cwd: str) -> Any:
    """Undo `on_windows`."""
    if isinstance(value, dict):
        return {back_here(key, cwd): back_here(inner, cwd) for key, inner in value.items()}
    if isinstance(value, list):
        return [back_here(inner, cwd) for inner in value]
    if not isinstance(value, str):
        return value
    return re.sub(rf"{re.escape(HOME)}((?:\\[\w.-]+)*\\?)", lambda found: cwd + found[1].replace("\\", "/"), value)


def drawn(records: list[Any]) -> list[Any]:
    """What a session shows of its calls."""
    session = reread.open(b"\n".join(json.dumps(record).encode() for record in records))
    calls = [call for conversation in (session, *session.agents.values()) for call in conversation.calls]
    shown = [[call.title, msgspec.to_builtins(call.draw(full=True))] for call in calls]
    return [session.title, session.project, *shown]


@each("path", TRANSCRIPTS, ids=name, every=6)
def test_a_session_shows_the_same_with_paths_of_windows(path: Path) -> None:
    records = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    cwd = next((record["cwd"] for record in records if record.get("cwd")), None)
    if cwd is not None:
        assert back_here(drawn(on_windows(records, cwd)), cwd) == drawn(records)


def test_crlf_lines_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / HARBOR.name
    path.write_bytes(HARBOR.read_bytes().replace(b"\n", b"\r\n"))
    here, there = reread.open(HARBOR), reread.open(path)
    assert [message.text for message in there.messages] == [message.text for message in here.messages]
    assert b"".join(line.raw for line in there.lines) == path.read_bytes()


def test_a_system_without_pread_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [record.value for record in reread.open(HARBOR).records]
    monkeypatch.delattr(os, "pread", raising=False)
    assert [record.value for record in reread.open(HARBOR).records] == expected


def test_files_are_polled_if_the_system_reports_no_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "true")
    lines = HARBOR.read_bytes().splitlines(keepends=True)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(lines[:5]))
    session, stop = reread.open(path), threading.Event()
    assert len(session.records) == 5
    with path.open("ab") as file:
        file.write(lines[5])
    seen = []
    timer = threading.Timer(20, stop.set)
    timer.start()
    for change in reread.follow(session, stop=stop):
        seen.append(change.line)
        stop.set()
    timer.cancel()
    assert seen == [6]


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_the_c_locale_reads_the_same(locale: str) -> None:
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code = f"import reread; print(len(reread.open({str(HARBOR)!r}).messages))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert int(done.stdout) == len(reread.open(HARBOR).messages)


UNOPENED = """
import sys
from reread.storage.kept_file import KeptFile
from reread.storage.pooled_file import PooledFile

for kind in (KeptFile, PooledFile):
    for path in sys.argv[1:]:
        try:
            kind(path)
        except OSError:
            continue
        raise SystemExit(f"{kind} opens {path}")
"""


def test_a_file_that_cannot_be_opened_is_freed_in_silence(tmp_path: Path) -> None:
    paths = [tmp_path / "none.jsonl", tmp_path / "none.jsonl.zst", tmp_path]
    # since 3.13, Python prints what closing such an object raises; before, it does so in this mode
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", UNOPENED, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", ["check", "show", "usage"])
def test_a_missing_file_is_one_sentence(tmp_path: Path, verb: str) -> None:
    done = run(verb, str(tmp_path / "none.jsonl"), env={"PYTHONDEVMODE": "1"})
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"reread: .*none\.jsonl.*\n", done.stderr)
