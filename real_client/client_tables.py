"""What a client names itself: types of records, hook events, tools, settings, from its program and its SDK.

Recordings show only what their scenarios make the client write. Its program is JavaScript in an executable, and has
tables of what it may write; the types of its packages have its tools and settings. `known_names.json` has the names of
the version that was looked at last, so that a new version shows what is new.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reread.records.types import ATTACHMENTS, RECORDS, SYSTEMS

KNOWN = Path(__file__).with_name("known_names.json")
TYPED: Mapping[str, Mapping[str, object]] = {"record": RECORDS, "system record": SYSTEMS, "attachment": ATTACHMENTS}
"""The names that reread has types for."""
WHERE = {
    "record": "a row or struct in src/reread/records/types/state.py, then scripts/make_types.py",
    "system record": "a row in src/reread/records/types/system.py, if it is written to transcripts or streams",
    "attachment": "a row in src/reread/records/types/attachments.py",
    "stream message": "src/reread/records/types/stream.py and stream_system.py",
    "hook event": "docs/plugin.md and plugin/hooks, if reread should use it",
    "field of a tool": "its struct in src/reread/tools/, and what of it is shown",
    "setting": "src/reread/disk/client_settings.py, if it moves, hides or deletes sessions",
}
"""Each kind of name, and where reread would learn of one."""
# What becomes of each type of record when a transcript is made shorter, and which texts an attachment has.
_RECORD_TABLE = re.compile(rb'\{(?:"?[A-Za-z][\w-]*"?:"[a-z-]+",){15,}"?[A-Za-z][\w-]*"?:"[a-z-]+"\}')
_HOOK_EVENTS = re.compile(rb'\["PreToolUse"(?:,"[A-Za-z]+")+\]')
_SYSTEM = re.compile(rb'type:"system",subtype:"([a-z_]+)"')
_ATTACHMENT = re.compile(rb'(?:attachment:\{type:|attachment\.type===)"([a-z_]+)"')
_TEXTS = re.compile(rb'(?:\["\w+",\[(?:"[\w.*]+",?)+\]\],?){10,}')
_MESSAGES = re.compile(r"type SDKMessage =([^;]+);")
_BLOCK = re.compile(r"^export (?:declare )?(?:interface|type) (\w+)(?: =)? \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def names_of(client: Path, sdk: Path) -> dict[str, set[str]]:
    """Return what a client names, by kind: `client` is its program, `sdk` the folder of its Agent SDK."""
    program, types = client.read_bytes(), (sdk / "sdk.d.ts").read_text()
    fields = {
        f"{name}.{field}" for name, body in _blocks((sdk / "sdk-tools.d.ts").read_text()) for field in _fields(body)
    }
    return {
        "record": set(_keys(_RECORD_TABLE, b'"custom-title":', rb'"?([A-Za-z][\w-]*)"?:"', program)),
        "system record": _matches(_SYSTEM, program),
        "attachment": _matches(_ATTACHMENT, program)
        | set(_keys(_TEXTS, b'"hook_additional_context"', rb'\["(\w+)",\[', program)),
        "stream message": set(re.findall(r"\w+", "".join(_MESSAGES.findall(types)))),
        "hook event": {name for table in _HOOK_EVENTS.findall(program) for name in re.findall(r"\w+", table.decode())},
        "field of a tool": fields,
        "setting": {field for name, body in _blocks(types) if name == "Settings" for field in _fields(body)},
    }


def compare(names: Mapping[str, set[str]], known: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """Return what is new and what is gone, each as a line that says where to look."""
    new, gone = list[str](), list[str]()
    for kind, found in names.items():
        if not found:
            new.append(f"No {kind} was found: the client writes its tables in another way; mend client_tables.py")
        looked_at = {*known.get(kind, ()), *TYPED.get(kind, ())}
        new += [f"{kind} `{name}`: {WHERE[kind]}" for name in sorted(found - looked_at)]
        gone += [f"{kind} `{name}`" for name in sorted(set(known.get(kind, ())) - found)] if found else []
    return new, gone


def read_known() -> dict[str, list[str]]:
    """Return the names of the version that was looked at last."""
    return {kind: words.split() for kind, words in json.loads(KNOWN.read_text()).items() if kind != "version"}


def write_known(version: str, names: Mapping[str, set[str]]) -> None:
    """Remember the names of a version that was looked at."""
    value = {"version": version, **{kind: " ".join(sorted(found)) for kind, found in names.items()}}
    KNOWN.write_text(json.dumps(value, indent=1) + "\n")


def _keys(tables: re.Pattern[bytes], mark: bytes, key: bytes, program: bytes) -> Iterator[str]:
    """Yield the names in the tables that have one that all such tables have."""
    for table in tables.findall(program):
        if mark in table:
            yield from (name.decode() for name in re.findall(key, table))


def _matches(pattern: re.Pattern[bytes], program: bytes) -> set[str]:
    return {name.decode() for name in pattern.findall(program)}


def _blocks(types: str) -> Iterator[tuple[str, str]]:
    yield from _BLOCK.findall(types)


def _fields(body: str) -> list[str]:
    """Return the names of the fields of an interface, without those of objects in it."""
    depth = min((len(line) - len(line.lstrip()) for line in body.splitlines() if line.strip()), default=0)
    return re.findall(rf"^ {{{depth}}}(\w+)\??:", body, re.MULTILINE)
