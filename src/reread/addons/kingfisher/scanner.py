"""Kingfisher as a second scanner: MongoDB's, with some 500 rules, if `kingfisher-bin` is installed.

It gets the decoded texts in a private folder, and is told to validate nothing and to look for no updates, so that
nothing leaves the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.errors import Unreadable
from reread.redaction.redactor import Engine
from reread.redaction.spans import CERTAIN, LIKELY, Span

PROGRAM = "kingfisher"
VARIABLE, OFF = "REREAD_KINGFISHER", "off"
OFFLINE = ("--no-validate", "--no-update-check", "--git-history", "none", "--no-ignore", "--quiet", "--format", "jsonl")
FOUND = (0, 200, 205)
"""How it exits without and with findings."""
LIMIT_SECONDS = 600
SHORTEST = 8
FILE_CHARACTERS = 4_000_000
"""How much text goes into one file."""


def find_kingfisher() -> str | None:
    """Return the path of the program: as REREAD_KINGFISHER names it, beside this Python, or where programs are.

    None if it is not installed, or switched off with REREAD_KINGFISHER=off.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return named if named != OFF else None
    beside = Path(sys.executable).with_name(PROGRAM)
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM)


def kingfisher_secrets(texts: Iterable[str]) -> Iterator[Span]:
    """Yield the secrets that Kingfisher finds in some texts, each value once."""
    program = find_kingfisher()
    if program is None:
        return
    with tempfile.TemporaryDirectory(prefix="reread-") as folder:
        _write_texts(texts, Path(folder))
        try:
            done = subprocess.run(
                [program, "scan", folder, *OFFLINE], capture_output=True, check=False, timeout=LIMIT_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unreadable(f"Cannot run {program}: {error}; remove it to use reread's own rules alone.") from error
    if done.returncode not in FOUND:
        reason = done.stderr.decode("utf-8", "replace").strip()[-200:]
        raise Unreadable(f"{program} failed with exit code {done.returncode}: {reason}")
    seen: set[str] = set()
    for line in done.stdout.splitlines():
        span = _span(line)
        if span is not None and span.value not in seen:
            seen.add(span.value)
            yield span


def _write_texts(texts: Iterable[str], folder: Path) -> None:
    pieces: list[str] = []
    size = number = 0

    def flush() -> None:
        (folder / f"{number}.txt").write_text("\n".join(pieces), "utf-8", "replace")

    for text in texts:
        pieces.append(text.replace("\x1e", " = ").replace("\x1f", "\n"))
        size += len(text)
        if size >= FILE_CHARACTERS:
            flush()
            pieces, size, number = [], 0, number + 1
    flush()


def _span(line: bytes) -> Span | None:
    """Return what a line of the report says; what it is sure of is certain, the rest is to be decided about."""
    try:
        report: Any = msgspec.json.decode(line)
    except jsontext.DECODE_ERRORS:
        return None
    rule, finding = as_dict(as_dict(report).get("rule")), as_dict(as_dict(report).get("finding"))
    value = finding.get("snippet")
    if not isinstance(value, str) or len(value) < SHORTEST:
        return None
    name = "".join(c if c.isalnum() else "-" for c in str(rule.get("name", PROGRAM)).lower()).strip("-")
    is_sure = finding.get("confidence") == "high" and "generic" not in name
    return Span(0, 0, value, name[:60] or PROGRAM, CERTAIN if is_sure else LIKELY)


def installed_engine() -> Engine | None:
    """Return the scanner, if this machine has it."""
    return kingfisher_secrets if find_kingfisher() is not None else None
