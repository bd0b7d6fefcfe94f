"""Bring tables in a folder up to date: only transcripts that changed are read.

New rows go to new files. A part with rows that are no longer right, or a small one of the same month, is written
again together with them. Then a manifest makes the change visible as a whole, and what it no longer names is deleted.
Whoever is killed leaves files without a manifest, which the next writer deletes.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.dataset.chain import write_entry
from reread.dataset.figures import FIGURES, RowMask
from reread.dataset.freshness import path_text, transcript_states, usage_state
from reread.dataset.manifest import (
    FOLDER,
    TablePart,
    TablesManifest,
    delete_older,
    newest_manifest,
    write_manifest,
)
from reread.dataset.parquet import PartsWriter, write_usage
from reread.dataset.report import Progress, TablesReport
from reread.dataset.schema import TABLES, VERSION, Row
from reread.dataset.table_files import TableFiles
from reread.dataset.transcripts import TranscriptFile
from reread.dataset.usage_rows import settled_rows
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet
from reread.errors import Misuse, RereadError, Unwritable, naming_file
from reread.session.session import Session, threads_of
from reread.session.session_pass import SessionPass

SMALL_PART = 8 << 20
"""A part of fewer bytes is joined with others of its month when that month changes."""
WAIT_SECONDS = 600.0
ATTEMPTS = 20


class TableUpdate:
    """One run over the transcripts of this machine."""

    def __init__(
        self,
        place: TableFiles,
        machine: str,
        files: FileSet,
        *,
        text: bool = False,
        keep_deleted: bool = False,
        progress: Progress | None = None,
        figures: RowMask | None = None,
    ) -> None:
        self.place: TableFiles = place
        self.machine: str = machine
        self.text: bool = text
        self.keep_deleted: bool = keep_deleted
        self.files = files
        self.figures: RowMask | None = figures
        """What takes the words out of tables for a team; None if they may have words."""
        self._progress = progress
        self._unread: list[str] = []
        self._in_doubt = False
        """True if a manifest may have been written, so that the files that it names must stay."""

    def run(self, *, wait: float = WAIT_SECONDS) -> tuple[TablesManifest, TablesReport]:
        """Bring the tables up to date; if another writer is at it for longer than `wait` seconds, raise Unwritable."""
        with self.place.locked(self.machine, wait) as alone:
            if not alone:
                folder = self.place.location(FOLDER)
                raise Unwritable(f"Cannot write {folder}: another process is writing there; try again when it is done.")
            for _ in range(ATTEMPTS):
                try:
                    done = self._attempt()
                except OSError as error:
                    raise Unwritable.at(self.place.location(""), error) from error
                if done is not None:
                    return done
        raise Unwritable(f"Cannot write {self.place.location(FOLDER)}: other machines use the name {self.machine}.")

    def _attempt(self) -> tuple[TablesManifest, TablesReport] | None:
        """Make one change; None if another writer was faster."""
        known = newest_manifest(self.place, self.machine)
        self._refuse_words(known)
        whole = self._sweep(known)
        words = self.figures is not None and known is not None and not known.figures
        """True if the tables are to be those for a team, and were not."""
        fits = known is not None and whole and ((words and self.keep_deleted) or known.text == self.text)
        base = known if fits else None
        is_older = base is not None and (base.version != VERSION or words or self._has_other_names(base))
        mask: RowMask | None = None
        if is_older and base is not None:  # what can be read again is; what cannot is kept, if it is to be
            if self.figures is not None:  # but not in the words of an earlier version
                mask = RowMask(self.figures.settings, again=base.figures)
            base = msgspec.structs.replace(base, usage_state="", usage_digests={}) if self.keep_deleted else None
        before = base or TablesManifest(self.machine, known.sequence if known is not None else 0, text=self.text)
        held = {path if mask is None else mask.path(path): part for path, part in before.transcripts.items()}
        files = self._all_files(held)
        states = {self._name(path_text(path)): (path, state) for path, state in transcript_states(files.states).items()}
        gone = set[str]() if self.keep_deleted else {path for path in held if path not in states}
        read = {path: part.transcripts[path] for path, part in held.items()} if not is_older else {}
        changed = {path for path, (_, state) in states.items() if read.get(path) != state}
        parts = PartsWriter(self.place, self.machine, text=self.text, figures=self.figures)
        usage: list[TablePart] = []
        self._unread.clear()
        try:
            kept = self._write_parts(before, files, states, changed, gone, parts, mask)
            fresh = parts.finish()
            usage, state, digests = self._write_usage(before, files)
            after = TablesManifest(
                self.machine, before.sequence + 1, VERSION, self.text, [*kept, *fresh], usage, state, digests
            )
            if self.figures is not None:
                own = self.figures.settings
                after = msgspec.structs.replace(after, person=own.person, team=own.name, shown_alone=own.shown_alone)
            if self._is_same(before, after) and base is not None:
                return before, self._report(before, 0, len(states), 0)
            if not self._commit(known, after):
                raise _Overtaken
        except BaseException as error:
            if not self._in_doubt:
                parts.abandon()
                for part in usage:
                    if part not in before.usage:
                        self._delete(part)
            if isinstance(error, _Overtaken) or self._was_overtaken(error, known):
                return None
            raise
        return after, self._report(after, len(changed) - len(self._unread), len(states) - len(changed), len(gone))

    def _all_files(self, held: dict[str, TablePart]) -> FileSet:
        """Return the files of the sweep, and those that are in the tables from elsewhere."""
        states = dict(self.files.states)
        tops = tuple(os.path.join(folder, "") for folder in self.files.folders)
        for path in held:
            if path not in states and not path.startswith(tops):
                with suppress(OSError):
                    states[path] = FileState.at(path)
        return FileSet(states, self.files.folders, self.files.failures, self.files.name)

    def _write_parts(
        self,
        before: TablesManifest,
        files: FileSet,
        states: dict[str, tuple[str, str]],
        changed: set[str],
        gone: set[str],
        parts: PartsWriter,
        mask: RowMask | None,
    ) -> list[TablePart]:
        """Write what changed and what has to be written again, and return the parts that stay as they are."""
        removed = changed | gone
        months = {part.month for part in before.parts if not removed.isdisjoint(part.transcripts)}
        with SessionPass() as sessions:
            for path in sorted(changed, key=lambda path: (files.states[states[path][0]].modified, path)):
                name, state = states[path]
                try:
                    with naming_file(name):
                        transcript = TranscriptFile(Path(name), self.machine, _opened(sessions, name))
                        months.add(transcript.origin.month)
                        parts.add_transcript(transcript, state)
                except (RereadError, OSError):
                    self._unread.append(name)
                if self._progress is not None:
                    self._progress(1)
        kept: list[TablePart] = []
        for part in before.parts:
            is_stale = not removed.isdisjoint(part.transcripts)
            if mask is not None:
                parts.add_part(part, {path for path in part.transcripts if mask.path(path) in removed}, mask)
            elif is_stale or (part.month in months and part.size < SMALL_PART):
                parts.add_part(part, removed)
            else:
                kept.append(part)
        return kept

    def _write_usage(self, before: TablesManifest, files: FileSet) -> tuple[list[TablePart], str, dict[str, str]]:
        """Settle the usage of all files, and write the months that are not as they were."""
        state = usage_state(files, keep_deleted=self.keep_deleted)
        state = state if self.figures is None else self._digest(state)
        if state == before.usage_state:
            return before.usage, state, before.usage_digests
        by_month: dict[str | None, list[Row]] = {}
        for row in settled_rows(files, self.machine, keep_deleted=self.keep_deleted):
            by_month.setdefault(row[1], []).append(row)
        old = {part.month: part for part in before.usage}
        parts: list[TablePart] = []
        digests: dict[str, str] = {}
        for month, rows in sorted(by_month.items(), key=lambda item: item[0] or ""):
            digest = self._digest(rows)
            part = old.get(month)
            if part is None or before.usage_digests.get(part.id) != digest:
                part = write_usage(self.place, self.machine, month, rows, self.figures)
            parts.append(part)
            digests[part.id] = digest
        return parts, state, digests

    def _digest(self, made_of: object) -> str:
        """Return a hash of what rows are made of; for a team with the key, so that nobody can try out what that was."""
        own = self.figures.settings if self.figures is not None else None
        key = hashlib.sha256(repr((own.key, own.person, own.name)).encode()).digest() if own is not None else b""
        data = repr(made_of).encode("utf-8", "backslashreplace")
        return hashlib.blake2b(data, digest_size=16, key=key).hexdigest()

    def _name(self, path: str) -> str:
        """Return the name of a transcript in the manifest."""
        return path if self.figures is None else self.figures.path(path)

    def _has_other_names(self, known: TablesManifest) -> bool:
        """True if rows name another person or team than those that are written now."""
        own = self.figures.settings if self.figures is not None else None
        return own is not None and (known.person, known.team) != (own.person, own.name)

    def _refuse_words(self, known: TablesManifest | None) -> None:
        if known is not None and known.figures and self.figures is None:
            where = self.place.location("")
            raise Misuse(
                f"{where} has figures of this machine for a team; update them with --to, or use another folder."
            )

    def _is_same(self, before: TablesManifest, after: TablesManifest) -> bool:
        fields = ("parts", "usage", "usage_state", "person", "team", "shown_alone")
        return all(getattr(before, field) == getattr(after, field) for field in fields)

    def _commit(self, known: TablesManifest | None, after: TablesManifest) -> bool:
        """Give the new files their names, write the manifest, and delete what it no longer names."""
        old = {name for _, _, name in known.files()} if known is not None else set[str]()
        new = {name for _, _, name in after.files()}
        for name in sorted(new - old):
            self.place.publish(name)
        self._in_doubt = True
        if not write_manifest(self.place, after):
            self._in_doubt = False
            return False
        if self.figures is not None:
            write_entry(self.place, known, after)
        for name in old - new:
            self.place.delete(name)
        delete_older(self.place, after)
        return True

    def _was_overtaken(self, error: BaseException, known: TablesManifest | None) -> bool:
        """True if a file is gone because another writer, elsewhere, has replaced it."""
        return isinstance(error, FileNotFoundError) and newest_manifest(self.place, self.machine) != known

    def _sweep(self, known: TablesManifest | None) -> bool:
        """Delete the files of writers that were killed; True if no file of the manifest is missing."""
        named = {name for _, _, name in known.files()} if known is not None else set[str]()
        found = (self.place.sweep(f"{table}/machine={self.machine}", named) for table in TABLES)
        return named <= set[str]().union(*found)

    def _delete(self, part: TablePart) -> None:
        for name in part.files(self.machine).values():
            self.place.delete(name)

    def _report(self, manifest: TablesManifest, read: int, unchanged: int, removed: int) -> TablesReport:
        rows = {table: manifest.rows(table) for table in (FIGURES if self.figures is not None else TABLES)}
        return TablesReport(self.machine, rows, read, unchanged, removed, tuple(sorted(self._unread)))


def _opened(sessions: SessionPass, name: str) -> Session | None:
    """Open a session by the pass; None if it is an agent's file, or was captured, which has rows of its own."""
    if os.path.basename(name).startswith(layout.AGENT_PREFIX):
        return None
    session = sessions.open(name)
    return session if not threads_of(session).transcripts else None


class _Overtaken(Exception):
    """Another writer has written the next manifest."""
