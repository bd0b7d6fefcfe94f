"""Read and write any JSON text: NaN, lone surrogates, huge integers, any depth, broken UTF-8."""

from __future__ import annotations

import json
import json.decoder
import json.encoder
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from reread.base.late_pattern import late_pattern

DECODE_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError)
"""The errors of msgspec on bad content; anything else is a bug."""

_scan_string = cast("Callable[[str, int, bool], tuple[str, int]]", cast(Any, json.decoder).scanstring)
_quote = cast("Callable[[str], str]", cast(Any, json.encoder).encode_basestring)
decode_strict: Callable[[bytes | memoryview | str], Any] = msgspec.json.Decoder().decode
"""Return the value of healthy JSON; raise one of `DECODE_ERRORS` on any other."""
_decode = decode_strict
_encode = msgspec.json.Encoder().encode
_lenient = json.JSONDecoder(strict=False)

_SPACE = " \t\r\n"
_SPACE_RUN = late_pattern(r"[ \t\r\n]*+")
_INTEGER = late_pattern(r"-?\d+")
_ESCAPED_SURROGATE = late_pattern(rb"\\u[dD][89a-fA-F]")
_SURROGATE = late_pattern("[\ud800-\udfff]")
_UNBRACKETED = late_pattern(r'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*', re.DOTALL)
"""Text up to the next bracket, whole strings included; possessive, so that no backtracking state is kept."""
_STRING_REST = late_pattern(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""The rest of a string, up to its closing quote or to a backslash that is the last character."""
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


def loads(data: bytes) -> Any:
    """Return the value of one JSON text; raise ValueError only if it is not JSON at all."""
    try:
        return _decode(data)
    except DECODE_ERRORS:
        return _parse(data.decode("utf-8", "replace"))


def loads_clean(data: bytes) -> Any:
    """Return what `loads` returns, with lone surrogates replaced so that every string can be encoded."""
    try:
        return _decode(data)
    except DECODE_ERRORS:
        value = _parse(data.decode("utf-8", "replace"))
    return replace_surrogates(value) if _ESCAPED_SURROGATE.search(data) else value


def is_json(text: str) -> bool:
    """True if the text is one JSON value by the lenient rules of `loads`; it may be bytes decoded as Latin-1."""
    try:
        _parse(text)
    except ValueError:
        return False
    return True


def _parse(text: str) -> Any:
    try:
        return _lenient.decode(text)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError):  # nested too deep, or an integer with more digits than Python converts
        return _loads_deep(text)


def dumps(value: Any, *, deep: bool = True) -> bytes:
    """Return the JSON text of a value that `loads` returned, always valid UTF-8.

    With `deep=False`, raise RecursionError for a value that is nested deeper than the fast decoders go.
    """
    try:
        return _encode(value)
    except RecursionError:
        if not deep:
            raise
    except (UnicodeError, OverflowError, msgspec.EncodeError):
        pass
    return "".join(_pieces(value)).encode("utf-8", "replace")


def replace_surrogates(value: Any) -> Any:
    """Return a copy of a value with every lone surrogate replaced, so that its strings can be encoded."""
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
    """Return where the object that begins at `start` ends, or -1 if none does.

    `text` may be bytes decoded as Latin-1: the structure of JSON is ASCII, so positions are byte offsets.
    """
    try:
        return _lenient.raw_decode(text, start)[1]
    except json.JSONDecodeError:
        return -1
    except (RecursionError, ValueError):
        return ValueScanner().find_end(text, start)


class ValueScanner:
    """Finds the end of an object, an array or a string in text that arrives in pieces; reads each character once."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        """True if the last piece ended with a backslash inside a string."""

    def find_end(self, text: str, at: int) -> int:
        """Return where the value ends in this piece, which continues it from `at`, or -1."""
        if not self._in_string and self._depth == 0 and text[at : at + 1] == '"':
            self._in_string, at = True, at + 1
        if self._in_string:
            at = self._string_end(text, at)
            if at < 0 or self._depth == 0:
                return at
        depth = self._depth
        while at < len(text):
            step = _DEPTH.get(text[at])
            if step is not None:
                depth += step
                at += 1
                if depth == 0:
                    return at
            elif (end := cast(re.Match[str], _UNBRACKETED.match(text, at)).end()) > at:
                at = end
            else:  # a string that does not end in this piece
                at = self._string_end(text, at + 1)
                break
        self._depth = depth
        return -1

    def _string_end(self, text: str, at: int) -> int:
        """Return where the string ends whose text continues at `at`, or -1."""
        at = cast(re.Match[str], _STRING_REST.match(text, at + self._escaped)).end()
        self._in_string = text[at : at + 1] != '"'
        self._escaped = self._in_string and at < len(text)
        return -1 if self._in_string else at + 1


def _loads_deep(text: str) -> Any:
    """Return the value of JSON nested deeper than the interpreter's stack, read without recursion."""
    text += "\0"  # so that there is a character at every position up to the end
    top: list[Any] = []
    container: Any = top
    enclosing: list[Any] = []
    key = ""
    at = _skip_space(text, 0)
    while True:
        char = text[at]
        if char == "[" or char == "{":
            value: Any = [] if char == "[" else {}
            at += 1
        else:
            value, at = _scalar(text, at)
        if isinstance(container, dict):
            container[key] = value
        else:
            container.append(value)
        if char == "[" or char == "{":
            enclosing.append(cast(Any, container))
            container = value
            at = _skip_space(text, at)
            if text[at] != ("]" if char == "[" else "}"):
                if char == "{":
                    key, at = _key(text, at)
                continue
        while True:
            at = _skip_space(text, at)
            if container is top:
                if at != len(text) - 1:
                    raise json.JSONDecodeError("Extra data", text, at)
                return top[0]
            char = text[at]
            is_object = isinstance(container, dict)
            if char == ",":
                at = _skip_space(text, at + 1)
                if is_object:
                    key, at = _key(text, at)
                break
            if char != ("}" if is_object else "]"):
                raise json.JSONDecodeError("Expecting ',' or a closing bracket", text, at)
            at += 1
            container = enclosing.pop()


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at] != '"':
        raise json.JSONDecodeError("Expecting a property name", text, at)
    key, at = _scan_string(text, at + 1, False)
    at = _skip_space(text, at)
    if text[at] != ":":
        raise json.JSONDecodeError("Expecting ':'", text, at)
    return key, _skip_space(text, at + 1)


