"""The recipes of docs/rerun.md, as they stand there, with the real client."""

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import GOLDEN, VERSIONS

from reread.addons.rerun.clients import Client

TEXT = (Path(__file__).parent.parent / "docs" / "rerun.md").read_text()


def recipe(heading: str) -> str:
    """The first block of code below a heading."""
    below = TEXT.partition(f"## {heading}\n")[2]
    found = re.search(r"^```\w*\n(.*?)^```", below, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


@pytest.fixture
def home(newest: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what a user has: last month's session, a guard, the client on PATH."""
    project = tmp_path / "claude" / "projects" / "-home-sam-code-greeter"
    project.mkdir(parents=True)
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    (project / GOLDEN.name).write_text(re.sub(r"\b20\d\d-\d\d-\d\d(?=T)", today, GOLDEN.read_text()))
    for name in ("guard.sh", GOLDEN.name):
        shutil.copy(GOLDEN.parent / name, tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(newest.folder / newest.program)
    (tmp_path / "bin" / "reread").write_text(f'#!/bin/sh\nexec {sys.executable} -m reread "$@"\n')
    (tmp_path / "bin" / "reread").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path


def done(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=home)


def test_a_hook_is_tried_on_the_sessions_of_last_month(home: Path) -> None:
    said = done(home, sys.executable, "-c", recipe("Try a hook on last month's sessions"))
    assert said.stdout.rstrip().endswith("Bash Push the fix"), said


def test_what_a_new_client_changes_is_said(home: Path) -> None:
    line = recipe("See what a new client changes").strip()
    known = line.replace("8c1f", GOLDEN.name).replace("latest", VERSIONS[0])
    assert known != line
    said = done(home, "sh", "-c", known)
    assert said.returncode == 1 and "recorded on 2.1.325 · played on 2.1.327" in said.stdout, said
    assert "4 of 4 reached, 4 with the same input, 4 with the same outcome" in said.stdout


def test_a_plug_in_is_tested(home: Path) -> None:
    (home / "test_guard.py").write_text(recipe("Test a plug-in in CI"))
    said = done(home, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_guard.py")
    assert said.returncode == 0, said.stdout
