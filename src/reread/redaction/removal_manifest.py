"""The list of what was removed from a shared document, and the private map that undoes it."""

from __future__ import annotations

import hashlib
import json
import os

import msgspec

from reread.base.version import __version__
from reread.errors import NotFound
from reread.redaction.decisions import DecisionStore, PrivateMap
from reread.redaction.findings import KEEP, SensitiveText
from reread.redaction.omissions import Omission
from reread.redaction.output_scan import rewrite_document
from reread.redaction.redactor import Redactor
from reread.redaction.rewrite import DropCounts


class Removal(msgspec.Struct, frozen=True):
    """One value that was replaced or kept; never the value itself."""

    level: str
    kind: str
    replacement: str | None
    """None if it was kept."""
    count: int


class RemovalManifest(msgspec.Struct, frozen=True):
    """The values removed from a session before it was shared."""

    reread: str
    session: str
    format: str
    document: str
    """The SHA-256 of the document, or of all files of a folder."""
    removed: list[Removal]
    kept: list[Removal]
    """The findings that were kept because someone decided so."""
    omitted: Omission
    """Pictures, signatures and ids that were left out."""
    dropped: DropCounts
    """Lines that could not be read and were left out."""


def make_manifest(redactor: Redactor, form: str, document: bytes) -> RemovalManifest:
    """Return the manifest of a finished document."""
    findings = redactor.findings
    return RemovalManifest(
        reread=__version__,
        session=redactor.session.id,
        format=form,
        document=digest_of(document),
        removed=[_removed(finding, redactor.replaced[finding.id]) for finding in findings if finding.decision != KEEP],
        kept=[Removal(each.level, each.kind, None, each.count) for each in findings if each.decision == KEEP],
        omitted=redactor.omitted,
        dropped=redactor.dropped,
    )


def _removed(finding: SensitiveText, count: int) -> Removal:
    return Removal(finding.level, finding.kind, finding.replacement, count)


def digest_of(document: bytes) -> str:
    """Return what identifies a finished document."""
    return hashlib.sha256(document).hexdigest()


def keep_private_map(redactor: Redactor, document: bytes) -> None:
    """Keep what each replacement stood for, on this machine and for its owner only."""
    originals: dict[str, str] = {}
    for finding in redactor.findings:
        value = redactor.value_of(finding.id)
        if value is not None and finding.decision != KEEP:
            originals.setdefault(finding.replacement, value)
    path = os.path.abspath(redactor.session.path) if redactor.session.path is not None else ""  # noqa: PTH100
    redactor.store.keep_map(digest_of(document), PrivateMap(originals, redactor.session.id, path))


def undo(document: bytes, store: DecisionStore | None = None) -> bytes:
    """Return a document with what was replaced put back; raise NotFound if it was not made on this machine."""
    store = store or DecisionStore()
    found = store.read_map(digest_of(document))
    if found is None:
        raise NotFound("No private map for this file: it was changed, or not made on this machine.")
    escape = document.lstrip()[:1] in (b"{", b"[", b"<")

    def change(data: bytes) -> bytes:
        for replacement, value in sorted(found.originals.items(), key=lambda item: -len(item[0])):
            new = json.dumps(value, ensure_ascii=False)[1:-1] if escape else value
            data = data.replace(replacement.encode(), new.encode("utf-8", "replace"))
        return data

    return rewrite_document(document, change)
