"""Capture the real client, which runs in a sandbox against a stub of the API.

Needs root on Linux and REREAD_REAL_CLIENT (a folder with `rig/`). The client is the executable in REREAD_CLAUDE, or is
installed from npm.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from effort import SAMPLE, sampled

RIG = Path(os.environ.get("REREAD_REAL_CLIENT", "/nowhere")) / "rig"
VERSION = "2.1.325"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOX = Path(__file__).parent / "capture_real_client.py"
ISOLATED = ["unshare", "-n", "-m", "-p", "--fork", "--mount-proc", "--kill-child"]


def reason_to_skip() -> str:
    if SAMPLE:
        return "the real client is started by `make test-all`"
    if not (RIG / "stub_api.py").is_file():
        return "REREAD_REAL_CLIENT is not a folder with the rig"
    if not os.environ.get("REREAD_CLAUDE") and shutil.which("npm", path=PATH) is None:
        return "REREAD_CLAUDE is not set, and there is no npm to install the client"
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return "the sandbox needs root on Linux, and unshare"
    return ""


pytestmark = [
    sampled,
    pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "never"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def client() -> Path:
    """The client's executable; from npm it is installed once, in the folder for temporary files."""
    if named := os.environ.get("REREAD_CLAUDE"):
        return Path(named)
    home = Path(tempfile.gettempdir()) / f"reread-claude-{VERSION}"
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    program = home / "node_modules" / "@anthropic-ai" / f"claude-code-linux-{machine}" / "claude"
    if not program.is_file():
        command = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(home),
            f"@anthropic-ai/claude-code@{VERSION}",
        ]
        done = subprocess.run(command, capture_output=True, timeout=240, check=False)
        if done.returncode or not program.is_file():
            pytest.skip(f"cannot install the client: {done.stderr.decode(errors='replace')[-300:]}")
    return program


@pytest.fixture(scope="module")
def report(client: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The output and exit code of every command that ran in the sandbox."""
    scratch = tmp_path_factory.mktemp("box")
    arguments = [sys.executable, BOX, RIG, client, scratch, Path(__file__).parent.parent]
    env = {"PATH": PATH, "HOME": str(Path("~root").expanduser())}
    done = subprocess.run([*ISOLATED, *map(str, arguments)], env=env, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def value(report: dict[str, Any], name: str) -> Any:
    return json.loads(report[name]["out"])


def test_a_replay_prints_the_same_bytes(report: dict[str, Any]) -> None:
    assert report["plain"]["code"] == report["resumed"]["code"] == 0
    assert report["replayed"]["out"] == report["plain"]["out"] + report["resumed"]["out"] != ""
    assert report["interrupted_replayed"]["out"] == report["interrupted"]["out"] != ""


def test_it_is_resumed_into_the_same_session_and_conversation(report: dict[str, Any]) -> None:
    (listed,) = (header for header in value(report, "listed") if header["id"] == "talk")
    assert listed["captured"] is True and len(listed["sessions"]) == 1
    conversation = value(report, "values")
    assert [turn["prompt"]["text"] for turn in conversation["turns"]] == ["One [[SCN:plain]]", "Two [[SCN:bash_ok]]"]
    assert "Print things" in report["shown"]["out"]


def test_its_cost_is_the_reported_one(report: dict[str, Any]) -> None:
    totals = value(report, "usage")["totals"]
    assert totals["responses"] == 3
    assert totals["reported_cost_usd"] == totals["cost_usd"] >= value(report, "values")["results"][-1]["cost_usd"] > 0


def test_the_transcript_and_the_capture_agree(report: dict[str, Any]) -> None:
    codes = [finding["code"] for file in value(report, "checked")["files"] for finding in file["findings"]]
    assert not {"not-in-transcript", "not-captured", "capture-differs"} & set(codes)


def test_an_api_error_is_an_error_result(report: dict[str, Any]) -> None:
    assert report["error"]["code"] == 1
    (turn_result,) = value(report, "error_values")["results"]
    assert turn_result["is_error"] is True and "400" in turn_result["text"]


def test_an_interrupt_is_forwarded(report: dict[str, Any]) -> None:
    """The client never gets to its answer; how much it still prints depends on how busy the machine is."""
    lines = [json.loads(line) for line in report["interrupted"]["out"].splitlines()]
    calls = [at for at, line in enumerate(lines) if '"tool_use"' in json.dumps(line.get("message", {}).get("content"))]
    assert calls and "assistant" not in [line["type"] for line in lines[calls[-1] + 1 :]]


def test_a_killed_client_has_no_result(report: dict[str, Any]) -> None:
    assert report["killed"]["code"] == 137
    (turn_result,) = value(report, "killed_values")["results"]
    assert (turn_result["subtype"], turn_result["exit_code"]) == ("no_result", 137)


def test_the_fake_client_records_the_real_one_once(report: dict[str, Any]) -> None:
    for name in ("once", "once_talk"):
        first, again, alone = report[name]
        assert first["code"] == again["code"] == alone["code"] == 0, first["err"]
        assert again["out"] == alone["out"] != ""
    assert report["once"][0]["out"] == report["once"][1]["out"]
    kinds = [[json.loads(line)["type"] for line in done["out"].splitlines()] for done in report["once_talk"]]
    assert kinds[0].count("control_response") == kinds[0].count("result") == 1
    assert [kind for kind in kinds[0] if kind != "rate_limit_event"] == [k for k in kinds[1] if k != "rate_limit_event"]
    assert report["once_stored"]["out"].count('"type":"result"') == 2
