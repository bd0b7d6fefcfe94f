"""What must not be shared, over many sessions: by class, file and line."""

from __future__ import annotations

import hmac
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from reread.catalog.resolve import STDIN, resolve_session
from reread.disk import layout
from reread.disk.layout import TOOL_RESULTS
from reread.disk.regular import read_whole
from reread.disk.sources import FileSource, MemorySource, Source, read_all
from reread.errors import RereadError, naming_file
from reread.redaction.findings import mask
from reread.redaction.literals import Literals
from reread.redaction.personal import Personal, own_names
from reread.redaction.rewrite import FileRedaction
from reread.redaction.scan import BINARY, SecretScanner
from reread.redaction.spans import PERSONAL, SORTS, Span, leaves

Progress = Callable[[int], None]


class Secret(msgspec.Struct, frozen=True):
    """One place of a secret or a personal detail."""

    sort: str
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
    """What was found in one file."""

    path: str
    secrets: list[Secret]


class SecretsReport(msgspec.Struct):
    """The result of `reread secrets`."""

    files: list[FileSecrets]
    """The files in which something was found."""
    scanned: int
    """How many files were read."""
    totals: dict[str, int]
    """How much was found of each class."""
    faults: list[str]
    """The files that could not be read, each with the reason."""


def secrets_report(
    paths: Sequence[str | Path],
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    personal: bool = False,
    progress: Progress = lambda _: None,
) -> SecretsReport:
    """Scan sessions, files and folders, the agents' files and spilled results beside them included."""
    users, hosts = own_names()
    known = Personal(b"", users=users, hosts=hosts) if personal else None
    scanner = SecretScanner(known, Literals(known.known()) if known is not None else None)
    key = secrets.token_bytes(16)
    report = SecretsReport([], 0, dict.fromkeys(SORTS, 0), [])
    for path in _files(paths, root):
        try:
            with naming_file(path):
                found = _scan(path, scanner, key)
        except RereadError as fault:
            report.faults.append(str(fault))
            continue
        report.scanned += 1
        report.totals = dict(Counter(report.totals) + Counter(secret.sort for secret in found))
        if found:
            report.files.append(FileSecrets(str(path), found))
        progress(1)
    report.totals = {sort: report.totals.get(sort, 0) for sort in SORTS if sort != PERSONAL or personal}
    return report


def _scan(path: Path, scanner: SecretScanner, key: bytes) -> list[Secret]:
    found: list[Secret] = []

    def report(span: Span, line: int, context: str) -> None:
        if span.kind != BINARY:
            id = hmac.new(key, span.value.encode("utf-8", "replace"), "sha256").hexdigest()[:8]
            found.append(Secret(span.sort, span.kind, id, line, mask(span.value), context))

    for span in leaves(scanner.find(path.name)):
        report(span, 0, "")
    if path.suffix == ".jsonl" or str(path) == STDIN:
        FileRedaction(_open(path), scanner, images=True).find(report)
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
    yield from (path for path in layout.agent_files(session, [session.stem]).values() if path.parent == session.parent)
