"""Fixtures for tests of programs that run `claude`: one answers from recordings, one plays recorded sessions again.

Pytest loads this module wherever reread is installed, so it imports nothing else of reread before a test asks for it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RECORDINGS = "recordings"
"""The folder beside a test that holds its recordings."""


class FakeClaude:
    """A fake `claude`, first on PATH while a test runs."""

    def __init__(self, folder: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch, *, beside: Path) -> None:
        """Install the program in a folder; `beside` is the folder of the test, which paths begin at."""
        self.recordings: Path = recordings
        """The folder of the recordings."""
        self.path: Path = _install(folder)
        """The program, for an SDK that takes its path."""
        self._folder = folder
        self._beside = beside
        self._monkeypatch = monkeypatch
        self._patterns: dict[str, str] = {}
        for name in [name for name in os.environ if name.startswith("REREAD_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        self._set("HOME", str(recordings))

    def _set(self, name: str, value: str) -> None:
        self._monkeypatch.setenv(f"REREAD_{name}", value)

    @property
    def env(self) -> dict[str, str]:
        """The variables that choose the answers, for a program that is started with an environment of its own."""
        return {name: value for name, value in os.environ.items() if name.startswith("REREAD_") or name == "PATH"}

    def replay(self, *recordings: str | os.PathLike[str]) -> None:
        """Answer from these recordings only: their names, or paths of files or folders from the test's folder on."""
        from reread.fake_claude.script_sources import read_recordings

        located = [self._located(recording) for recording in recordings]
        for source in located if "REREAD_RECORD" not in os.environ else ():
            next(read_recordings([source]), None)  # says so if there is no such recording
        self._set("REPLAY", os.pathsep.join(located))

    def _located(self, recording: str | os.PathLike[str]) -> str:
        beside = self._beside / recording
        return str(beside) if beside.exists() else os.fspath(recording)

    def answer(self, pattern: str, recording: str) -> None:
        """Answer prompts that fit a pattern with a recording: `*` is any text, `?` a character, `[ab]` one of these."""
        self._patterns[pattern] = recording
        path = self._folder / "patterns.json"
        path.write_text(json.dumps(self._patterns), encoding="utf-8")
        self._set("PATTERNS", str(path))

    def play_each_once(self) -> None:
        """Play each recording once, in order, so that one prompt can have two answers."""
        self._set("PLAYED", str(self._folder / "played"))

    def ignore_prompts(self) -> None:
        """Play the next turn, whatever the caller sends."""
        self._set("MATCH", "order")

    def record_once(self, recording: str | None = None, *, claude: str | os.PathLike[str] | None = None) -> None:
        """Run the real `claude` for a prompt that was not recorded, and record it; under a name, if one is given."""
        self._set("RECORD", "once")
        if recording is not None:
            self._set("REPLAY", recording)
        if claude is not None:
            self._set("CLAUDE", os.fspath(claude))


def _install(folder: Path) -> Path:
    """Write a program named `claude` that runs the fake client with this very Python."""
    if os.name == "nt":
        path = folder / "claude.exe"
        shutil.copyfile(Path(sysconfig.get_path("scripts")) / "reread-claude.exe", path)
        return path
    path = folder / "claude"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m reread.fake_claude "$@"\n')
    path.chmod(0o755)
    return path


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting."""
    group = parser.getgroup("reread", "the fixtures fake_claude and rerun")
    group.addoption(
        "--record-claude",
        action="store_true",
        help="Run the real claude for prompts that were not recorded, and record its answers.",
    )
    group.addoption("--rerun-client", metavar="CLIENT", help="Play sessions with this claude: a path or a version.")
    parser.addini("claude_recordings", f"Folder of recordings (default: {RECORDINGS}, beside the test).")


@pytest.fixture
def fake_claude(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> FakeClaude:
    """Return a fake `claude`, first on PATH, that answers from the recordings beside the test."""
    named = str(request.config.getini("claude_recordings") or "")
    recordings = request.config.rootpath / named if named else request.path.parent / RECORDINGS
    fake = FakeClaude(tmp_path_factory.mktemp("claude"), recordings, monkeypatch, beside=request.path.parent)
    if request.config.getoption("record_claude"):
        fake.record_once()
    return fake


@pytest.fixture(name="rerun")
def session_player(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that lets the real client play a session: `rerun("fix.jsonl", settings=…)`.

    A name is that of a file beside the test. The other arguments are those of `reread.rerun`; the client is the one on
    PATH, unless `--rerun-client` names another.
    """

    def play(session: str | os.PathLike[str], **options: Any) -> Any:
        from reread.base.addons import named_parts

        beside = request.path.parent / session
        client = options.pop("client", None) or request.config.getoption("rerun_client")
        return named_parts("names")["rerun"].load()(
            beside if beside.exists() else os.fspath(session), client=client, **options
        )

    return play
