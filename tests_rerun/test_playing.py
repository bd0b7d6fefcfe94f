"""The real client plays sessions: all is as it was, or what was changed is named, and nothing else."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from conftest import GOLDEN, ROOT, VERSIONS
from making import answer, reply, result, told, use, user, write
from test_real_client import SCENARIOS

import reread
from reread.addons.rerun.box import python
from reread.addons.rerun.clients import Client, install_client
from reread.addons.rerun.playing import Rerun
from reread.errors import Misuse

PLAYED = (
    *("agent", "agent_parallel", "api_529", "ask_sdk", "bash_fail", "bash_ok", "compact", "deny_sdk", "edit", "mcp"),
    *("parallel", "plain", "read", "thinking", "todo", "write"),
)
"""Scenarios in which nothing depends on what the client had and no transcript says."""
FOLDERS = {(path.parent.name, path.name): path for path in SCENARIOS}
RECORDED = sorted(key for key in FOLDERS if key[1] in PLAYED)


def transcript(folder: Path) -> Path:
    found = (path for path in sorted(folder.glob("projects/*/*.jsonl")) if not path.name.startswith("agent-"))
    return max(found, key=lambda path: path.stat().st_size)  # early clients left empty ones, too


@pytest.mark.parametrize(("version", "scenario"), RECORDED, ids=["/".join(key) for key in RECORDED])
def test_a_recorded_session_is_played_to_its_end(version: str, scenario: str) -> None:
    found = reread.rerun(transcript(FOLDERS[version, scenario]), client=install_client(version))
    assert not found.failure and not found.unrecorded
    assert [call.title for call in found.calls if not (call.reached and call.same_input)] == []
    assert all(file.same for file in found.files)


@pytest.fixture(scope="module")
def played(newest: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden session as the newest client plays it: its requests are noted."""
    found = reread.rerun(GOLDEN, client=newest, claude_md="Be brief.\n", keep=tmp_path_factory.mktemp("kept"))
    assert not found.failure and not found.differences
    return Path(found.kept)


def test_nothing_differs_if_nothing_was_changed(played: Path, newest: Client) -> None:
    for _ in range(3):
        found = reread.rerun(played, client=newest)
        assert found.is_equal and found.differences == []
        assert len(found.requests) == 5 and all(request.verified for request in found.requests)


def test_each_version_plays_the_golden_session(client: Client) -> None:
    found = reread.rerun(GOLDEN, client=client)
    assert not found.failure and not found.unrecorded
    assert len(found.calls) == 4 and all(call.reached and call.same_input for call in found.calls)
    assert [file.same for file in found.files] == [True]


def hook(folder: Path, text: str) -> Path:
    path = folder / "hook.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    return path


def plugin(folder: Path) -> Path:
    """A plug-in with a hook that denies all shell commands."""
    top = folder / "guard"
    (top / ".claude-plugin").mkdir(parents=True)
    (top / ".claude-plugin" / "plugin.json").write_text('{"name": "guard", "version": "1.0.0", "description": "x"}')
    (top / "hooks").mkdir()
    command = {"type": "command", "command": "echo stop >&2; exit 2"}
    rules = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command]}]}}
    (top / "hooks" / "hooks.json").write_text(json.dumps(rules))
    return top


BASH = ["Bash Run the tests", "Bash Push the fix"]
CHANGES: dict[str, tuple[Any, set[str], list[str]]] = {
    "memory": (lambda folder: {"claude_md": "Always answer in rhymes.\n"}, {"memory"}, []),
    "system prompt": (lambda folder: {"system_prompt": "Answer in rhymes."}, {"system"}, []),
    "a deny rule": (
        lambda folder: {"settings": {"permissions": {"deny": ["Bash(git push:*)"]}}},
        {"result"},
        ["Bash Push the fix"],
    ),
    "a hook before calls": (
        lambda folder: {"hooks": [hook(folder, "grep -q pytest && { echo no tests >&2; exit 2; }; exit 0")]},
        {"result", "hook"},
        ["Bash Run the tests"],
    ),
    "a hook on prompts": (
        lambda folder: {"hooks": [f"UserPromptSubmit={hook(folder, 'echo It is Thursday.')}"]},
        {"hook"},
        [],
    ),
    "a plug-in": (lambda folder: {"plugins": [plugin(folder)]}, {"result", "hook"}, BASH),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_named_at_its_place_and_nothing_else(
    what: str, played: Path, newest: Client, tmp_path: Path
) -> None:
    options, kinds, denied = CHANGES[what]
    found = reread.rerun(played, client=newest, **options(tmp_path))
    assert not found.failure and not found.is_equal
    assert found.denied == denied
    assert [call.title for call in found.calls if not call.is_same] == denied
    changed = {change.kind for request in found.requests for change in request.changes}
    assert changed and changed <= kinds


def test_another_model_is_named(played: Path, newest: Client) -> None:
    found = reread.rerun(played, client=newest, model="claude-sonnet-4-6", turns=1)
    assert {("param", "model", "edited")} <= changes(found)


def changes(found: Rerun) -> set[tuple[str, str, str]]:
    return {(one.kind, one.name, one.change) for request in found.requests for one in request.changes}


def test_a_server_that_is_added_is_named(played: Path, newest: Client, tmp_path: Path) -> None:
    from reread.addons.rerun.stand_in import stand_in_servers

    asked = reply(use("t1", "mcp__tiny__echo", text="hi"), id="m1")
    session = reread.open(write(tmp_path, *told(user("x"), asked, answer(result("t1", "hi")))))
    servers = stand_in_servers(session, tmp_path, "/tmp")
    program = next(iter(servers.values()))
    program["args"] = ["-c", "import sys; sys.exit(1)"]
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"broken": program}}))
    found = reread.rerun(played, client=newest, mcp_config=tmp_path / "mcp.json")
    assert not found.failure and all(call.is_same for call in found.calls)
    assert "The MCP server broken did not start." in found.notes


