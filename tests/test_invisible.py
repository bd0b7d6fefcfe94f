"""A secret is found through everything that one does not see, raw or escaped."""

from __future__ import annotations

import sys
import unicodedata
from urllib.parse import quote

import planted
import pytest
from batches import table

from reread.redaction.normalized_text import visible
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import replace_spans

TOKEN = planted.needle("invisible")
IGNORABLE = (
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0xE0000, 0xE1000),
)
"""What Unicode ignores by default and has in another category than Cf (Default_Ignorable_Code_Point)."""
COMMANDS = {
    "colour": "\x1b[1;31m",
    "colour with colons": "\x1b[38:2::255:0:0m",
    "colour in C1": "\x9b31m",
    "private": "\x1b[?25l",
    "character set": "\x1b(B",
    "title": "\x1b]0;a title\x07",
    "link": "\x1b]8;;https://x.dev/a\x1b\\",
    "link in C1": "\x9d8;;https://x.dev/a\x9c",
    "device control": "\x1bPq#0\x1b\\",
    "keypad": "\x1b=",
    "reset": "\x1bc",
    "bell": "\x07",
    "nul": "\x00",
    "delete": "\x7f",
    "next line": "\x85",
    "struck through": "\u0336",
    "bidi": "\u202e",
    "overstruck": "x\x08",
}
MARKS = {name: chr(code) for name, code in {"LRM": 0x200E, "tag": 0xE0041, "VS16": 0xFE0F, "invisible": 0x2063}.items()}


def left(text: str) -> str:
    return replace_spans(text, SecretScanner().find(text), lambda _: "[cut]")


def test_everything_without_a_width_is_left_out_of_what_one_sees() -> None:
    formatting = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Cf"]
    for code in (*formatting, *IGNORABLE):
        view = visible(f"a{chr(code)}b")
        assert view is not None and view.text == "ab", hex(code)
        assert view.span(0, 2) == (0, 3)


@table("hidden", [*COMMANDS.values(), *MARKS.values()])
def test_secrets_are_found_through_it(hidden: str) -> None:
    assert hidden.join((TOKEN[:9], TOKEN[9:20], TOKEN[20:])) not in left(f"use {hidden.join(TOKEN)} now")
    assert left(f"use {hidden.join(TOKEN)} now") == "use [cut] now"
    assert "orse" not in left(f"{hidden.join('password')} = {hidden.join('correct-horse-9x')}".replace("= ", "= "))
    assert "9x7" not in left(f"DB_PASS{hidden}WORD={hidden}correct{hidden}-horse-9x7")


@pytest.mark.parametrize("mark", [*MARKS.values(), "\u034f", "\u180e", "\u200b"])
def test_escaped_marks_hide_nothing_either(mark: str) -> None:
    code = ord(mark)
    pair = mark.encode("utf-16-be").hex()
    forms = [quote(mark), quote(quote(mark)), f"&#{code};", f"&#x{code:x};", f"\\u{{{code:x}}}", f"\\U{code:08x}"]
    forms += ["".join(f"\\u{pair[n : n + 4]}" for n in range(0, len(pair), 4))]
    forms += ["".join(f"\\x{byte:02x}" for byte in mark.encode())]
    for form in forms:
        assert left(f"use {TOKEN[:9]}{form}{TOKEN[9:]} now") == "use [cut] now", form


def test_other_spaces_and_wide_letters_are_read_as_plain_ones() -> None:
    assert left("password\u00a0=\u3000correct-horse-battery") == "password\u00a0=\u3000[cut]"
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in "password=correct-horse-battery")
    assert left(wide) == f"{wide[:9]}[cut]"


def test_the_marks_between_the_strings_of_a_record_stay() -> None:
    assert visible("a\x1eb\x1fc\td\ne") is None
    view = visible("a\x1eb\x1fc\x07d")
    assert view is not None and view.text == "a\x1eb\x1fcd"
