"""Differences between systems: paths, line ends, reading by position, watching."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path, PureWindowsPath

import pytest

import reread
from reread.cli._options import SAMPLES
from reread.disk import layout

HARBOR = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("-home-sam-code", "/home/sam/code"),
        ("-Users-sam-code", "/Users/sam/code"),
        ("C--Users-sam-code", "C:\\Users\\sam\\code"),
        ("d--work", "d:\\work"),
        ("code", "code"),
    ],
)
def test_the_project_is_guessed_from_the_folder_name(folder: str, project: str) -> None:
    assert layout.guess_project(Path("projects") / folder / "x.jsonl") == project


def test_a_windows_project_path_is_kept(tmp_path: Path) -> None:
    cwd = str(PureWindowsPath("C:/Users/sam/code"))
    record = {"type": "user", "uuid": "u", "cwd": cwd, "message": {"role": "user", "content": "hi"}}
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(record).encode())
    session = reread.open(path)
    assert session.project == cwd


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
