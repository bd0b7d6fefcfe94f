"""Regular expressions that are compiled when they are first used: all would take a tenth of a small verb."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LatePattern:
    """Stands for a pattern; each of its methods is that of the pattern from the first call on."""

    def __init__(self, source: Any, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def late_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern for the methods of `re.Pattern`; the functions of `re` do not take it."""
    return cast("re.Pattern[AnyStr]", _LatePattern(source, flags))
