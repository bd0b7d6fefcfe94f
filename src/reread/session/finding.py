"""One finding of `check`, and the rule that it breaks; apart from the rules, since few readers check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from reread.records.lines import Line
    from reread.session.checked_file import CheckedFile, CheckedRecord, Spot

LEVELS = ERROR, WARNING, INFO = ("error", "warning", "info")

LineRule: TypeAlias = "Callable[[CheckedFile, Line, list[CheckedRecord]], Iterator[str]]"
RecordRule: TypeAlias = "Callable[[CheckedFile, CheckedRecord], Iterator[str]]"
FileRule: TypeAlias = "Callable[[CheckedFile], Iterator[Spot]]"


class Finding(msgspec.Struct, frozen=True):
    """One thing that `check` found, and where."""

    code: str
    """The name of the rule."""
    level: str
    """error, warning or info."""
    line: int
    """From 1; 0 if it is about the file as a whole."""
    text: str
    """The fault, in words."""


class Rule(NamedTuple):
    """A code with its level and meaning, and the function that finds it in a line, a record or the whole file."""

    code: str
    level: str
    says: str
    line: LineRule | None = None
    record: RecordRule | None = None
    file: FileRule | None = None