def test_what_has_no_effect_is_named(played: Path, client: Client, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="has no hook event 'PreToolUze'; it has PreToolUse, PostToolUse"):
        reread.rerun(played, client=client, hooks=[f"PreToolUze={hook(tmp_path, 'exit 2')}"])
    found = reread.rerun(played, client=client, settings={"hooks": {"Stopp": []}, "permision": {}})
    named = [note for note in found.notes if "Stopp" in note or "permision" in note]
    assert len(named) == 2
    broken = plugin(tmp_path)
    (broken / ".claude-plugin" / "plugin.json").write_text("{nope")
    assert "did not load the plug-in" in reread.rerun(played, client=client, plugins=[broken]).failure


def test_settings_that_the_client_refuses_fail_the_play(played: Path, newest: Client) -> None:
    found = reread.rerun(played, client=newest, settings={"permissions": {"deny": "Bash"}})
    assert "took none of the settings: permissions.deny: " in found.failure and not found.is_decided


def test_a_hook_that_fails_is_noted(played: Path, newest: Client, tmp_path: Path) -> None:
    found = reread.rerun(played, client=newest, hooks=[hook(tmp_path, "exec /nope")])
    assert any(note.startswith("The hook PreToolUse:Bash failed: ") for note in found.notes)


def canary(folder: Path, *before: dict[str, Any]) -> Path:
    """A session whose command makes a file, which was not there when it looked for it."""
    path = "/home/sam/code/greeter/canary.txt"
    missing = answer(result("t2", "<tool_use_error>File does not exist.</tool_use_error>", is_error=True))
    rows = told(
        user("Make it"),
        *before,
        reply(use("t1", command=f"echo alive > {path}", description="Make the canary"), id="m1"),
        answer(result("t1", ""), data={"stdout": "", "stderr": "", "interrupted": False}),
        reply(use("t2", "Read", file_path=path), id="m2"),
        {**missing, "toolUseResult": "Error: File does not exist."},
        reply("There is none.", id="m3", stop="end_turn"),
    )
    own = {"cwd": "/home/sam/code/greeter", "permissionMode": "bypassPermissions"}
    return write(folder, *({**row, **own} for row in rows))


def test_no_recorded_command_is_run_unless_it_is_to_be(newest: Client, tmp_path: Path) -> None:
    path = canary(tmp_path)
    dry = reread.rerun(path, client=newest)
    assert [call.now for call in dry.calls] == ["done", "failed"] and dry.dry
    live = reread.rerun(path, client=newest, live=True)
    assert [call.now for call in live.calls] == ["done", "done"] and not live.dry
    assert not Path("/home/sam/code/greeter").exists()


PROGRAM = {"matcher": "*", "hooks": [{"type": "command", "command": "echo alive > /home/sam/code/greeter/canary.txt"}]}
SETTINGS = json.dumps({"hooks": {"PreToolUse": [PROGRAM], "PostToolUse": [PROGRAM]}})
SKILL = f"---\nname: x\ndescription: Use it.\nhooks: {json.dumps({'PreToolUse': [PROGRAM]})}\n---\nSay it.\n"
NAMED = {
    "settings that are written": (".claude/settings.json", SETTINGS, True),
    "local settings": (".claude/settings.local.json", SETTINGS, True),
    "a skill that was there": (".claude/skills/x/SKILL.md", SKILL, False),
}


