"""Search without an index, by reading every file: on a platform without a search engine, or if no index can be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reread.disk import layout
from reread.disk.file_set import FileSet
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable, naming_file
from reread.index.file_pass import FilePass
from reread.index.hits import session_file
from reread.index.matching import UnitFacts, matches
from reread.index.query import Node
from reread.index.store import Cursor, UnitPosition
from reread.index.unit_reader import FoundUnit
from reread.index.units import Carry, Unit

NO_ENGINE = "There is no search engine for this platform, so the files were searched."


def scan(node: Node, files: FileSet, pattern: re.Pattern[str] | None = None) -> Iterator[FoundUnit]:
    """Yield every unit of some files that matches a query, and a pattern if one is given."""
    for path, unit, position, cwd in all_units(files):
        if pattern is not None and not pattern.search(unit.text):
            continue
        main = session_file(path)
        project = cwd or layout.guess_project(Path(main))
        facts = UnitFacts(position.time_ms, position.model, position.branch, project, Path(main).stem)
        if matches(node, unit, facts):
            yield FoundUnit(path, position.offset, position.length, position.line, unit, position.time_ms)


def all_units(files: FileSet) -> Iterator[tuple[str, Unit, UnitPosition, str]]:
    """Yield every unit of some files with its path, its position and the first folder that the file names."""
    found: list[tuple[Unit, UnitPosition]] = []

    def add(unit: Unit, position: UnitPosition) -> None:
        found.append((unit, position))

    for path, state in files.states.items():
        cursor = Cursor(state, 0, b"", Carry())
        try:
            with naming_file(path):
                for _ in FilePass(FileSource(Path(path)), cursor, add).run():
                    yield from ((path, *unit, cursor.cwd) for unit in found)
                    found.clear()
        except (OSError, NotFound):  # deleted in the meantime
            found.clear()
        except Unreadable as error:
            files.failures.append(str(error))
            found.clear()
