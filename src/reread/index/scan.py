"""Search what is not in the index, by reading it: a few new lines, or everything if no index can be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reread.disk import layout
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable, naming_file
from reread.index.file_pass import FilePass
from reread.index.matching import UnitFacts, matches
from reread.index.query import Node
from reread.index.store import Cursor, UnitPosition
from reread.index.unit import Unit
from reread.index.unit_reader import FoundUnit


def scan(
    node: Node, cursors: Mapping[str, Cursor], failures: list[str], pattern: re.Pattern[str] | None = None
) -> Iterator[FoundUnit]:
    """Yield the units of some files, each from a cursor on, that match a query, and a pattern if one is given."""
    for path, unit, position, cwd in units_after(cursors, failures):
        if pattern is not None and not pattern.search(unit.text):
            continue
        main = layout.session_file(path)
        project = cwd or layout.guess_project(Path(main))
        facts = UnitFacts(position.time_ms, position.model, position.branch, project, Path(main).stem)
        if matches(node, unit, facts):
            yield FoundUnit(path, position.offset, position.length, position.line, unit, position.time_ms)


def units_after(cursors: Mapping[str, Cursor], failures: list[str]) -> Iterator[tuple[str, Unit, UnitPosition, str]]:
    """Yield the units of some files, each from a cursor on, with path, position and the first folder of the file.

    The cursors are moved to the end. A file whose content makes reading fail is added to the failures.
    """
    found: list[tuple[Unit, UnitPosition]] = []

    def add(unit: Unit, position: UnitPosition) -> None:
        found.append((unit, position))

    for path, cursor in cursors.items():
        try:
            with naming_file(path):
                for _ in FilePass(FileSource(Path(path)), cursor, add).run():
                    yield from ((path, *unit, cursor.cwd) for unit in found)
                    found.clear()
        except (OSError, NotFound):  # deleted in the meantime
            found.clear()
        except Unreadable as error:
            failures.append(str(error))
            found.clear()
