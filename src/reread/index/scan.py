"""Search what is not in the index, by reading it: a few new lines, or everything if no index can be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reread.disk import layout
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable, naming_file
from reread.index.document import META_PLACE, SearchDocument
from reread.index.document_reader import FoundDocument, source_origin
from reread.index.file_pass import FilePass
from reread.index.matching import DocumentFacts, matches
from reread.index.query import Node
from reread.index.store import Cursor, DocumentPosition


def scan(
    node: Node, cursors: Mapping[str, Cursor], failures: list[str], pattern: re.Pattern[str] | None = None
) -> Iterator[FoundDocument]:
    """Yield the documents of some files, each from a cursor on, that match a query, and a pattern if one is given."""
    sources: dict[str, FileSource] = {}
    for path, document, position, cwd in units_after(cursors, failures, sources):
        if pattern is not None and not pattern.search(document.text):
            continue
        main = layout.session_file(path)
        project = cwd or layout.guess_project(Path(main))
        facts = DocumentFacts(position.time_ms, position.model, position.branch, project, main)
        if matches(node, document, facts):
            is_record = position.place != META_PLACE
            origin = source_origin(sources[path], position.line, position.offset) if is_record else None
            yield FoundDocument(
                path, position.offset, position.length, position.line, document, position.time_ms, origin
            )


def units_after(
    cursors: Mapping[str, Cursor], failures: list[str], sources: dict[str, FileSource] | None = None
) -> Iterator[tuple[str, SearchDocument, DocumentPosition, str]]:
    """Yield the documents of some files, each from a cursor on, with path, position and the first folder of the file.

    The cursors are moved to the end. A file whose content makes reading fail is added to the failures. Of `sources`,
    only that of the file which is being read stays.
    """
    found: list[tuple[SearchDocument, DocumentPosition]] = []

    def add(document: SearchDocument, position: DocumentPosition) -> None:
        found.append((document, position))

    for path, cursor in cursors.items():
        try:
            with naming_file(path):
                source = FileSource(Path(path))
                if sources is not None:
                    sources.clear()
                    sources[path] = source
                for _ in FilePass(source, cursor, add).run():
                    yield from ((path, *document, cursor.cwd) for document in found)
                    found.clear()
        except (OSError, NotFound):  # deleted in the meantime
            found.clear()
        except Unreadable as error:
            failures.append(str(error))
            found.clear()
