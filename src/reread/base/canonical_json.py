"""JSON in the one form that Claude Code hashes: keys sorted, no blanks, written as JavaScript writes it."""

from __future__ import annotations

import json.encoder
import re
from collections.abc import Callable
from math import isfinite
from typing import Any, cast

import msgspec

CACHE_MARK = "cache_control"
EXACT = 1 << 53
"""Beyond this, JavaScript's numbers are not exact integers."""

_quote = cast("Callable[[str], str]", cast(Any, json.encoder).encode_basestring)
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical(value: Any, *, marks: bool = True) -> bytes:
    """Return the canonical JSON of a value; without `marks`, leave out every `cache_control`.

    Raise ValueError if it is nested deeper than the interpreter's stack.
    """
    try:
        # msgspec writes the same bytes, in a tenth of the time, for what is_plain lets through.
        if _is_plain(value, marks):
            return _encode_sorted(value)
        return "".join(_pieces(value, marks)).encode()
    except UnicodeEncodeError:
        return "".join(_pieces(value, marks)).encode()
    except RecursionError:
        raise ValueError("nested too deep") from None


def _is_plain(value: Any, marks: bool) -> bool:
    """True if sorting by bytes is sorting by UTF-16, and every number is written alike in both languages."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            item = cast(dict[str, Any], item)
            if (not marks and CACHE_MARK in item) or not all(map(str.isascii, item)):
                return False
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(cast(list[Any], item))
        elif isinstance(item, float) or (isinstance(item, int) and not -EXACT < item < EXACT):
            return False
    return True


def _pieces(value: Any, marks: bool) -> list[str]:
    if isinstance(value, str):
        return [_string(value)]
    if isinstance(value, list):
        items = [_pieces(item, marks) for item in cast(list[Any], value)]
        return ["[", *_joined(items), "]"]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        names = sorted((name for name in fields if marks or name != CACHE_MARK), key=_utf16)
        return ["{", *_joined([[_string(name), ":", *_pieces(fields[name], marks)] for name in names]), "}"]
    if isinstance(value, bool) or value is None:
        return [{True: "true", False: "false", None: "null"}[value]]
    return [_number(value)]


def _joined(items: list[list[str]]) -> list[str]:
    return [piece for n, item in enumerate(items) for piece in ((",", *item) if n else item)]


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _string(text: str) -> str:
    """Quote a string; half a surrogate pair, which UTF-8 does not have, is written as an escape."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", _quote(text))


def _number(value: float) -> str:
    """Return a number as JavaScript writes it: 1, 0.000001, 1e-7, 1e+21; null for what JSON has no number for."""
    try:
        value = float(value)
    except OverflowError:
        return "null"
    if not isfinite(value):
        return "null"
    sign, digits, exponent = _decimal(value)
    point = len(digits) + exponent
    if 0 < point <= 21:
        text = digits.ljust(point, "0") if exponent >= 0 else f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return text if text == "0" else sign + text


def _decimal(value: float) -> tuple[str, str, int]:
    """Return sign, shortest digits and exponent of a number: its value is digits × 10**exponent."""
    mantissa, _, power = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) - len(fraction)
    short = digits.rstrip("0")
    return ("-" if value < 0 else ""), short or "0", exponent + len(digits) - len(short) if short else 0
