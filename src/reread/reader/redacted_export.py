"""Export sessions without secrets and personal details: redact the records, export these, scan what came of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Unpack

import msgspec

from reread.archive.archive import Archive, KeepReport
from reread.base import jsontext
from reread.base.choices import SelectionOptions
from reread.base.text import plural
from reread.disk.filenames import filename_for
from reread.disk.layout import PROJECTS
from reread.errors import Misuse, Undecided, Unwritable
from reread.reader.export_formats import require_format, write_companions, write_document
from reread.reader.site_export import ASSETS, SiteResult, require_inside, write_site
from reread.redaction.decisions import DecisionStore
from reread.redaction.findings import KEEP, REPLACE, SensitiveText, alike
from reread.redaction.omissions import Omission
from reread.redaction.redactor import Redactor, installed_engines
from reread.redaction.removal_manifest import (
    RemovalManifest,
    clean_document,
    finished_texts,
    keep_private_map,
    make_manifest,
)
from reread.redaction.rewrite import clean_text
from reread.redaction.scan import BINARY
from reread.redaction.spans import Span, leaves
from reread.render.selection import Selection, selection_at
from reread.session.places import find_agent
from reread.session.session import Session, at_place, open_whole
from reread.storage.atomic import is_device, write_atomic
from reread.storage.kept_file import read_whole
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder

MANIFEST_SUFFIX = ".manifest.json"
SHARED = "shared"
"""The project of sessions that are put into a bucket for others."""


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
        found = [*installed_engines().values()] if engines else ()
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

    @property
    def undecided_groups(self) -> list[list[SensitiveText]]:
        """The undecided findings in groups of one kind and name, for one decision about each group."""
        return alike(self.undecided)

    def decide(
        self,
        findings: SensitiveText | str | Iterable[SensitiveText | str],
        decision: str,
        *,
        everywhere: bool = False,
    ) -> None:
        """Replace or keep a finding, or several, given themselves or by their ids.

        With `everywhere`, the decision holds for these values in all sessions from now on.
        """
        given = [findings] if isinstance(findings, str | SensitiveText) else findings
        ids = [each if isinstance(each, str) else each.id for each in given]
        self._redactor.decide(dict.fromkeys(ids, decision))
        if everywhere:
            self.store.decide_everywhere(ids, decision)

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
    def omitted(self) -> Omission:
        """How many pictures, signatures and ids the last copy left out."""
        return self._redactor.omitted

    def copy_to(self, folder: Path) -> Session:
        """Write the session as others will see it into a folder, and open it there."""
        return self._redactor.copy_to(folder)

    @contextmanager
    def redacted(self) -> Generator[Session]:
        """Provide the session as others will see it, from a private copy that is deleted afterwards."""
        with private_folder() as folder:
            yield self.copy_to(folder)

    def export(
        self, format: str = "html", *, to: str | Path | None = None, **selection: Unpack[SelectionOptions]
    ) -> bytes:
        """Return the session in a format, without what is replaced; write it and its manifest if `to` is given.

        The other keywords select what is exported, as `reread.export` has them. Raises Undecided, and writes nothing,
        as long as somebody has to decide about a finding in that.
        """
        if format == "jsonl":  # all files of the session
            self.require_decisions()
        with self._finished(format, selection) as (copy, document):
            if to is not None:
                self._write(copy, document, format, Path(to))
        return document

    def preview(self, **selection: Unpack[SelectionOptions]) -> bytes:
        """Return the page as others would see it, in which what nobody decided about is hidden, and marked as such."""
        with self._finished("html", selection, decided=False) as (_, document):
            return document

    @contextmanager
    def _finished(
        self, format: str, selection: SelectionOptions, *, decided: bool = True
    ) -> Generator[tuple[Session, bytes]]:
        """Provide a copy and its document; raise Undecided if everything in it has to be `decided`, and is not."""
        for last in (False, False, True):
            with self.redacted() as copy:
                placed = self._at_place(copy)
                document = self._render(placed, format, selection)
                if decided:
                    self.require_decisions(self._shown_in(document))
                left = self._find_left([document])
                if left and not last:  # the records are replaced again, with what only the document shows
                    self._redactor.add_spans(left)
                    continue
                yield placed, self.cleaned(document) if left else document
            break

    def keep(self, to: str | Path) -> KeepReport:
        """Put the session into a folder or bucket, as `reread.keep` does, without what is replaced.

        It takes the place of what was put there of it before. Raises Undecided, and puts nothing there, as long as
        somebody has to decide about a finding in any of its files.
        """
        archive, name = Archive(to), os.path.join(PROJECTS, SHARED, filename_for(self.session.id or "session"))
        with private_folder() as folder:
            path = folder / f"{name}.jsonl"
            make_private_folder(path.parent)
            self.export("jsonl", to=path)
            path.with_name(path.name + MANIFEST_SUFFIX).unlink()
            self._require_clean([read_whole(file) for file in folder.rglob("*") if file.is_file()])
            report = archive.keep(root=folder)
        failed = next((file for file in report.files if file.outcome in ("failed", "skipped")), None)
        if failed is not None:
            raise Unwritable(f"Cannot put {failed.name} into {report.folder}: {failed.note}.", path=report.folder)
        archive.drop_others(report, (f"{name}.", f"{name}{os.sep}"))  # a reader would join what earlier states have
        return report

    def cleaned(self, document: bytes) -> bytes:
        """Return a finished document without secrets that only appear in it where fields stand side by side."""
        document = clean_document(document, self._redactor.scanner(), self._redactor.replacement, known=_own_texts())
        self._require_clean([document])
        return document

    def _require_clean(self, documents: Sequence[bytes]) -> None:
        left = ", ".join(self.left_in(documents))
        if left:
            raise Undecided(f"The finished document still contains {left}; nothing was written. Please report this.")

    def clean_texts(self, texts: Sequence[str]) -> list[str]:
        """Return texts in which everything is replaced that is replaced in the session."""
        scanner = self._redactor.scanner()
        return [clean_text(text, scanner, self._redactor.replacement) for text in texts]

    def included(self, format: str = "html", **selection: Unpack[SelectionOptions]) -> list[SensitiveText]:
        """Return the findings in what would be exported, for a selection of parts."""
        with self.redacted() as copy:
            return self._shown_in(self._render(self._at_place(copy), format, selection))

    def _at_place(self, copy: Session) -> Session:
        """Return the place of a copy at which the session was opened."""
        at = self.session.at
        agent = find_agent(self.session.agents, at.agent).id if at.agent is not None else None
        copy.at = at._replace(agent=self._redactor.clean(agent) if agent is not None else None)
        return at_place(copy)

    def _render(self, copy: Session, format: str, selection: SelectionOptions) -> bytes:
        options: SelectionOptions = {"images": self._images, **selection}
        return b"".join(require_format(format).write(copy, selection_at(copy, Selection(**options))))

    def _shown_in(self, document: bytes) -> list[SensitiveText]:
        """Return the findings of which a document has the replacement, or the value if it is kept."""
        text = "\x1f".join(finished_texts(document, known=_own_texts()))
        return [finding for finding in self.findings if self._as_shown(finding) in text]

    def _as_shown(self, finding: SensitiveText) -> str:
        return (self.value_of(finding) or "") if finding.decision == KEEP else self._redactor.stand_in(finding)

    def require_decisions(self, findings: Sequence[SensitiveText] | None = None) -> None:
        """Raise Undecided if somebody has to decide about a finding, of all or of some."""
        _require_decisions(self.findings if findings is None else findings)

    def left_in(self, documents: Sequence[bytes]) -> list[str]:
        """Return the kinds of whatever finished documents contain that should be replaced or decided about."""
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
        if is_device(path):
            keep_private_map(self._redactor, document)
        else:
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


def require_all_decisions(redactions: Sequence[Redaction]) -> None:
    """Raise Undecided if somebody has to decide about a finding of one of several sessions."""
    _require_decisions([finding for redaction in redactions for finding in redaction.findings])


def _require_decisions(findings: Sequence[SensitiveText]) -> None:
    undecided = [finding for finding in findings if not finding.decision]
    if undecided:
        raise Undecided(
            f"{plural(len(undecided), 'likely secret')} to decide about; nothing was written. "
            "Decide in a terminal, edit the file of --review, or replace them all with --replace-likely.",
            findings=undecided,
        )


@contextmanager
def private_folder() -> Generator[Path]:
    """Provide a folder that only its owner can read, and that is deleted afterwards."""
    try:
        with tempfile.TemporaryDirectory(prefix="reread-") as folder:
            yield Path(folder)
    except OSError as error:
        place = tempfile.tempdir or "for temporary files"
        if error.filename is not None and not str(error.filename).startswith(place):
            raise
        raise Unwritable(
            f"Cannot write to the folder {place}: {error.strerror or error}; make room or name another in TMPDIR.",
            path=place,
        ) from error


def _own_texts() -> tuple[str, str]:
    """Return what an exported page has that is not the session's."""
    from reread.reader.page_assets import inline_assets

    assets = inline_assets()
    return assets.head, assets.script


