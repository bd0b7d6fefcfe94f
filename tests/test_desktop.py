"""Sessions of the Claude desktop app and Cowork are found where it keeps them on each system."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from making import jsonl, reply, user

import reread
from reread import cli
from reread.base.scope_options import DESKTOP_VARIABLE

ID, CODE = "5e551017-0000-4000-8000-000000000000", "c0de1017-0000-4000-8000-000000000000"
APPS = {
    "linux": ".config/Claude",
    "darwin": "Library/Application Support/Claude",
    "win32": "AppData/Roaming/Claude",
    "win32 store": "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude",
}


def write(path: Path, data: bytes | Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def record(id: str, title: str, **more: Any) -> dict[str, Any]:
    return {"sessionId": "local_1", "cliSessionId": id, "title": title, "createdAt": 1, "lastActivityAt": 2, **more}


def at_home(home: Path, system: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a session of Cowork and one of the Code tab into a home, as on a system, and return the app's folder."""
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(home))
    monkeypatch.setattr(sys, "platform", system.split()[0])
    app = home / APPS[system]
    inner = app / "local-agent-mode-sessions" / "org" / "account"
    own = {"sessionId": ID, "timestamp": "2026-11-01T10:00:00Z"}
    lines = jsonl(user("Tidy my zebra photos", **own), reply("done", **own))
    write(inner / "local_1" / ".claude" / "projects" / "-sessions-zebra" / f"{ID}.jsonl", lines)
    write(inner / "local_1.json", record(ID, "Photos of zebras"))
    write(home / ".claude" / "projects" / "-p" / f"{CODE}.jsonl", jsonl(user("Fix the giraffe", sessionId=CODE)))
    write(app / "claude-code-sessions" / "org" / "account" / "local_2.json", record(CODE, "Giraffe fix"))
    return app


def output(*words: str) -> str:
    done = CliRunner().invoke(cli.reread, words)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


@pytest.mark.parametrize("system", APPS)
def test_sessions_of_the_app_are_found_with_their_titles(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, system, monkeypatch)
    found = {header.id: header for header in reread.sessions()}
    assert {id: (one.title, one.desktop) for id, one in found.items()} == {
        ID: ("Photos of zebras", True),
        CODE: ("Giraffe fix", True),
    }


def test_every_verb_has_them_unless_they_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home(tmp_path, "linux", monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["ls"], ["ls", "--json"], ["usage", "--by", "session", "--json"], ["search", "tidy", "--json"]):
        assert ID[:8] in output(*words), words
    assert "desktop" in output("ls") and "Photos of zebras" in output("ls")
    for words in (
        ["show", ID],
        ["brief", ID],
        ["search", "tidy"],
        ["export", ID, "-f", "md"],
        ["delete", ID, "--dry-run"],
    ):
        assert "Photos of zebras" in output(*words), words
    assert "Photos of zebras" in output("digest", "--since", "2000")
    assert reread.open(ID).recorded_title == "Tidy my zebra photos"
    monkeypatch.setenv(DESKTOP_VARIABLE, "0")
    assert [one["id"] for one in json.loads(output("ls", "--json"))] == [CODE]
    assert ID not in output("usage", "--by", "session", "--json")
    assert [header.id for header in reread.sessions()] == [CODE]


def test_now_knows_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = at_home(tmp_path, "linux", monkeypatch)
    config = app / "local-agent-mode-sessions" / "org" / "account" / "local_1" / ".claude"
    write(config / "sessions" / f"{os.getpid()}.json", {"sessionId": ID, "status": "waiting", "waitingFor": "you"})
    assert (ID, "waiting") in [(one.session, one.state) for one in reread.now()]


def test_they_are_kept_and_deleted_with_the_records_of_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = at_home(tmp_path, "linux", monkeypatch)
    config = app / "local-agent-mode-sessions" / "org" / "account" / "local_1" / ".claude"
    os.utime(config / "projects" / "-sessions-zebra" / f"{ID}.jsonl", (1, 1))
    output("keep")
    assert next(header for header in reread.sessions() if header.id == ID).kept
    output("delete", ID, "--yes", "--now", "--kept")
    left = [path for path in tmp_path.rglob("*") if path.is_file() and b"zebra" in path.read_bytes()]
    assert left == []


def test_what_the_app_writes_badly_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = at_home(tmp_path, "linux", monkeypatch)
    for name, data in {"local_3.json": b"{", "local_4.json": b"[1]", "local_5.json": b'{"cliSessionId": 7}'}.items():
        write(app / "claude-code-sessions" / "org" / "account" / name, data)
    (app / "local-agent-mode-sessions" / "loop").symlink_to(app, target_is_directory=True)
    assert len(list(reread.sessions())) == 2
