"""Colours of recorded output that cannot hide text."""

from __future__ import annotations

import io

from batches import table

from reread.base.sanitize import coloured_output, csv_cell, readable_colours, safe, safe_json, safe_line, terminal_text
from reread.cli._output import PrintableStream


@table(
    ("code", "kept"),
    [
        ("\x1b[31m", "\x1b[31m"),
        ("\x1b[1;32m", "\x1b[1;32m"),
        ("\x1b[m", "\x1b[0m"),
        ("\x1b[8m", ""),
        ("\x1b[30;40m", "\x1b[39m"),
        ("\x1b[97m", "\x1b[39m"),
        ("\x1b[41;31m", "\x1b[31m"),
        ("\x1b[48;5;1;31m", "\x1b[31m"),
        ("\x1b[38;5;0m", "\x1b[39m"),
        ("\x1b[38;5;208m", "\x1b[38;5;208m"),
        ("\x1b[38;5;232m", "\x1b[39m"),
        ("\x1b[38:2:1:1:1m", "\x1b[39m"),
        ("\x1b[38;2;200;80;40m", "\x1b[38;2;200;80;40m"),
        ("\x1b[38;2;300;80;40m", "\x1b[39m"),
        ("\x1b[38m", "\x1b[39m"),
        ("\x1b[99999999999999999999m", ""),
    ],
)
def test_colours_that_hide_text_are_left_out(code: str, kept: str) -> None:
    assert readable_colours(code) == kept


def test_concealed_output_is_shown() -> None:
    assert coloured_output("\x1b[8msecret\x1b[28m \x1b[30;40mblack\x1b[0m") == "secret \x1b[39mblack\x1b[0m"


def test_a_long_code_takes_linear_time() -> None:
    assert readable_colours("\x1b[" + "1;" * 100_000 + "8m").count("1") == 64


def test_nothing_but_colours_and_pictures_is_printed() -> None:
    assert terminal_text("\x1b[1mbold\x1b[0m\n\ttext") == "\x1b[1mbold\x1b[0m\n\ttext"
    picture = "\x1b]1337;File=inline=1;height=16:aGVsbG8=\x07"
    assert terminal_text(picture) == picture
    assert terminal_text("\x1b]0;title\x07\x1b[2J\u202e\x9b") == "\\x1b]0;title\\x07\\x1b[2J\\u202e\\x9b"
    assert terminal_text("\x1b]1337;File=inline=1:a\x1b]0;t\x07") == "\\x1b]1337;File=inline=1:a\\x1b]0;t\\x07"


def test_invisible_characters_become_visible() -> None:
    assert safe("a\u200b\U000e0041\u2028") == "a\\u200b\\U000e0041\\u2028"
    assert safe_json('"\U000e0041\x9b"') == '"\\udb40\\udc41\\u009b"'


def test_nothing_else_passes_standard_output() -> None:
    buffer = io.BytesIO()
    stream = PrintableStream(buffer, encoding="utf-8")
    stream.write("\x1b[1mbold\x1b[0m \x1b]0;title\x07\u202e")
    stream.flush()
    assert buffer.getvalue().decode() == "\x1b[1mbold\x1b[0m \\x1b]0;title\\x07\\u202e"


def test_a_line_stays_one_line() -> None:
    assert safe_line("a\nb\tc\x1b") == "a\\x0ab\\x09c\\x1b"


def test_cells_are_never_formulas() -> None:
    assert csv_cell("\uff1d1+1") == "'\uff1d1+1" and csv_cell("a\n=1") == "a\\x0a=1"
    assert [csv_cell(text) for text in ("=1+1", " @x", "-2", "plain")] == ["'=1+1", "' @x", "'-2", "plain"]
