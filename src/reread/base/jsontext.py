"""JSON text, both ways, whatever it holds: NaN, lone surrogates, huge integers, any depth, broken UTF-8."""

from __future__ import annotations

import json
import json.decoder
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

DECODE_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What msgspec raises on content; anything else is a bug."""

_scan_string = cast("Callable[[str, int, bool], tuple[str, int]]", cast(Any, json.decoder).scanstring)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_lenient = json.JSONDecoder(strict=False)

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r'["\[\]{}]')
_QUOTED = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""A string up to its end or to a backslash that is the last character; it keeps no way back, for strings are long."""
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1, '"': 0}


def loads(data: bytes) -> Any:
    """The value of one JSON text; raises ValueError only where it is no JSON at all."""
    try:
        return _decode(data)
    except DECODE_ERRORS:
        text = data.decode("utf-8", "replace")
    try:
        return _lenient.decode(text)
    except RecursionError:
        return _loads_deep(text)
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            raise
        return _loads_deep(text)


def loads_clean(data: bytes) -> Any:
    """What `loads` gives, with every lone surrogate replaced, so that its strings can be encoded."""
    try:
        return _decode(data)
    except DECODE_ERRORS:
        return clean(loads(data))


def dumps(value: Any) -> bytes:
    """The JSON text of a value that `loads` gave, always valid UTF-8."""
    try:
        return _encode(value)
    except (RecursionError, UnicodeError, OverflowError, msgspec.EncodeError):
        return "".join(_pieces(value)).encode("utf-8", "replace")


def clean(value: Any) -> Any:
    """The same value with every lone surrogate replaced, so that its strings can be encoded."""
    if isinstance(value, str):
        return _SURROGATE.sub("�", value)
    holder = [value]
    stack: list[Any] = [holder]
    while stack:
        node = stack.pop()
        items = list(cast(Any, node.items() if isinstance(node, dict) else enumerate(node)))
        if isinstance(node, dict):
            cast(dict[str, Any], node).clear()
        for key, item in items:
            if isinstance(item, str):
                item = _SURROGATE.sub("�", item)
            elif isinstance(item, dict):
                item = dict(cast(dict[str, Any], item))
                stack.append(item)
            elif isinstance(item, list):
                item = list(cast(list[Any], item))
                stack.append(item)
            node[_SURROGATE.sub("�", key) if isinstance(key, str) else key] = item
    return holder[0]


def object_end(text: str, start: int) -> int:
    """Where the object that starts at `start` ends, or -1 where none does.

    `text` may be bytes read as Latin-1: the structure of JSON is ASCII, so positions are byte offsets.
    """
    try:
        return _lenient.raw_decode(text, start)[1]
    except RecursionError:
        return matching_bracket(text, start)
    except json.JSONDecodeError:
        return -1
    except ValueError:
        return matching_bracket(text, start)


def matching_bracket(text: str, start: int) -> int:
    """Where the bracket opened at `start` is closed, strings skipped, or -1."""
    return Extent().end_in(text, start)


class Extent:
    """Finds where an object, an array or a string ends, in text that may come in pieces."""

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escaped = False
        """Whether the last piece ended with a backslash inside a string."""

    def end_in(self, text: str, at: int) -> int:
        """Where it ends in this piece, read from `at` on, or -1."""
        while at < len(text):
            if self._quoted:
                at = self._string_end(text, at)
                if at < 0:
                    break
            else:
                token = _TOKEN.search(text, at)
                if token is None:
                    break
                at = token.end()
                self._depth += _DEPTH[token[0]]
                self._quoted = token[0] == '"'
            if self._depth == 0 and not self._quoted:
                return at
        return -1

    def _string_end(self, text: str, at: int) -> int:
        found = _QUOTED.match(text, at + self._escaped)
        at = found.end() if found else len(text)
        self._escaped = text[at:] == "\\"
        self._quoted = text[at : at + 1] != '"'
        return -1 if self._quoted else at + 1


def _loads_deep(text: str) -> Any:
    """The value of JSON nested deeper than the interpreter's stack, read without recursion."""
    stack: list[tuple[Any, str | None]] = []
    container: Any = None
    key: str | None = None
    at = _skip(text, 0)
    while True:
        opened = text[at : at + 1]
        if opened and opened in "[{":
            stack.append((cast(Any, container), key))
            container, key, at = _empty(opened), None, _skip(text, at + 1)
            if text[at : at + 1] not in ("]", "}"):
                if opened == "{":
                    key, at = _key(text, at)
                continue
            value, at = _close(text, at, container)
            container, key = stack.pop()
        else:
            value, at = _scalar(text, at)
        while True:
            at = _skip(text, at)
            if container is None:
                if at != len(text):
                    raise json.JSONDecodeError("Extra data", text, at)
                return value
            _add(container, key, value)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
                if isinstance(container, dict):
                    key, at = _key(text, at)
                break
            value, at = _close(text, at, cast(Any, container))
            container, key = stack.pop()


def _empty(bracket: str) -> Any:
    return [] if bracket == "[" else {}


def _add(container: Any, key: str | None, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container.append(value)


def _close(text: str, at: int, container: Any) -> tuple[Any, int]:
    if text[at : at + 1] != ("}" if isinstance(container, dict) else "]"):
        raise json.JSONDecodeError("Expecting a closing bracket", text, at)
    return cast(Any, container), at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting a property name", text, at)
    key, at = _scan_string(text, at + 1, False)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("Expecting ':'", text, at)
    return key, _skip(text, at + 1)


def _scalar(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] == '"':
        return _scan_string(text, at + 1, False)
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return value, at + len(word)
    number = _NUMBER.match(text, at)
    if number is None:
        raise json.JSONDecodeError("Expecting a value", text, at)
    return _number(number[0], number[1] or number[2]), number.end()


def _number(digits: str, fraction: str | None) -> int | float | str:
    if fraction:
        return float(digits)
    try:
        return int(digits)
    except ValueError:  # more digits than the interpreter converts: keep them as they stand
        return digits


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _pieces(value: Any) -> list[str]:
    """The JSON of a value of any depth, in pieces, written without recursion."""
    out: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, msgspec.Struct):
            item = msgspec.structs.asdict(item)
        if isinstance(item, _Text):
            out.append(item)
        elif isinstance(item, dict):
            todo.append(_Text("}"))
            pairs = list(cast(dict[str, Any], item).items())
            for n in range(len(pairs) - 1, -1, -1):
                todo += (pairs[n][1], _Text(("," if n else "") + _quoted(str(pairs[n][0])) + ":"))
            todo.append(_Text("{"))
        elif isinstance(item, list | tuple):
            todo.append(_Text("]"))
            items = list(cast(list[Any], item))
            for n in range(len(items) - 1, -1, -1):
                todo.append(items[n])
                if n:
                    todo.append(_Text(","))
            todo.append(_Text("["))
        elif isinstance(item, str):
            out.append(_quoted(item))
        elif isinstance(item, int) and not isinstance(item, bool):
            out.append(str(item))
        else:
            out.append(_encode(item).decode())
    return out


class _Text(str):
    """Punctuation on its way out, told apart from strings of the value."""

    __slots__ = ()


def _quoted(text: str) -> str:
    return json.dumps(_SURROGATE.sub("�", text), ensure_ascii=False)
