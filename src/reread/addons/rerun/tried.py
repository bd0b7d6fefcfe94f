"""What is tried with a session that is played again, and whether the client took it."""

from __future__ import annotations

import mmap
import os
import re
import shlex
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from reread.addons.rerun.box import TOP
from reread.addons.rerun.clients import Client
from reread.addons.rerun.driver import Said
from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.text import one_line, plural
from reread.errors import Misuse, Unreadable
from reread.model.hooks import has_failed
from reread.session.session import Session
from reread.storage.kept_file import read_whole
from reread.storage.safe_open import open_plain

Object = dict[str, Any]
PRE_TOOL_USE = "PreToolUse"
_EVENTS = b'["PreToolUse",'
_TABLE = re.compile(rb'\["PreToolUse"(?:,"[A-Za-z]{1,60}"){1,200}\]')
"""How the program of a client lists hook events."""
OF_A_PLUGIN = Path("hooks", "hooks.json")
USER = "userSettings"


class Tried(msgspec.Struct, frozen=True):
    """What is different from the record."""

    settings: Mapping[str, Any] | str | Path | None = None
    claude_md: str | Path | None = None
    hooks: tuple[str | Path, ...] = ()
    plugins: tuple[str | Path, ...] = ()
    mcp_config: str | Path | None = None
    system_prompt: str | None = None
    model: str | None = None


def require_known_events(tried: Tried, client: Client) -> None:
    """Raise Misuse if a hook is for an event that the client does not have: it would be passed over without a word."""
    asked = [event for given in tried.hooks if (event := event_and_path(given)[0]) != PRE_TOOL_USE]
    known = hook_events(client) if asked else ()
    for event in asked if known else ():
        if event not in known:
            others = dict.fromkeys([*get_close_matches(event, known, n=3, cutoff=0.4), *known])
            raise Misuse(f"{client.version} has no hook event {event!r}; it has {', '.join(others)}.")


@cache
def hook_events(client: Client) -> Sequence[str]:
    """Return the hook events that a client has, from the longest list in its program; none if that has no list."""
    longest: bytes = b""
    with _program(client) as program:
        at = program.find(_EVENTS)
        while at >= 0:
            found = _TABLE.match(program, at)
            longest = max(longest, found.group() if found else b"", key=len)
            at = program.find(_EVENTS, at + 1)
    return tuple(re.findall(r"\w+", longest.decode()))


@contextmanager
def _program(client: Client) -> Generator[mmap.mmap | bytes]:
    """Give the bytes of a client's program, which are many."""
    with open_plain(client.folder / client.program) as file:
        if not os.fstat(file.fileno()).st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as program:
            yield program


def event_and_path(given: str | Path) -> tuple[str, Path]:
    """Return the event of a hook, and where its program is."""
    event, equals, path = str(given).partition("=")
    return (event, Path(path).expanduser()) if equals else (PRE_TOOL_USE, Path(given).expanduser())


def settings_of(tried: Tried, own: Path) -> Object:
    """Return the settings to try, with the hooks, whose programs are copied to a folder of the box."""
    settings = dict(_settings(tried.settings))
    for number, given in enumerate(tried.hooks):
        event, source = event_and_path(given)
        place = own / f"hook-{number}"
        place.mkdir()
        target = place / source.name
        target.write_bytes(file_bytes(source))
        target.chmod(0o755)
        command = shlex.quote(f"{TOP}/bin/{place.name}/{source.name}")
        events = dict(as_dict(settings.get("hooks")))
        events[event] = [*as_list(events.get(event)), {"hooks": [{"type": "command", "command": command}]}]
        settings["hooks"] = events
    return settings


def _settings(given: Mapping[str, Any] | str | Path | None) -> Mapping[str, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    try:
        value = jsontext.loads_clean(file_bytes(given))
    except ValueError:
        raise Misuse(f"{given} is no JSON.") from None
    if not isinstance(value, dict):
        raise Misuse(f"{given} has no settings: it is no JSON object.")
    return as_dict(value)


def file_bytes(path: str | Path) -> bytes:
    """Return what is in a file that was named."""
    try:
        return read_whole(path)
    except OSError as error:
        raise Unreadable.at(path, error) from error


def not_taken(tried: Tried, client: Client, said: Said) -> str:
    """Return why a play says nothing of what was tried: the client did not take it; empty if it took all."""
    sources = said.settings.get("sources")
    if isinstance(sources, list) and all(as_dict(one).get("source") != USER for one in as_list(sources)):
        return f"{client.version} took none of the settings{_reasons(said.settings)}"
    loaded = said.start.get("plugins")
    if isinstance(loaded, list):
        paths = {as_str(as_dict(one).get("path")) for one in as_list(loaded)}
        for number, plugin in enumerate(tried.plugins):
            if f"{TOP}/bin/plugin-{number}" not in paths:
                errors = (as_str(as_dict(one).get("message")) or "" for one in as_list(said.start.get("plugin_errors")))
                why = "; ".join(one_line(error) for error in errors)
                return f"{client.version} did not load the plug-in {plugin}{': ' + why if why else ''}"
    return ""


def _reasons(settings: Object) -> str:
    errors = map(as_dict, as_list(settings.get("errors")))
    said = [": ".join(filter(None, (as_str(one.get("path")), as_str(one.get("message"))))) for one in errors]
    return f": {one_line('; '.join(said))}" if said else ""


def notes_on(tried: Tried, client: Client, said: Said, played: Session | None) -> Iterator[str]:
    """Yield what had no effect, or not the one that was meant: names that the client lacks, and what failed in it."""
    settings = _settings(tried.settings)
    yield from _unknown_events(client, settings, "the settings name")
    for plugin in tried.plugins:
        yield from _unknown_events(client, _hooks_of(Path(plugin)), f"{plugin} names")
    names = [*settings, *as_dict(settings.get("permissions"))]
    if names and hook_events(client):
        with _program(client) as program:
            for name in names:
                if program.find(name.encode("utf-8", "replace")) < 0:
                    yield f"{client.version} has no setting {name!r}."
    for server in map(as_dict, as_list(said.start.get("mcp_servers"))):
        if server.get("status") == "failed":
            yield f"The MCP server {server.get('name')} did not start."
    failed = Counter(_failed_hooks(played) if played is not None else ())
    for what, count in failed.items():
        yield f"{what} ({plural(count, 'time')})"


def _unknown_events(client: Client, hooked: Mapping[str, Any], who: str) -> Iterator[str]:
    events = as_dict(hooked.get("hooks")).keys() - {PRE_TOOL_USE}
    for event in sorted(events.difference(hook_events(client))) if events and hook_events(client) else ():
        yield f"{client.version} has no hook event {event!r}, which {who}."


def _hooks_of(plugin: Path) -> Object:
    try:
        return as_dict(jsontext.loads_clean(read_whole(plugin / OF_A_PLUGIN)))
    except (OSError, ValueError):  # it has none, or the client says what is wrong with it
        return {}


def _failed_hooks(played: Session) -> Iterator[str]:
    for conversation in (played, *played.agents.values()):
        for record in conversation.records:
            if record.type == "attachment" and b'"hook_' in record.body:
                payload = as_dict(record.native.get("attachment"))
                if has_failed(payload):
                    name, error = as_str(payload.get("hookName")) or "", as_str(payload.get("stderr")) or ""
                    yield one_line(f"The hook {name} failed: {error}")
