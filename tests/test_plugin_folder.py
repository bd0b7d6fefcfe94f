"""The plug-in for Claude Code: its files fit what reread is; `tests_formats` has the real client install it."""

import json
import re
import shlex
from pathlib import Path

import click

from reread.archive import timers
from reread.base.version import __version__
from reread.cli import reread

HOME = Path(__file__).parent.parent
PLUGIN = HOME / "plugin"


def test_the_manifests_name_this_version_and_folder() -> None:
    listed = json.loads((HOME / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert [one["name"] for one in listed] == ["reread", "reread-mcp", "reread-keep", "reread-statusline"]
    assert (HOME / listed[0]["source"]).resolve() == PLUGIN.resolve()
    for one in listed:
        manifest = json.loads((HOME / one["source"] / ".claude-plugin" / "plugin.json").read_text())
        assert (manifest["name"], manifest["version"]) == (one["name"], __version__)


def test_each_part_of_the_whole_can_be_chosen_alone() -> None:
    parts = PLUGIN / "parts"
    whole = {path.relative_to(PLUGIN): path.read_bytes() for path in PLUGIN.rglob("*") if path.is_file()}
    chosen = [path for path in parts.rglob("*") if path.is_file() and ".claude-plugin" not in path.parts]
    content = {path.relative_to(parts / path.relative_to(parts).parts[0]): path.read_bytes() for path in chosen}
    assert len(content) == len(chosen), "a file belongs to one part"
    own = {name: data for name, data in whole.items() if name.parts[0] not in ("parts", ".claude-plugin")}
    assert content == own


def test_the_hooks_are_those_that_keep_suggests() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert hooks == json.loads(timers.hooks(None))["hooks"]


def test_the_server_and_the_commands_of_the_skill_exist() -> None:
    context = click.Context(reread)
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["reread"]
    texts = [PLUGIN / "skills" / "past-sessions" / "SKILL.md", PLUGIN / "commands" / "statusline.md"]
    skill = "\n".join(path.read_text() for path in texts)
    lines = re.findall(r"(?:^|`)reread ([a-z].*?)(?:`|$)", skill, re.MULTILINE)
    assert len(lines) > 8
    for words in (server["args"], *map(shlex.split, lines)):
        verb = reread.get_command(context, words[0])
        assert verb is not None, words
        known = {name for option in verb.params for name in option.opts}
        assert {word for word in words[1:] if re.match(r"--?[a-z]", word)} <= known, words
