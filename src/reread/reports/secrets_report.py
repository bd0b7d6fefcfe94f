"""The secrets in many sessions: by class, file and line."""

from __future__ import annotations

import hmac
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING

import msgspec

from reread.catalog.resolve import STDIN, resolve_session
from reread.disk import layout
from reread.disk.agent_files import agent_files
from reread.disk.layout import TOOL_RESULTS
from reread.disk.sources import FileSource, MemorySource, Source, read_all
from reread.errors import RereadError, naming_file
from reread.facts.scope import session_name
from reread.records.decode import RecordOrigin
from reread.redaction.findings import mask
from reread.redaction.literals import Literals
from reread.redaction.personal import Personal, own_names
from reread.redaction.rewrite import FileRedaction
from reread.redaction.scan import BINARY, SecretScanner
from reread.redaction.spans import LEVELS, PERSONAL, Span, leaves
from reread.storage.kept_file import read_whole

if TYPE_CHECKING:
    from reread.session.session import Session

Progress = Callable[[int], None]


class Secret(msgspec.Struct, frozen=True):
    """One place of a secret or a personal detail."""

    level: str
    """`certain`, `likely` or `personal`."""
    kind: str
    id: str
    """The same for the same value, in one report."""
    line: int
    """The line of the file; 0 if it is in the file's name."""
    mask: str
    """The value with nearly all of it hidden."""
    context: str
    """The text around it, masked too."""


class FileSecrets(msgspec.Struct):
    """The findings in one file."""

    path: str
    secrets: list[Secret]


class SecretsReport(msgspec.Struct):
    """The result of `reread share --check`."""

    files: list[FileSecrets]
    """The files in which something was found."""
    scanned: int
    """How many files were read."""
    totals: dict[str, int]
    """How much was found of each class."""
    faults: list[str]
    """The files that could not be read, each with the reason."""


def secrets(
    *sources: str | os.PathLike[str] | Session,
    personal: bool = False,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> SecretsReport:
    """Return the secrets in sessions, by file and line, masked.

    Without sources, scan all sessions of this machine, or those below `root`. A source is a session or a folder;
    agents' files and spilled results beside it are included. `personal` adds home folders, e-mail, phones, hosts,
    authors and remotes.
    """
    names = list(map(session_name, sources))
    if not sources:
        names += map(str, layout.session_folders([root] if isinstance(root, str | Path) else root))
    return secrets_report(names, root=root, personal=personal, progress=progress)


def secrets_report(
    paths: Sequence[str | Path],
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    personal: bool = False,
    progress: Progress | None = None,
) -> SecretsReport:
    """Scan sessions, files and folders, the agents' files and spilled results beside them included."""
    users, hosts = own_names()
    known = Personal(b"", users=users, hosts=hosts) if personal else None
    scanner = SecretScanner(known, Literals(known.known()) if known is not None else None)
    key = token_bytes(16)
    report = SecretsReport([], 0, dict.fromkeys(LEVELS, 0), [])
    for path in _files(paths, root):
        try:
            with naming_file(path):
                found = _scan(path, scanner, key)
        except RereadError as fault:
            report.faults.append(str(fault))
            continue
        report.scanned += 1
        report.totals = dict(
            Counter(report.totals) + Counter(secret.level for secrets in found.values() for secret in secrets)
        )
        if found:
            report.files += [FileSecrets(file, secrets) for file, secrets in found.items()]
        if progress is not None:
            progress(1)
    report.totals = {level: report.totals.get(level, 0) for level in LEVELS if level != PERSONAL or personal}
    return report


def _scan(path: Path, scanner: SecretScanner, key: bytes) -> dict[str, list[Secret]]:
    """Return what is in a file, by the file that has it: what it has dropped is in an earlier state of it."""
    found: dict[str, list[Secret]] = {}
    source = _open(path) if path.suffix == ".jsonl" or str(path) == STDIN else None
    joined = source.joined if isinstance(source, FileSource) else None

    def report(span: Span, line: int, context: str) -> None:
        if span.kind != BINARY:
            id = hmac.new(key, span.value.encode("utf-8", "replace"), "sha256").hexdigest()[:8]
            origin = joined.origin_of_line(line) if joined is not None and line else RecordOrigin(line, 0, None)
            secret = Secret(span.level, span.kind, id, origin.line, mask(span.value), context)
            found.setdefault(origin.state or str(path), []).append(secret)

    for span in leaves(scanner.find(path.name)):
        report(span, 0, "")
    if source is not None:
        FileRedaction(source, scanner, images=True).find(report)
        return found
    text = read_whole(path).decode("utf-8", "replace")
    for span in leaves(scanner.find(text)):
        report(span, text.count("\n", 0, span.start) + 1, "")
    return found


def _open(path: Path) -> Source:
    return MemorySource(read_all(sys.stdin.buffer)) if str(path) == STDIN else FileSource(path)


def _files(paths: Sequence[str | Path], root: str | Path | Sequence[str | Path] | None) -> Iterator[Path]:
    """Yield every file to scan, each once."""
    seen: set[str] = set()
    for name in paths:
        for path in _files_of(name, root):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path


def _spilled_below(folder: Path) -> list[Path]:
    """Return the files of tool results below a folder that do not lead out of it."""
    found = (file for file in folder.rglob(f"{TOOL_RESULTS}/*") if file.is_file())
    return sorted(layout.lying_in(found, folder))


def _files_of(name: str | Path, root: str | Path | Sequence[str | Path] | None) -> Iterator[Path]:
    if str(name) == STDIN:
        yield Path(STDIN)
        return
    path = layout.expand_path(name)
    if os.path.isdir(path):
        folder = layout.require_folder(path)
        yield from layout.transcripts_in(folder)
        yield from _spilled_below(folder)
        return
    session = resolve_session(name, root=root)
    yield session
    beside = session.with_suffix("")
    if os.path.isdir(beside):
        yield from layout.transcripts_in(beside)
        yield from _spilled_below(beside)
    yield from (path for path in agent_files(session, [session.stem]).values() if path.parent == session.parent)
