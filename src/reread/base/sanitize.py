"""Make text from transcripts safe to print: escape codes and invisible characters become visible."""

from __future__ import annotations

import re
import unicodedata

from reread.base.colours import readable_colours

FORMULA_STARTS = ("=", "+", "-", "@", "|", "%")
"""Characters that a spreadsheet takes for the beginning of a formula; wide forms of these characters, too."""
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # operating system commands: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device control and application program commands
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences
    r"|\x1b[ -/]*[0-~]?"  # all others
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # text direction
    r"\u00ad\u180e\ufff9-\ufffb"  # soft hyphens, separators and annotations
    r"\u2028\u2029\u200b\u2060-\u2065\u206a-\u206f\ufeff\U000e0000-\U000e007f"  # line separators and what nobody sees
    r"\ud800-\udfff]"
)
_ASCII_CONTROL = bytes(number for number in range(128) if _CONTROL.match(chr(number)))
_BREAK = re.compile(r"[\n\t]")
_OWN_CODES = re.compile(
    r"\x1b\[[0-9;]*m"  # colours
    r"|\x1b\]1337;File=[a-z0-9=;]*:[A-Za-z0-9+/=]*\x07|\x1b_G[a-zA-Z0-9=,]*;[A-Za-z0-9+/=]*\x1b\\"  # pictures
    rf"|({_CONTROL.pattern})"
)


def safe(text: str) -> str:
    """Text with control characters and direction overrides made visible."""
    if text.isascii() and (text.isprintable() or not _has_ascii_control(text.encode())):
        return text
    return _CONTROL.sub(_visible, _unix_line_ends(text))


def _has_ascii_control(data: bytes) -> bool:
    """True if there are such characters: deleting them tells in a third of the time that the pattern takes."""
    return len(data.translate(None, _ASCII_CONTROL)) < len(data)


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
    if not _CONTROL.search(text):
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