def _scalar(text: str, at: int) -> tuple[Any, int]:
    try:
        return _lenient.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than the interpreter converts: keep them as a string
        digits = cast(re.Match[str], _INTEGER.match(text, at))
        return digits[0], digits.end()


def _skip_space(text: str, at: int) -> int:
    if text[at] not in _SPACE:
        return at
    return cast(re.Match[str], _SPACE_RUN.match(text, at)).end()


def _pieces(value: Any) -> list[str]:
    """Return the JSON text of a value of any depth in pieces, written without recursion."""
    out: list[str] = []
    enclosing: list[tuple[Iterator[Any], str]] = []
    items: Iterator[Any] = iter((value,))
    closing = separator = brackets = ""
    while True:
        for item in items:
            out.append(separator)
            if closing == "}":
                key, item = item
                out.append(_quoted(str(key)) + ":")
            inner: Iterator[Any] | None = None
            if isinstance(item, dict):
                brackets, inner = "{}", iter(cast(dict[str, Any], item).items())
            elif isinstance(item, list | tuple):
                brackets, inner = "[]", iter(cast(list[Any], item))
            elif isinstance(item, msgspec.Struct):
                brackets, inner = "{}", iter(_struct_fields(item).items())
            if inner is not None:
                enclosing.append((items, closing))
                items, separator = inner, ""
                opening, closing = brackets
                out.append(opening)
                break
            out.append(_scalar_text(item))
            separator = ","
        else:
            if not enclosing:
                return out
            out.append(closing)
            items, closing = enclosing.pop()
            separator = ","


def _scalar_text(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _encode(value).decode()


def _struct_fields(value: msgspec.Struct) -> dict[str, Any]:
    """Return a struct as the encoder writes it, with its tag and without fields that are not set."""
    config = value.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field and config.tag is not None else {}
    return tag | {name: item for name, item in msgspec.structs.asdict(value).items() if item is not msgspec.UNSET}


def _quoted(text: str) -> str:
    return _quote(text if text.isascii() else _SURROGATE.sub("�", text))
