"""Capturing the real client: it runs in a sealed box against the stub API that plays the model.

Needs root on Linux and REREAD_REAL_CLIENT (the folder that holds `rig/`). The client is the executable that
REREAD_CLAUDE names, or is installed from npm.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

RIG = Path(os.environ.get("REREAD_REAL_CLIENT", "/nowhere")) / "rig"
VERSION = "2.1.325"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOX = Path(__file__).parent / "box.py"
ALONE = ["unshare", "-n", "-m", "-p", "--fork", "--mount-proc", "--kill-child"]


def reason_to_skip() -> str:
    if not (RIG / "stub_api.py").is_file():
        return "REREAD_REAL_CLIENT names no folder with the rig"
    if not os.environ.get("REREAD_CLAUDE") and shutil.which("npm", path=PATH) is None:
        return "REREAD_CLAUDE names no client, and there is no npm to install one"
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return "a sealed box needs root on Linux, and unshare"
    return ""


pytestmark = [
    pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "never"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def client() -> Path:
    """The client's executable; from npm it is installed once, and kept among the temporary files."""
    if named := os.environ.get("REREAD_CLAUDE"):
        return Path(named)
    home = Path(tempfile.gettempdir()) / f"reread-claude-{VERSION}"
    program = home / "node_modules" / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    if not program.is_file():
        words = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(home),
            f"@anthropic-ai/claude-code@{VERSION}",
        ]
        done = subprocess.run(words, capture_output=True, timeout=240, check=False)
        if done.returncode or not program.is_file():
            pytest.skip(f"the client cannot be installed: {done.stderr.decode(errors='replace')[-300:]}")
    return program


@pytest.fixture(scope="module")
def report(client: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all that was played."""
    scratch = tmp_path_factory.mktemp("box")
    words = [sys.executable, BOX, RIG, client, scratch, Path(__file__).parent.parent]
    env = {"PATH": PATH, "HOME": str(Path("~root").expanduser())}
    done = subprocess.run([*ALONE, *map(str, words)], env=env, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def value(report: dict[str, Any], name: str) -> Any:
    return json.loads(report[name]["out"])


def test_replaying_gives_the_bytes_that_it_printed(report: dict[str, Any]) -> None:
    assert report["plain"]["code"] == report["resumed"]["code"] == 0
    assert report["replayed"]["out"] == report["plain"]["out"] + report["resumed"]["out"] != ""
    assert report["interrupted_replayed"]["out"] == report["interrupted"]["out"] != ""


def test_it_is_resumed_into_the_same_session_and_conversation(report: dict[str, Any]) -> None:
    (listed,) = (header for header in value(report, "listed") if header["id"] == "talk")
    assert listed["captured"] is True and len(listed["sessions"]) == 1
    conversation = value(report, "values")
    assert [turn["prompt"]["text"] for turn in conversation["turns"]] == ["One [[SCN:plain]]", "Two [[SCN:bash_ok]]"]
    assert "Print things" in report["shown"]["out"]


def test_its_cost_is_what_it_says(report: dict[str, Any]) -> None:
    totals = value(report, "usage")["totals"]
    assert totals["responses"] == 3
    assert totals["reported_cost_usd"] == totals["cost_usd"] >= value(report, "values")["results"][-1]["cost_usd"] > 0


def test_the_transcript_and_the_capture_agree(report: dict[str, Any]) -> None:
    codes = [finding["code"] for file in value(report, "checked")["files"] for finding in file["findings"]]
    assert not {"not-in-transcript", "not-captured", "capture-differs"} & set(codes)


def test_an_error_of_the_api_is_shown_as_one(report: dict[str, Any]) -> None:
    assert report["error"]["code"] == 1
    (outcome,) = value(report, "error_values")["results"]
    assert outcome["is_error"] is True and "400" in outcome["text"]


def test_an_interrupt_reaches_it(report: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in report["interrupted"]["out"].splitlines()]
    assert lines[-1]["type"] == "result"


def test_a_client_that_is_killed_ends_without_a_result(report: dict[str, Any]) -> None:
    assert report["killed"]["code"] == 137
    (outcome,) = value(report, "killed_values")["results"]
    assert (outcome["subtype"], outcome["exit_code"]) == ("no_result", 137)