@pytest.mark.parametrize("what", NAMED)
def test_no_program_is_run_that_a_file_of_the_session_names(what: str, newest: Client, tmp_path: Path) -> None:
    name, text, written = NAMED[what]
    path = f"/home/sam/code/greeter/{name}"
    if written:
        given = use("t8", "Write", file_path=path, content=text)
        data = {"type": "create", "filePath": path, "content": text, "structuredPatch": [], "originalFile": None}
    else:
        given, lines = use("t8", "Read", file_path=path), text.count("\n") + 1
        shown = {"filePath": path, "content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
        data = {"type": "text", "file": shown}
    skill = reply(use("t9", "Skill", skill="x"), id="m9"), answer(result("t9", "Launching skill: x"))
    before = reply(given, id="m8"), answer(result("t8", "done"), data=data), *(skill if not written else ())
    found = reread.rerun(canary(tmp_path, *before), client=newest)
    assert not found.failure and all(call.reached and call.same_input for call in found.calls)
    assert [call.now for call in found.calls if call.name == "Read"][-1] == "failed"
    assert any(path in note for note in found.notes)


def readable() -> str | None:
    """A Python that any user can start; None if there is none."""
    for program in (sys.executable, "/usr/bin/python3"):
        words = [*AS_NOBODY, program, "-c", "import sys; sys.exit(sys.version_info[:2] != (%d, %d))"]
        words[-1] %= sys.version_info[:2]
        if not subprocess.run(words, capture_output=True, check=False).returncode:
            return program
    return None


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_user_who_is_not_root_plays_the_same(newest: Client) -> None:
    program = readable() if shutil.which("setpriv") else None
    if program is None:
        pytest.skip("no other user can start Python here")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        own = Path(folder) / "own"
        own.mkdir()
        os.chown(own, 65534, 65534)
        shutil.copytree(Path(reread.__file__).parent, f"{folder}/src/reread")
        shutil.copytree(newest.folder, f"{folder}/node_modules", symlinks=True)
        paths = ":".join([f"{folder}/src", *(path for path in sys.path if path.endswith("site-packages"))])
        env = {"PATH": os.environ["PATH"], "HOME": str(own), "TMPDIR": str(own), "PYTHONPATH": paths}
        path = canary(Path(folder))
        words = [*AS_NOBODY, program, "-m", "reread", "rerun", str(path), "--json"]
        words += ["--client", f"{folder}/node_modules/{newest.program}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, cwd=folder)
        assert not [one for one in own.rglob("*") if one.name.startswith("reread-rerun-")]
    found = json.loads(done.stdout)
    assert not found["failure"] and found["dry"], found["failure"]
    assert [call["now"] for call in found["calls"]] == ["done", "failed"]
    assert not Path("/home/sam/code/greeter").exists()


def test_nothing_can_be_reached_from_the_box(newest: Client, tmp_path: Path) -> None:
    connect = "import socket; socket.create_connection(('1.1.1.1', 53), 3)"
    tried = hook(tmp_path, f'{python()} -c "{connect}" 2>&1 | tail -1 >&2; ls /root /home >&2; exit 2')
    found = reread.rerun(GOLDEN, client=newest, hooks=[tried])
    said = " ".join(call.detail for call in found.calls)
    assert "unreachable" in said and found.calls[0].now == "denied"


def test_two_clients_are_compared_with_each_other(newest: Client) -> None:
    same = reread.rerun(GOLDEN, client=newest, against=newest)
    assert same.is_equal and len(same.requests) == 5
    other = reread.rerun(GOLDEN, client=newest, against=VERSIONS[1])
    assert not other.failure and (other.recorded, other.played) == (VERSIONS[1], VERSIONS[0])


def test_both_plays_are_kept_and_open_beside_each_other(newest: Client, tmp_path: Path) -> None:
    found = reread.rerun(GOLDEN, client=newest, against=newest, hooks=[GOLDEN.parent / "guard.sh"], keep=tmp_path)
    assert Path(found.record).is_relative_to(tmp_path / "against")
    beside = reread.diff(found.record, found.kept).beside
    assert beside is not None and beside.first == f"turn 1: {BASH[1]}: done → denied"


def test_the_example_passes(newest: Client) -> None:
    program = newest.folder / newest.program
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(GOLDEN.parent), "--rerun-client", str(program)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith(".."), done.stdout


def test_the_readme_shows_what_is_printed(newest: Client) -> None:
    screen = next(part for part in (ROOT / "README.md").read_text().split("```\n") if part.startswith("$ reread rerun"))
    command, *shown = screen.splitlines()
    words = [sys.executable, "-m", "reread", *shlex.split(command)[2:]]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "COLUMNS": "100"})
    printed = re.sub(r" · \d+ s$", "", done.stdout, flags=re.MULTILINE).splitlines()
    assert [line for line in shown if line != "…" and line not in printed] == []
