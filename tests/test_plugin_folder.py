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
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("reread", __version__)
    (listed,) = json.loads((HOME / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert listed["name"] == manifest["name"]
    assert (HOME / listed["source"]).resolve() == PLUGIN.resolve()


def test_the_hooks_are_those_that_keep_suggests() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert hooks == json.loads(timers.hooks(None))["hooks"]


def test_the_server_and_the_commands_of_the_skill_exist() -> None:
    context = click.Context(reread)
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["reread"]
    skill = (PLUGIN / "skills" / "past-sessions" / "SKILL.md").read_text()
    lines = re.findall(r"(?:^|`)reread ([a-z].*?)(?:`|$)", skill, re.MULTILINE)
    assert len(lines) > 8
    for words in (server["args"], *map(shlex.split, lines)):
        verb = reread.get_command(context, words[0])
        assert verb is not None, words
        known = {name for option in verb.params for name in option.opts}
        assert {word for word in words[1:] if re.match(r"--?[a-z]", word)} <= known, words