def redact(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    images: bool = False,
    agents: bool = True,
) -> Redaction:
    """Find what must not be shared in a session; decide about it, and export the session without it.

    Secrets in a vendor's format are replaced, personal details get pseudonyms, and likely secrets have to be decided
    about. Pictures are left out unless `images` is set, and agents' files unless `agents` is.
    """
    return Redaction(open_whole(source, root=root), images=images, agents=agents)


def write_redacted_site(
    redactions: Sequence[Redaction],
    folder: Path,
    selection: Selection,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> SiteResult:
    """Write a page for each session, as `write_site` does; nothing is written before all of it was scanned again."""
    require_all_decisions(redactions)
    for last in (False, False, True):
        with private_folder() as temporary:
            result, pages = _staged(redactions, temporary, selection, progress)
        shown = [name for name in pages if name.parent.name != ASSETS]
        left = [redaction for redaction in redactions if redaction.left_in([pages[name] for name in shown])]
        if not left:
            break
        for redaction in left:
            if not last:
                redaction.replace_left([pages[name] for name in shown])
                continue
            for name in shown:
                pages[name] = redaction.cleaned(pages[name])
    _publish(pages, folder)
    whole = b"".join(pages.values())
    for redaction in redactions:
        name = filename_for(redaction.session.id or "session")
        require_inside(folder, name + MANIFEST_SUFFIX)
        redaction.write_manifest("html", whole, folder / f"{name}{MANIFEST_SUFFIX}")
    return SiteResult(str(folder / Path(result.index).name), result.written, result.unchanged, result.faults)


def _staged(
    redactions: Sequence[Redaction], temporary: Path, selection: Selection, progress: Callable[[int], None]
) -> tuple[SiteResult, dict[Path, bytes]]:
    """Write the site into a private folder; return the content of its files by name."""
    copies: dict[Path, Session] = {}
    for number, redaction in enumerate(redactions):
        copy = redaction.copy_to(temporary / "copies" / str(number))
        if copy.path is not None:
            copies[copy.path] = copy
    staging = temporary / "site"
    result = write_site(list(copies), staging, selection, open_session=copies.__getitem__, progress=progress)
    files = sorted(path for path in staging.rglob("*") if path.is_file())
    return result, {path.relative_to(staging): read_whole(path) for path in files}


def _publish(pages: dict[Path, bytes], folder: Path) -> None:
    for path, data in pages.items():
        target = require_inside(folder, str(path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, [data], mode=0o666 if path.parent.name == ASSETS else 0o600)
        except OSError as error:
            raise Unwritable.at(target, error) from error
