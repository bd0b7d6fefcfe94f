"""A new session that ends after a turn of another: the same records under an id of its own.

The client finds its way through a transcript by `parentUuid`, from the last record to the first. So of the branch that
is wanted, every record up to the end of the turn is taken over as it is, but for the session's id and its slug, which
names its plans; uuids stay, and plans are copied, as in the client's own forks. Left out are the records of other
branches, calls that have no result, and state that speaks of what is left out: where the session was to go on, what
waited to be sent, the file backups of later prompts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reread.archive.plans import PLANS, plan_slug
from reread.archive.source_files import FILE_HISTORY
from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.disk.layout import SUBAGENTS, TOOL_RESULTS
from reread.errors import Misuse
from reread.handover.session_files import LocatedFile, files_of
from reread.model.conversation import Agent, Branch
from reread.model.tree import no_path_text
from reread.records.decode import Record
from reread.session.places import no_turn_text
from reread.session.session import Session

LEFT_OUT = frozenset({"last-prompt", "queue-operation"})
"""State of what comes next: the record to go on from, and prompts that wait."""
SESSION_FIELDS = ("sessionId", "session_id", "parentSessionId")
_SPILLED = re.compile(rb"tool-results[/\\]+([\w.@-]+)", re.ASCII)
_BACKUP = re.compile(rb'"backupFileName"\s*:\s*"([\w@.-]+)"', re.ASCII)
_Fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class CutFile(NamedTuple):
    """A file of the new session that is made from one of the other."""

    source: LocatedFile
    new_id: str
    ids: frozenset[str]
    """The ids of the session that it is cut from."""
    lines: Sequence[bytes] | None = None
    """The lines to write; by default those of the source."""

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def in_project(self) -> bool:
        return self.source.in_project

    def pieces(self) -> Iterator[bytes]:
        """Yield its bytes: whole records, each with the new id."""
        rest = b""
        for piece in self.lines if self.lines is not None else self.source.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield with_slug(with_session(line, self.ids, self.new_id), self.new_id) + b"\n"
        if rest:
            yield with_slug(with_session(rest, self.ids, self.new_id), self.new_id)


def cut_at_turn(
    session: Session, transcript: Path, turn: int, branch: int | None, new_id: str
) -> list[LocatedFile | CutFile]:
    """Return the files of a new session that ends after a turn, its transcript first."""
    chosen = _branch(session, branch)
    turns = chosen.turns
    if not 1 <= turn <= len(turns):
        raise Misuse(no_turn_text(turn, len(turns), branch))
    end = turns[turn].messages[0].records[0] if turn < len(turns) else len(session.records)
    kept = _kept(session, chosen, end)
    ids = frozenset({*session.ids, session.id, transcript.name.split(".")[0]})
    main, *others = files_of(transcript)
    files: list[LocatedFile | CutFile] = [CutFile(main, new_id, ids, [record + b"\n" for record in kept.lines])]
    agents = {os.path.realpath(agent.path): agent for agent in session.agents.values() if agent.path is not None}
    wanted = {path for path, agent in agents.items() if _is_of(agent, kept)}
    named, backups = set(_SPILLED.findall(b"\n".join(kept.lines))), set(_BACKUP.findall(b"\n".join(kept.lines)))
    for file in others:
        stem = file.path.removesuffix(".meta.json").removesuffix(".jsonl")
        if os.path.realpath(f"{stem}.jsonl") in wanted:
            files.append(CutFile(file, new_id, ids) if file.path.endswith(".jsonl") else file)
            if file.path.endswith(".jsonl"):
                named |= {name for piece in file.pieces() for name in _SPILLED.findall(piece)}
    runs = {os.path.split(path)[0] for path in wanted if f"{os.sep}workflows{os.sep}" in path}
    for file in others:
        parts = Path(file.name).parts
        if parts[0] == FILE_HISTORY and not file.in_project:
            is_wanted = os.fsencode(parts[-1]) in backups
        elif TOOL_RESULTS in parts:
            is_wanted = os.fsencode(parts[-1]) in named
        elif SUBAGENTS in parts:
            is_wanted = parts[-1] == "journal.jsonl" and os.path.realpath(os.path.split(file.path)[0]) in runs
        else:
            is_wanted = parts[0] == PLANS and not file.in_project
            slug = plan_slug(parts[-1]) or ""
            file = file._replace(name=os.path.join(PLANS, new_slug(slug, new_id) + parts[-1].removeprefix(slug)))
        if is_wanted:
            files.append(file)
    return files


class _KeptRecords(NamedTuple):
    lines: list[bytes]
    uuids: set[str]
    calls: set[str]


def _branch(session: Session, number: int | None) -> Branch:
    if number is None:
        return session.branches[0]
    found = next((branch for branch in session.branches if branch.id == number), None)
    if found is None:
        raise Misuse(no_path_text([branch.id for branch in session.branches], number))
    return found


def _kept(session: Session, branch: Branch, end: int) -> _KeptRecords:
    """Return the records of a branch before some record, that are whole and speak of nothing later."""
    tree = session.conversation.tree
    taken = [n for n in range(end) if tree.is_on(n, branch.id) and session.records[n].type != "malformed"]
    while taken and session.records[taken[-1]].envelope.uuid is None:
        taken.pop()  # state of the next turn
    records = [session.records[n] for n in taken]
    values = [record.native for record in records]
    results = {id for value in values for id in _block_ids(value, "tool_result", "tool_use_id")}
    uuids = {as_str(value.get("uuid")) for value in values} - {None}
    parents: dict[str, str | None] = {}
    """The nearest record above each one that is left out."""
    lines: list[bytes] = []
    calls: set[str] = set()
    for record, value in zip(records, values, strict=True):
        made = set(_block_ids(value, "tool_use", "id"))
        line = record.raw.strip()
        if record.type in LEFT_OUT or _speaks_of_others(value, uuids):
            continue
        if made - results:
            line = _without_calls(record, made - results) or b""
            if not line:
                parents[as_str(value.get("uuid")) or ""] = as_str(value.get("parentUuid"))
                continue
        calls |= made & results
        lines.append(_below(line, as_str(value.get("parentUuid")), parents))
    return _KeptRecords(lines, {uuid for uuid in uuids if uuid and uuid not in parents}, calls)


def _block_ids(value: dict[str, Any], kind: str, field: str) -> Iterator[str]:
    for block in as_list(as_dict(value.get("message")).get("content")):
        found = as_dict(block)
        id = as_str(found.get(field))
        if found.get("type") == kind and id:
            yield id


def _speaks_of_others(value: dict[str, Any], uuids: set[str | None]) -> bool:
    """True for state about a record that is left out."""
    about = value.get("messageId") or (value.get("leafUuid") if value.get("type") == "summary" else None)
    return value.get("uuid") is None and isinstance(about, str) and about not in uuids


def _without_calls(record: Record, ids: set[str]) -> bytes | None:
    """Return a record without some calls; None if it has nothing else."""
    value = record.value
    message = as_dict(as_dict(value).get("message"))
    blocks = [block for block in as_list(message.get("content")) if as_dict(block).get("id") not in ids]
    if not blocks or not isinstance(value, dict):
        return None
    return jsontext.dumps({**value, "message": {**message, "content": blocks}})


def _below(line: bytes, parent: str | None, left_out: dict[str, str | None]) -> bytes:
    """Return a record, below the nearest one that is taken over."""
    if parent is None or parent not in left_out:
        return line
    above = parent
    seen: set[str] = set()
    while above is not None and above in left_out and above not in seen:
        seen.add(above)
        above = left_out[above]
    return _with_fields(line, {"parentUuid": jsontext.dumps(above)})


def _is_of(agent: Agent, kept: _KeptRecords) -> bool:
    """True if an agent was started by a call that is taken over, or by an agent that was."""
    top, seen = agent, {agent.id}
    while top.parent is not None and top.parent.id not in seen:
        top = top.parent
        seen.add(top.id)
    return (top.call is not None and top.call.id in kept.calls) or top.parent_uuid in kept.uuids


def with_session(line: bytes, ids: frozenset[str], new_id: str) -> bytes:
    """Return a record that names another session; whatever it says inside stays as it is."""
    if not any(os.fsencode(id) in line for id in ids):
        return line
    fields = _fields(line)
    known = {name: fields[name].strip() for name in SESSION_FIELDS if name in fields}
    quoted = {jsontext.dumps(id) for id in ids}
    changed = {name: jsontext.dumps(new_id) for name, value in known.items() if value in quoted}
    return _with_fields(line, changed) if changed else line


def new_slug(slug: str, new_id: str) -> str:
    """Return the slug of a new session: that of the other, and a part of the new id."""
    return f"{slug}-{new_id[:8]}"


def with_slug(line: bytes, new_id: str) -> bytes:
    """Return a record whose slug is that of the new session; a session without plans has one, too."""
    if b'"slug"' not in line:
        return line
    slug = _fields(line).get("slug", b"").strip()
    found = jsontext.loads(slug) if slug.startswith(b'"') else None
    return _with_fields(line, {"slug": jsontext.dumps(new_slug(found, new_id))}) if found else line


def _fields(line: bytes) -> dict[str, bytes]:
    """Return the fields of an object, each as written; of one that is not strict JSON, as it reads: NaN as null."""
    try:
        return {name: bytes(raw) for name, raw in _Fields.decode(line).items()}
    except jsontext.DECODE_ERRORS:
        pass
    try:
        return {name: jsontext.dumps(value) for name, value in as_dict(jsontext.loads(line)).items()}
    except ValueError:  # no JSON at all
        return {}


def _with_fields(line: bytes, changes: dict[str, bytes]) -> bytes:
    """Return an object with other values of some of its own fields; the bytes of all others stay."""
    fields = _fields(line) | changes
    written = b",".join(jsontext.dumps(name) + b":" + raw for name, raw in fields.items())
    return b"{" + written + (b"}\r" if line.endswith(b"\r") else b"}")
