"""A JSON value as one text: every string and key of it, so that it is scanned in one pass and changed in place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, cast

from reread.redaction.secret_names import read_name
from reread.redaction.spans import Replacement, Span, edit, new_text

BETWEEN, AFTER_KEY, LINE = "\x1f", "\x1e", "\n"
"""The separators of strings, of a key and its value, and of the strings of a list, often the lines of a text."""
LARGE = 10_000
"""A smaller number is no secret, unless its key says so."""


class RecordText:
    """The strings and keys of a JSON value as one text, with the place of each."""

    def __init__(self, value: Any, plain_keys: set[str] | None = None) -> None:
        self._holder: list[Any] = [value]
        self._plain_keys: set[str] = plain_keys if plain_keys is not None else set()
        """Keys that were scanned before and have nothing to hide."""
        self._pieces: list[str] = []
        self._places: list[tuple[Any, Any, bool]] = []
        """The container and key of each string; True if the string is the key itself."""
        self._starts: list[int] = []
        self._size = 0
        self._read()
        self.text: str = "".join(self._pieces)

    @property
    def value(self) -> Any:
        """The value as it is now."""
        return self._holder[0]

    def _add(self, separator: str, text: str, container: Any, key: Any, is_key: bool = False) -> None:
        self._pieces += (separator, text)
        self._starts.append(self._size + 1)
        self._size += 1 + len(text)
        self._places.append((container, key, is_key))

    def _read(self) -> None:
        stack: list[Any] = [self._holder]
        while stack:
            node = stack.pop()
            if isinstance(node, dict):
                self._read_object(cast(dict[Any, Any], node), stack)
            else:
                self._read_list(cast(list[Any], node), stack)

    def _read_object(self, node: dict[Any, Any], stack: list[Any]) -> None:
        for key, item in node.items():
            is_plain = key in self._plain_keys
            if not is_plain:
                self._add(BETWEEN, key, node, key, True)
            if isinstance(item, str):
                self._add(BETWEEN if is_plain else AFTER_KEY, item, node, key)
            elif isinstance(item, dict | list):
                stack.append(item)
            elif _is_number(item) and (abs(item) >= LARGE or not is_plain):
                self._add(BETWEEN if is_plain else AFTER_KEY, str(item), node, key)

    def _read_list(self, node: list[Any], stack: list[Any]) -> None:
        separator = BETWEEN
        for n, item in enumerate(node):
            if isinstance(item, str):
                self._add(separator, item, node, n)
                separator = LINE
            elif isinstance(item, dict | list):
                stack.append(item)
            elif _is_number(item) and abs(item) >= LARGE:
                self._add(BETWEEN, str(item), node, n)

    def learn_plain_keys(self, spans: Iterable[Span]) -> None:
        """Remember the keys in which nothing was found and that name no secret."""
        taken = {self._at(span.start) for span in spans}
        for n, (_, key, is_key) in enumerate(self._places):
            if is_key and n not in taken and len(key) < 64 and not _leads_to_secret(key):
                self._plain_keys.add(key)

    def _at(self, position: int) -> int:
        return max(0, bisect_right(self._starts, position) - 1)

    def replace(self, spans: Iterable[Span], replacement: Replacement) -> bool:
        """Replace spans of the text in the value's strings; True if anything changed."""
        edits: dict[int, list[tuple[int, int, str]]] = {}
        for span in spans:
            new = new_text(span, replacement)
            if new is None:
                continue
            for n, start, end in self._parts(span):
                edits.setdefault(n, []).append((start, end, new))
                new = ""  # the rest of it is in the strings that follow
        keys: list[tuple[dict[Any, Any], str, str]] = []
        for n, changes in edits.items():
            container, key, is_key = self._places[n]
            text = edit(key if is_key else str(container[key]), changes)
            if is_key:
                keys.append((container, key, text))
            else:
                container[key] = text
        for container, key, text in keys:
            _rename(container, key, text)
        return bool(edits)

    def _parts(self, span: Span) -> Iterator[tuple[int, int, int]]:
        """Yield each string that a span covers, with the part of it."""
        n = self._at(span.start)
        while n < len(self._starts) and self._starts[n] < span.end:
            first = self._starts[n]
            last = self._starts[n + 1] - 1 if n + 1 < len(self._starts) else self._size
            start, end = max(span.start, first) - first, min(span.end, last) - first
            if start < end:
                yield n, start, end
            n += 1


def _leads_to_secret(key: str) -> bool:
    """True for the name of a secret, and for one such as `value`, whose name stands in another field."""
    return read_name(key) is not None or "value" in key.lower() or "authorization" in key.lower()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rename(container: dict[Any, Any], key: str, new: str) -> None:
    """Give a key of an object another name, in its place; two keys never become one."""
    while new in container and new != key:
        new += "_"
    items = [(new if name == key else name, item) for name, item in container.items()]
    container.clear()
    container.update(items)
