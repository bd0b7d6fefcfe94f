"""Fields that are recorded and not shown: the one place from which full views draw whatever a drawing leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.base.joined_text import without_line_numbers
from reread.base.late_pattern import late_pattern
from reread.tools.nodes import Data, Node, Section

NOT_TEXT = frozenset({"signature", "base64", "data", "image_data"})
"""Fields whose strings are usually not text: signatures and the bytes of images."""
_BASE64 = late_pattern(r"[A-Za-z0-9+/=_\r\n-]*")
LONG_DATA = 64
OTHER_FIELDS = "other recorded fields"
INPUT = "input"
TOLD = (
    "originalFile",
    "originalFileContents",
    "original_file",
    "output_mode",
    "patch",
    "run_in_background",
    "task_description",
    "updated_file",
)
"""Fields that nobody misses: a title tells them, the drawing does, or another record."""
SHORT = 3
"""Strings up to this length are shown only if they are a line of their own."""
SEARCHES = 200
"""How many lines of one text are looked for in all that is shown; further ones only among its lines."""
FEW = 32
"""So many texts are looked for in all that is shown; then it is split into lines, which find further ones faster."""
LONGEST_PATH = 500
"""Characters of a path; what is below a longer one is left as JSON, since each of its values would repeat the path."""

_TAG = late_pattern(r"</?[a-z][\w-]*(\s[^<>]*)?>")
_WORD = late_pattern(r"\w+")
_ATTRIBUTE = late_pattern(r'"([^"]*)"')


def is_text(name: str, fields: Mapping[str, Any]) -> bool:
    """True if a field is text; one in `NOT_TEXT` may be: the data of a text document, or of a tool's input."""
    value = fields[name]
    if name not in NOT_TEXT or not isinstance(value, str):
        return True
    if not _BASE64.fullmatch(value):
        return not value.startswith("data:")
    return name == "data" and len(value) < LONG_DATA and "media_type" not in fields and "mimeType" not in fields


class ShownText:
    """All the text that a view shows; its lines too, once a text is looked for line by line."""

    def __init__(self, texts: Iterable[str] = (), nodes: Iterable[Node] = ()) -> None:
        self._texts: list[str] = []
        self._joined = ""
        self._joins = 0
        """How many of the texts have been joined."""
        self._known_lines: set[str] = set()
        self._split = 0
        """How many of the texts have been split into lines."""
        self._searches = 0
        self._values: dict[int, object] = {}
        """The objects and lists of JSON values that are shown whole, by identity."""
        for text in texts:
            self.add(text)
        for node in nodes:
            self._add_node(node)

    def add(self, text: str) -> None:
        """Add a text that is shown."""
        self._texts.append(text)

    def _add_node(self, node: object) -> None:
        stack: list[object] = [node]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                self.add(item)
            elif isinstance(item, msgspec.Struct):
                stack += [getattr(item, name) for name in item.__struct_fields__ if name not in NOT_TEXT]
                if isinstance(item, Data):
                    self._values[id(item.value)] = item.value
            elif isinstance(item, dict):
                stack += [value for name, value in cast(dict[str, object], item).items() if name not in NOT_TEXT]
            elif isinstance(item, list):
                stack += cast(list[object], item)

    def has_value(self, value: object) -> bool:
        """True if this very object or list is shown as a JSON value."""
        return id(value) in self._values

    def missing_from(self, text: str) -> str:
        """Return the part of a text that is not shown: all of it, or the lines that are not if only some are."""
        bare = text.strip()
        if not bare or self._has(bare):
            return ""
        if "\n" not in text and ("<" not in text or ("</" not in text and not _pieces(without_line_numbers(text)))):
            return text
        plain = without_line_numbers(text) if "→" in text or "\t" in text else text
        if plain is not text and plain.strip() in self._all:  # then all of its lines are shown
            return ""
        lines = text.split("\n")
        searches = SEARCHES
        missing: list[str] = []
        known = self._lines
        for line, bare in zip(lines, map(str.strip, plain.split("\n")), strict=True):
            if not bare or bare in known or line.strip() in known:  # then all of its pieces are shown
                continue
            unknown = [piece for piece in _pieces(bare) if piece not in known] if "<" in bare else [bare]
            if unknown and (searches <= 0 or not all(piece in self._all for piece in unknown)):
                missing.append(line)
            searches -= bool(unknown)
        return "\n".join(missing)

    def _has(self, text: str) -> bool:
        self._searches += 1
        if (len(text) <= SHORT or self._searches > FEW) and text in self._lines:
            return True
        return len(text) > SHORT and text in self._all

    @property
    def _lines(self) -> set[str]:
        if self._split < len(self._texts):
            lines = [line for text in self._texts[self._split :] for line in text.split("\n")]
            self._known_lines.update(map(str.strip, lines))
            self._known_lines.update([line[1:].strip() for line in lines])  # in a diff, without its `+` or `-`
            self._split = len(self._texts)
        return self._known_lines

    @property
    def _all(self) -> str:
        if self._joins < len(self._texts):
            self._joined = "\n".join([self._joined, *self._texts[self._joins :]])
            self._joins = len(self._texts)
        return self._joined


