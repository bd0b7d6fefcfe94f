"""The files that belong to a session: its transcript, its agents', captures, spilled results, metadata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from reread.disk.filenames import filename_for
from reread.disk.layout import CONVERSATIONS, PROJECTS, TOOL_RESULTS, spilled_files
from reread.session.session import Session, threads_of
from reread.storage.kept_file import file_exists

RECORDS, TEXT = "records", "text"


class SessionFile(msgspec.Struct, frozen=True):
    """One file of a session and where its copy goes."""

    path: Path | None
    """None for bytes that came from a stream."""
    name: str
    """Its name in the copy, relative to the folder of the copy."""
    content: str = RECORDS
    """`records`, or `text` for any other file."""
    role: str = "main"
    """`main`, `agent`, `transcript`, `capture` or `spilled`."""
    session: str = ""
    """The id of an agent."""


def files_to_share(session: Session, *, agents: bool = True) -> list[SessionFile]:
    """Return the files of a session, its own first."""
    if session.path is None:
        return [SessionFile(None, f"{PROJECTS}/shared/{filename_for(session.id or 'session')}.jsonl")]
    found = [SessionFile(session.path, _copy_name(session.path, is_captured=bool(session.transcripts)))]
    found += [
        SessionFile(other.path, _copy_name(other.path), role="transcript")
        for other in session.transcripts
        if other.path
    ]
    found += [SessionFile(path, _copy_name(path, is_captured=True), role="capture") for path in session.captures]
    owners = [session, *session.transcripts]
    for owner in owners if agents else ():
        found += _beside(owner)
    return list({file.path: file for file in found}.values())


def _copy_name(path: Path, *, is_captured: bool = False) -> str:
    if is_captured:
        return f"{CONVERSATIONS}/shared/shared/{path.name}"
    return f"{PROJECTS}/shared/{path.name}"


def _beside(session: Session) -> Iterator[SessionFile]:
    """Yield the files of a session's agents and its spilled results."""
    if session.path is None:
        return
    own = session.path.with_suffix("")
    base = f"{PROJECTS}/shared"
    for id, path in threads_of(session).agent_files().items():
        inside = path.is_relative_to(own)
        name = f"{base}/{session.path.stem}/{path.relative_to(own).as_posix()}" if inside else f"{base}/{path.name}"
        yield SessionFile(path, name, role="agent", session=id)
        meta = path.with_suffix(".meta.json")
        if file_exists(meta):
            yield SessionFile(meta, str(Path(name).with_suffix(".meta.json")), TEXT, "meta")
    for path in spilled_files(session.path):
        yield SessionFile(path, f"{base}/{session.path.stem}/{TOOL_RESULTS}/{path.name}", TEXT, "spilled")
