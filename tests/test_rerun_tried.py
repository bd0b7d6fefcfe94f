"""What is tried with a session that is played again: what the client does not know or take is named."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from making import answer, attachment, read, reply, result, told, use, user, write

import reread
from reread.addons.rerun.clients import Client, find_client
from reread.addons.rerun.driver import Driver, Said
from reread.addons.rerun.tried import Tried, hook_events, not_taken, notes_on, require_known_events
from reread.errors import Misuse

EVENTS = '["PreToolUse","Stop"];x=["PreToolUse","PostToolUse","Stop","Setup"];y=["PreToolUse","x y"]'
SOURCES = {"sources": [{"source": "userSettings", "settings": {}}]}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """A client whose program lists its hook events."""
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\necho 1.2.3\nexit\n{EVENTS} permissions:deny: hooks:")
    program.chmod(0o755)
    return find_client(program)


def test_the_longest_list_in_the_program_has_its_events(client: Client, tmp_path: Path) -> None:
    assert hook_events(client) == ("PreToolUse", "PostToolUse", "Stop", "Setup")
    (tmp_path / "empty").write_bytes(b"")
    assert hook_events(Client(tmp_path, "empty", "1")) == ()


def test_a_hook_for_an_unknown_event_is_refused_with_the_nearest_first(client: Client, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"1\.2\.3 has no hook event 'PostToolUze'; it has PostToolUse, PreToolUse, St"):
        require_known_events(Tried(hooks=("x.sh", "PostToolUze=x.sh")), client)
    require_known_events(Tried(hooks=("x.sh", "Setup=y.sh")), client)
    (tmp_path / "launcher").write_text("exec claude")  # what it starts is not known
    require_known_events(Tried(hooks=("Any=x.sh",)), Client(tmp_path, "launcher", "1"))
    path = write(tmp_path, *told(user("Hi"), reply("Hello.", id="m1")))
    with pytest.raises(Misuse):
        reread.rerun(path, client=client, hooks=["=x.sh"])


def test_names_in_files_that_the_client_lacks_are_noted(client: Client, tmp_path: Path) -> None:
    (tmp_path / "guard" / "hooks").mkdir(parents=True)
    (tmp_path / "guard" / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"Stopp": [], "Stop": []}}))
    settings = {"permissions": {"deny": [], "denny": []}, "hooks": {"Setup": [], "Setupp": []}, "permision": {}}
    tried = Tried(settings, plugins=(tmp_path / "guard", tmp_path / "none"))
    assert list(notes_on(tried, client, Said(), None)) == [
        "1.2.3 has no hook event 'Setupp', which the settings name.",
        f"1.2.3 has no hook event 'Stopp', which {tmp_path / 'guard'} names.",
        "1.2.3 has no setting 'permision'.",
        "1.2.3 has no setting 'denny'.",
    ]
    for value in ({}, {"permissions": "x", "hooks": []}, {"hooks": {"PreToolUse": 1}}):
        assert list(notes_on(Tried(value), client, Said(), None)) == []


def test_servers_and_hooks_that_failed_are_noted(client: Client) -> None:
    said = Said(start={"mcp_servers": [{"name": "x", "status": "failed"}, {"name": "y", "status": "connected"}, 1]})
    failed = {"hookName": "PreToolUse:Bash", "hookEvent": "PreToolUse", "stderr": "not\nfound", "exitCode": 127}
    played = read(
        *told(
            user("x"),
            reply(use("t1", command="ls"), id="m1"),
            attachment("hook_non_blocking_error", failed),
            attachment("hook_non_blocking_error", failed),
            attachment("hook_success", {"hookName": "Stop", "stderr": "fine", "exitCode": 0}),
            answer(result("t1", "a")),
        )
    )
    assert list(notes_on(Tried(), client, said, played)) == [
        "The MCP server x did not start.",
        "The hook PreToolUse:Bash failed: not found (2 times)",
    ]


ERRORS = [{"path": "permissions.deny", "message": "Expected array"}]
TAKEN: tuple[tuple[str, Said, str], ...] = (
    ("nothing is said", Said(), ""),
    ("all is taken", Said({"plugins": [{"path": "/reread/bin/plugin-0"}]}, SOURCES), ""),
    (
        "no settings",
        Said({}, {"sources": [], "errors": ERRORS}),
        "1.2.3 took none of the settings: permissions.deny: E",
    ),
    ("no settings, without a reason", Said({}, {"sources": []}), "1.2.3 took none of the settings"),
    ("no plug-in", Said({"plugins": []}), "1.2.3 did not load the plug-in p"),
    (
        "a plug-in with errors",
        Said({"plugins": [{}], "plugin_errors": [{"message": "corrupt\nmanifest"}, "x"]}),
        "1.2.3 did not load the plug-in p: corrupt manifest",
    ),
)


@pytest.mark.parametrize(("what", "said", "why"), TAKEN, ids=[row[0] for row in TAKEN])
def test_what_the_client_did_not_take_fails_the_play(what: str, said: Said, why: str, client: Client) -> None:
    found = not_taken(Tried(plugins=("p",)), client, said)
    assert found.startswith(why) and bool(found) == bool(why), what


def test_the_client_is_asked_for_its_settings_and_need_not_answer() -> None:
    lines: tuple[Any, ...] = (
        {"type": "system", "subtype": "init", "plugins": []},
        {"type": "control_response", "response": {"response": SOURCES}},
        {"type": "control_response", "response": {"response": {"other": 1}}},
        {"type": "control_response", "response": {"error": "what?"}},
        {"type": "result"},
    )
    said = "\n".join(map(json.dumps, lines))
    process = subprocess.Popen(
        ["sh", "-c", f"echo '{said}'; cat >/dev/null"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    driver = Driver(process, lambda asked: asked, seconds=20.0)
    driver.play([])
    assert driver.finish() == 0
    assert (driver.said.start["plugins"], driver.said.settings) == ([], SOURCES)
    driver.kill()
