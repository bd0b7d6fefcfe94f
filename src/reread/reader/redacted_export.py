"""Export a session without secrets and personal details: redact the records, export these, scan what came of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from reread.base import jsontext
from reread.base.text import plural
from reread.disk.atomic import write_atomic
from reread.disk.regular import PRIVATE_FILE
from reread.errors import Misuse, Undecided, Unwritable
from reread.reader.export_formats import FORMATS, write_companions, write_document
from reread.redaction.decisions import DecisionStore
from reread.redaction.engines import installed_engines
from reread.redaction.findings import KEEP, REPLACE, SensitiveText
from reread.redaction.finished import finished_texts
from reread.redaction.manifest import RemovalManifest, keep_private_map, make_manifest
from reread.redaction.omissions import Omitted
from reread.redaction.redactor import Redactor
from reread.redaction.scan import BINARY
from reread.redaction.spans import Span, leaves
from reread.render.selection import Selection
from reread.session.session import Session, open  # noqa: A004

ROUNDS = 3
"""How often an export is made again because its finished bytes had something that the records had not."""
MANIFEST_SUFFIX = ".manifest.json"


class Redaction:
    """A session that is to be shared: what was found in it, what was decided, and the export."""

    def __init__(
        self,
        session: Session,
        *,
        store: DecisionStore | None = None,
        images: bool = False,
        agents: bool = True,
        engines: bool = True,
    ) -> None:
        self.session = session
        self.store: DecisionStore = store or DecisionStore()
        found = installed_engines() if engines else ()
        self._redactor = Redactor(session, self.store, images=images, agents=agents, engines=found)
        self._images = images

    @property
    def findings(self) -> list[SensitiveText]:
        """Everything that was found: certain, likely and personal, each value once, with its places."""
        return self._redactor.findings

    @property
    def undecided(self) -> list[SensitiveText]:
        """The findings that somebody has to decide about before anything is exported."""
        return self._redactor.undecided

    def decide(self, finding: SensitiveText | str, decision: str, *, everywhere: bool = False) -> None:
        """Replace or keep a finding, given itself or by its id; with `everywhere`, in all sessions from now on."""
        id = finding if isinstance(finding, str) else finding.id
        self._redactor.decide({id: decision})
        if everywhere:
            self.store.decide_everywhere(id, decision)

    def decide_all(self, decisions: dict[str, str]) -> None:
        """Set several decisions, by the ids of findings; others are ignored."""
        self._redactor.decide(decisions)

    def replace_undecided(self) -> None:
        """Replace every finding that nobody decided about."""
        self._redactor.decide({finding.id: REPLACE for finding in self.undecided})

    def replace_text(self, text: str) -> SensitiveText:
        """Replace a text wherever it appears."""
        return self._redactor.add_text(text)

    def value_of(self, finding: SensitiveText | str) -> str | None:
        """Return what a finding hides: for the session's owner only."""
        return self._redactor.value_of(finding if isinstance(finding, str) else finding.id)

    @property
    def omitted(self) -> Omitted:
        """How many pictures, signatures and ids the last copy left out."""
        return self._redactor.omitted

    def copy_to(self, folder: Path) -> Session:
        """Write the session as others will see it into a folder, and open it there."""
        return self._redactor.copy_to(folder)

    @contextmanager
    def redacted(self) -> Generator[Session]:
        """Provide the session as others will see it, from a private copy that is deleted afterwards."""
        with tempfile.TemporaryDirectory(prefix="reread-") as folder:
            yield self.copy_to(Path(folder))

    def export(self, form: str = "html", *, to: str | Path | None = None, **selection: Any) -> bytes:
        """Return the session in a format, without what is replaced; write it and its manifest if `to` is given.

        The other keywords select what is exported, as `reread.export` has them. Raises Undecided, and writes nothing,
        as long as somebody has to decide about a finding in that.
        """
        left: list[Span] = []
        for _ in range(ROUNDS):
            if form == "jsonl":  # all files of the session
                self.require_decisions()
            with self.redacted() as copy:
                document = self._render(copy, form, selection)
                self.require_decisions(self._shown_in(document))
                left = self._find_left([document])
                if not left and to is not None:
                    self._write(copy, document, form, Path(to))
            if not left:
                return document
            self._redactor.add_spans(left)
        kinds = ", ".join(sorted({span.kind for span in left}))
        raise Undecided(f"The finished document still contains {kinds}; nothing was written. Please report this.")

    def included(self, form: str = "html", **selection: Any) -> list[SensitiveText]:
        """Return the findings in what would be exported, for a selection of parts."""
        with self.redacted() as copy:
            return self._shown_in(self._render(copy, form, selection))

    def _render(self, copy: Session, form: str, selection: dict[str, Any]) -> bytes:
        if form not in FORMATS:
            raise Misuse(f"Unknown format {form!r}; use {', '.join(FORMATS)}.")
        options: dict[str, Any] = {"images": self._images, **selection}
        return b"".join(FORMATS[form](copy, Selection(**options)))

    def _shown_in(self, document: bytes) -> list[SensitiveText]:
        """Return the findings of which a document has the replacement, or the value if it is kept."""
        text = "\x1f".join(finished_texts(document, known=_own_texts()))
        return [finding for finding in self.findings if self._as_shown(finding) in text]

    def _as_shown(self, finding: SensitiveText) -> str:
        return (self.value_of(finding) or "") if finding.decision == KEEP else finding.replacement

    def require_decisions(self, findings: Sequence[SensitiveText] | None = None) -> None:
        """Raise Undecided if somebody has to decide about a finding, of all or of some."""
        undecided = [finding for finding in (self.findings if findings is None else findings) if not finding.decision]
        if undecided:
            raise Undecided(
                f"{plural(len(undecided), 'likely secret')} to decide about; nothing was written. "
                "Run `reread share`, edit the file of --review, or replace them all with --replace-likely.",
                findings=undecided,
            )

    def left_in(self, documents: Sequence[bytes]) -> list[str]:
        """Return the kinds of what finished documents contain that is to be replaced or decided about."""
        return sorted({span.kind for span in self._find_left(documents)})

    def replace_left(self, documents: Sequence[bytes]) -> list[str]:
        """Have what finished documents still contain replaced in the next copy; return its kinds."""
        left = self._find_left(documents)
        self._redactor.add_spans(left)
        return sorted({span.kind for span in left})

    def _find_left(self, documents: Sequence[bytes]) -> list[Span]:
        known = _own_texts()
        scanner = self._redactor.scanner()
        left: list[Span] = []
        for document in documents:
            for text in finished_texts(document, known=known):
                spans = leaves(scanner.find(text))
                left += [span for span in spans if span.kind != BINARY and self._redactor.is_replaced(span)]
        return left

    def _write(self, copy: Session, document: bytes, form: str, path: Path) -> None:
        if self.session.path is not None and os.path.realpath(path) == os.path.realpath(self.session.path):
            raise Misuse(f"Cannot write {path}: it is the session itself; choose another file.")
        if form == "jsonl":
            write_companions(copy, path)
        write_document(copy, [document], path)
        self.write_manifest(form, document, path.with_name(path.name + MANIFEST_SUFFIX))

    def manifest(self, form: str, document: bytes) -> RemovalManifest:
        """Return what was removed from a document that `export` made."""
        return make_manifest(self._redactor, form, document)

    def write_manifest(self, form: str, document: bytes, path: Path) -> None:
        """Write what was removed beside a document, and keep the private map that undoes it."""
        content = msgspec.json.format(jsontext.dumps(self.manifest(form, document)))
        try:
            write_atomic(path, [content, b"\n"], mode=PRIVATE_FILE)
        except OSError as error:
            raise Unwritable.at(path, error) from error
        keep_private_map(self._redactor, document)


def _own_texts() -> tuple[str, str]:
    """Return what an exported page has that is not the session's."""
    from reread.reader.html_export import inline_assets

    assets = inline_assets()
    return assets.head, assets.script


def redact(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    images: bool = False,
    agents: bool = True,
) -> Redaction:
    """Find what must not be shared of a session; decide about it, and export the session without it.

    Secrets in a vendor's format are replaced, personal details get pseudonyms, and likely secrets have to be decided
    about. Pictures are left out unless `images` is set, and agents' files unless `agents` is.
    """
    return Redaction(open(source, root=root), images=images, agents=agents)
