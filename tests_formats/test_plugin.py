"""The plug-in in the real client, which runs in a sandbox against a stub of the API: `real_client/box.py`."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
HOME = HERE.parent
sys.path.insert(0, str(HOME / "real_client"))

from box import in_box, install, reason_not_to  # noqa: E402
from scenarios import END, turn, use  # noqa: E402

VERSION = os.environ.get("REREAD_CLAUDE_VERSION", "latest")
pytestmark = [
    pytest.mark.skipif(bool(reason_not_to()), reason=reason_not_to() or "never"),
    pytest.mark.timeout(600),
]
PRINT = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]


def in_client(scratch: Path, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run commands of the client, which finds reread, and return what it answered."""
    program = scratch / "bin" / "reread"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec env PYTHONPATH={HOME / "src"} {sys.executable} -m reread "$@"\n')
    program.chmod(0o755)
    client = install(VERSION, Path(tempfile.gettempdir()) / f"reread-claude-{VERSION}")
    direct = {"ENABLE_TOOL_SEARCH": "false"}  # the stub calls the server's tool at once
    own = {**direct, "REREAD_HOME": str(scratch / "store"), "REREAD_CACHE": str(scratch / "cache")}
    install_it = [turn(use("Bash", command="reread statusline --install --yes")), END]
    return in_box(client, scratch, [{**run, "environment": own} for run in runs], [HOME], {"setup": install_it})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the client answered: the plug-in is checked, installed, listed and used."""
    scratch = tmp_path_factory.mktemp("plugin")
    runs = [
        ["plugin", "validate", str(HOME / "plugin")],
        ["plugin", "validate", str(HOME)],
        ["plugin", "marketplace", "add", str(HOME)],
        ["plugin", "install", "reread@reread"],
        ["plugin", "list"],
        ["-p", "Hello. [[SCN:plain]]", *PRINT],
        ["-p", "Hello again. [[SCN:plugin]]", *PRINT],
    ]
    answers = in_client(scratch, [{"words": words} for words in runs])
    kept = sorted(path.name for path in (scratch / "store").rglob("*.zst"))
    return [*answers, {"code": 0, "out": json.dumps(kept), "err": ""}]


def test_it_is_valid_and_installed(done: list[dict[str, Any]]) -> None:
    for answer in done[:5]:
        assert answer["code"] == 0, answer
    assert "reread" in done[4]["out"]


def records(answer: dict[str, Any]) -> list[dict[str, Any]]:
    assert answer["code"] == 0, answer
    return [json.loads(line) for line in answer["out"].splitlines()]


def test_the_client_finds_the_skill_and_the_server(done: list[dict[str, Any]]) -> None:
    init = next(record for record in records(done[5]) if record.get("subtype") == "init")
    assert "reread" in [plugin["name"] for plugin in init["plugins"]]
    assert "reread:past-sessions" in init["skills"]
    assert {"plugin:reread:reread"} <= {server["name"] for server in init["mcp_servers"]}


def test_an_agent_searches_earlier_sessions_and_not_its_own(done: list[dict[str, Any]]) -> None:
    results = [
        block
        for record in records(done[6])
        if record.get("type") == "user"
        for block in record["message"]["content"]
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    assert len(results) == 2, done[6]["out"][-3000:]
    text = json.dumps(results[1]["content"], ensure_ascii=False)
    assert "Hello. [[SCN:plain]]" in text
    assert "Hello again" not in text
    assert not results[1].get("is_error")


def test_its_hooks_keep_sessions(done: list[dict[str, Any]]) -> None:
    assert any(name.endswith(".jsonl.zst") for name in json.loads(done[7]["out"]))


@pytest.mark.parametrize("part", ["reread-mcp", "reread-keep", "reread-statusline"])
def test_each_part_can_be_chosen_alone(part: str, tmp_path: Path) -> None:
    runs: list[dict[str, Any]] = [
        {"words": ["plugin", "marketplace", "add", str(HOME)]},
        {"words": ["plugin", "install", f"{part}@reread"]},
        {"words": ["-p", "Hello. [[SCN:plain]]", *PRINT]},
    ]
    if part == "reread-statusline":
        runs += [
            {"words": ["-p", "/reread-statusline:statusline [[SCN:setup]]", *PRINT]},
            {"words": [], "until": "context 0%", "timeout": 60},
        ]
    added, installed, said, *others = in_client(tmp_path, runs)
    assert (added["code"], installed["code"]) == (0, 0), (added, installed)
    init = next(record for record in records(said) if record.get("subtype") == "init")
    found = {
        "reread-mcp": "plugin:reread-mcp:reread" in [server["name"] for server in init["mcp_servers"]],
        "reread-keep": bool(list((tmp_path / "store").rglob("*.jsonl.zst"))),
        "reread-statusline": "reread-statusline:statusline" in init["slash_commands"],
    }
    assert found == {name: name == part for name in found}, init
    assert [screen["code"] for screen in others] == [0] * len(others), others