def _pieces(line: str) -> list[str]:
    """Return what a line without its number says: its text without tags, and the values in its tags."""
    text, *tagged = _TAG.split(line)
    values = [value for tag in tagged[::2] if tag for value in _ATTRIBUTE.findall(tag)]
    return [piece for part in (text, *values, *tagged[1::2]) if (piece := part.strip())]


def leftover(recorded: Mapping[str, Any], shown: ShownText) -> dict[str, Any]:
    """Return the recorded values that are not shown, by path; numbers and flags always, for they mean nothing alone."""
    left: dict[str, Any] = {}
    stack: list[tuple[str, Any]] = list(recorded.items())[::-1]
    while stack:
        path, item = stack.pop()
        if isinstance(item, str):
            missing = shown.missing_from(item)
            if missing:
                left[path] = missing
                shown.add(missing)
        elif isinstance(item, (int, float)):
            left[path] = item
        elif not item or shown.has_value(item):
            continue
        elif len(path) > LONGEST_PATH:
            left[path] = jsontext.dumps(item).decode()
        else:
            stack += _items(path, item)
    return left


def missed_fields(left: Mapping[str, Any], title: str = "") -> list[str]:
    """Return the names of values left out that a reader would miss; ids, states and counters are none of them.

    Those are the arguments of a call, except flags that are off and what the title says in other words, and texts of
    more than one word elsewhere. What the model was told of a result repeats what is drawn of it.
    """
    said = title.replace("_", " ")
    words = set(_WORD.findall(said))
    names: list[str] = []
    for path, value in left.items():
        field, _, name = path.partition(".")
        if field == INPUT:
            is_said = value is False or str(value) in words or str(value).replace("_", " ") in said
            is_missed = not is_said and len(name) > SHORT and name.isidentifier() and name not in TOLD
        else:
            is_text = isinstance(value, str) and len(value.split(None, 1)) > 1
            is_missed = is_text and "." in path and field.partition("[")[0] != "result" and not path.endswith(TOLD)
        if is_missed:
            names.append(name if field in (INPUT, "data") else path)
    return names


def _items(path: str, value: Any) -> list[tuple[str, Any]]:
    """Return the values in a value by path, the last first, without signatures and the bytes of images."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        start = f"{path}." if path else ""
        pairs = reversed(cast(dict[str, Any], value).items())
        return [
            (start + name, item)
            for name, item in pairs
            if item is not None and (name not in NOT_TEXT or not isinstance(item, str))
        ]
    if isinstance(value, list):
        items = cast(list[Any], value)
        return [(f"{path}[{n}]", items[n]) for n in range(len(items) - 1, -1, -1)]
    return [(path, str(value))]


def leftover_nodes(left: Mapping[str, Any], title: str = OTHER_FIELDS) -> list[Node]:
    """Return a closed section with what is not shown elsewhere."""
    return [Section(title=title, nodes=[Data(value=dict(left))], open=False)] if left else []
