"""Make text from transcripts safe to print: escape codes and invisible characters become visible, colours readable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from reread.base.late_pattern import late_pattern

FORMULA_STARTS = ("=", "+", "-", "@", "|", "%")
"""Characters that a spreadsheet takes for the beginning of a formula; wide forms of these characters, too."""
_ESCAPES = late_pattern(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # operating system commands: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device control and application program commands
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences
    r"|\x1b[ -/]*[0-~]?"  # all others
)
_COLOUR = late_pattern(r"\x1b\[[0-9;:]*m")
_CONTROLS = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # text direction
    r"\u00ad\u180e\ufff9-\ufffb"  # soft hyphens, separators and annotations
    r"\u2028\u2029\u200b\u2060-\u2065\u206a-\u206f\ufeff\U000e0000-\U000e007f"  # line separators and what nobody sees
    r"\ud800-\udfff]"
)
_CONTROL = late_pattern(_CONTROLS)
_ASCII_CONTROL = bytes((*range(9), *range(11, 32), 127))
_BREAK = late_pattern(r"[\n\t]")
_OWN_CODES = late_pattern(
    r"\x1b\[[0-9;]*m"  # colours
    r"|\x1b\]1337;File=[a-z0-9=;]*:[A-Za-z0-9+/=]*\x07|\x1b_G[a-zA-Z0-9=,]*;[A-Za-z0-9+/=]*\x1b\\"  # pictures
    rf"|({_CONTROLS})"
)
KEPT = frozenset((0, 1, 2, 3, 4, 7, 9, 21, 22, 23, 24, 27, 29, 39, *range(31, 37), *range(90, 97)))
"""Codes that change how text looks but cannot hide it: no background, no concealing, no blinking, no black or white."""
DEFAULT = "39"
BLACK_OR_WHITE = frozenset((30, 37, 97))
DARKEST, LIGHTEST = 0.04, 0.8
MAX_CODES = 64
"""Numbers in one escape code that are read."""


def safe(text: str) -> str:
    """Text with control characters and direction overrides made visible."""
    return text if _is_plain(text) else _CONTROL.sub(_visible, _unix_line_ends(text))


def _is_plain(text: str) -> bool:
    """True if ASCII has no such character: deleting them tells in a third of the time that the pattern takes."""
    if not text.isascii():
        return False
    return text.isprintable() or len(data := text.encode()) == len(data.translate(None, _ASCII_CONTROL))


def safe_line(text: str) -> str:
    """Safe text within one line: a name cannot end the line, and so cannot forge another."""
    safe_text = safe(text)
    return safe_text if safe_text.isprintable() else _BREAK.sub(_visible, safe_text)


def safe_json(text: str) -> str:
    """The same JSON, with control characters and direction overrides escaped."""
    from json import dumps  # loaded late: most of what is printed is no JSON

    return _CONTROL.sub(lambda found: dumps(found[0])[1:-1], text)


def strip_escapes(text: str) -> str:
    """Text without escape codes."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def plain_text(text: str) -> str:
    """Safe text without escape codes."""
    return safe(strip_escapes(text))


def plain_output(text: str, *, full: bool = False) -> str:
    """The output of a program without escape codes; of an overwritten line the last state, or with `full` all."""
    return plain_text(_line_states(text, full=full))


def coloured_output(text: str, *, full: bool = False) -> str:
    """The output of a program with its colour codes, but no other escape codes; overwritten lines as above."""
    shown = _line_states(text, full=full)
    out: list[str] = []
    at = 0
    for code in _ESCAPES.finditer(shown):
        out.append(safe(shown[at : code.start()]))
        if _COLOUR.fullmatch(code[0]):
            out.append(readable_colours(code[0]))
        at = code.end()
    out.append(safe(shown[at:]))
    return "".join(out)


def terminal_text(text: str) -> str:
    """Text for a terminal: nothing in it acts but colours, and pictures in base64."""
    if _is_plain(text) or not _CONTROL.search(text):
        return text
    return _OWN_CODES.sub(lambda found: found[0] if found[1] is None else _visible(found), text)


def csv_cell(text: str) -> str:
    """Text for a cell of CSV that a spreadsheet takes for text, not for a formula."""
    line = safe_line(text)
    return f"'{line}" if unicodedata.normalize("NFKC", line.lstrip()[:1]) in FORMULA_STARTS else line


def _unix_line_ends(text: str) -> str:
    """The text without the carriage returns at the ends of its lines, which Windows writes."""
    if "\r" not in text:
        return text
    return "\n".join([line.rstrip("\r") for line in text.split("\n")])


def _line_states(text: str, *, full: bool) -> str:
    """The lines as a terminal shows them: a carriage return starts the line over. With `full`, each start is a line."""
    text = _unix_line_ends(text)
    if "\r" not in text:
        return text
    if full:
        return text.replace("\r", "\n")
    return "\n".join([line.rpartition("\r")[2] for line in text.split("\n")])


def _visible(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def readable_colours(code: str) -> str:
    """The escape code of a colour (`ESC [ … m`) without what could hide text; empty if nothing remains."""
    numbers = [int(number) if len(number) < 4 else -1 for number in _numbers(code)]
    kept = ";".join(_kept(numbers))
    return f"\x1b[{kept}m" if kept else ""


def _numbers(code: str) -> list[str]:
    return [number or "0" for number in code[2:-1].replace(":", ";").split(";", MAX_CODES)[:MAX_CODES]]


def _kept(numbers: list[int]) -> Iterator[str]:
    at = 0
    while at < len(numbers):
        number = numbers[at]
        at += 1
        if number in KEPT:
            yield str(number)
        elif number in BLACK_OR_WHITE:
            yield DEFAULT
        elif number in (38, 48):
            colour = numbers[at : at + (4 if numbers[at : at + 1] == [2] else 2)]
            at += len(colour)
            if number == 38:
                yield ";".join(["38", *map(str, colour)]) if _is_readable(colour) else DEFAULT


def _is_readable(colour: list[int]) -> bool:
    if not all(0 <= value <= 255 for value in colour):
        return False
    match colour:
        case [5, index]:
            return DARKEST < _luminance(*_rgb(index)) < LIGHTEST
        case [2, red, green, blue]:
            return DARKEST < _luminance(red, green, blue) < LIGHTEST
        case _:
            return False


def _rgb(index: int) -> tuple[int, int, int]:
    """The red, green and blue of one of 256 colours; of the first 16, terminals agree on black and white only."""
    if index < 16:
        return {0: (0, 0, 0), 7: (255, 255, 255), 15: (255, 255, 255)}.get(index, (128, 128, 128))
    if index >= 232:
        grey = 8 + (index - 232) * 10
        return grey, grey, grey
    cube = index - 16
    red, green, blue = (55 + step * 40 if step else 0 for step in (cube // 36, cube // 6 % 6, cube % 6))
    return red, green, blue


def _luminance(red: int, green: int, blue: int) -> float:
    """How bright a colour looks, from 0 to 1."""
    return (0.2126 * red**2 + 0.7152 * green**2 + 0.0722 * blue**2) / 255**2
