"""Texts of many megabytes in the terminal: nothing is lost, and the time is bounded."""

import io

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st
from making import answer, read, reply, result, thinking, use, user
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from reread.render.long_text import BEGINNING, END, LONG, LongText, excerpt, wrap_text
from reread.render.selection import Selection
from reread.render.terminal import PrefixedText, TerminalView, make_console
from reread.render.terminal_nodes import NodeView
from reread.session.session import Session
from reread.tools import nodes

WORDS = "The quick brown fox jumps over the lazy dog. "


@given(st.text(st.sampled_from("ab ,\t\n日é🎉\u0301")), st.integers(2, 12))
def test_every_line_fits_and_every_character_is_there(text: str, width: int) -> None:
    lines = list(wrap_text(text, width))
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.lists(st.text("abc", min_size=1, max_size=6), max_size=30), st.integers(6, 20))
def test_words_are_kept_whole_as_rich_does(words: list[str], width: int) -> None:
    text = " ".join(words)
    wrapped = [line.plain.rstrip() for line in Text(text).wrap(Console(file=io.StringIO()), width)]
    assert list(wrap_text(text, width)) == (wrapped or [""])


def test_a_character_that_is_wider_than_the_terminal_ends_no_loop() -> None:
    assert list(wrap_text("日本", 1)) == ["日", "本"]


@pytest.mark.parametrize("colours", ["truecolor", None])
def test_the_pages_are_what_rich_would_print(colours: str | None) -> None:
    console = make_console(file=io.StringIO(), width=30, force_terminal=bool(colours), color_system=colours)
    bar = Text("▌ ", style="bar")
    text = LongText(WORDS * 10 + "\n\n日本語 " * 30, "prompt", first=bar, others=bar).indented(2)
    with console.capture() as captured:
        console.print(text, end="")
    printed = "".join(text.pages(console))
    plain = [Text.from_ansi(line).plain for line in (printed, captured.get())]
    assert plain[0] == plain[1] and ("\x1b[1m" in printed) == bool(colours)


def length(item: RenderableType) -> int:
    """The length of the text that `rich` would wrap."""
    while isinstance(item, Padding):
        item = item.renderable
    if isinstance(item, PrefixedText):
        return len(item.text)
    return len(item) if isinstance(item, Text) else len(item.markup) if isinstance(item, Markdown) else 0


LONG_LINE, LONG_LINES = "x" * (2 * LONG), (WORDS + "\n") * (LONG // 20)
NODES = {
    "code": lambda text: nodes.Code(text=text),
    "numbered code": lambda text: nodes.Code(text=text, language="py", start=7),
    "marked code": lambda text: nodes.Code(text=text, marks=["fox"]),
    "output": lambda text: nodes.Terminal(text=text, stream="out"),
    "errors": lambda text: nodes.Terminal(text=text, stream="err"),
    "command": lambda text: nodes.Terminal(text=text, stream="in"),
    "prose": lambda text: nodes.Prose(text=text),
    "note": lambda text: nodes.Note(text=text),
    "data": lambda text: nodes.Data(value={"a": text}),
    "facts": lambda text: nodes.Facts(items=[nodes.Fact(name="name", value=text)]),
    "diff": lambda text: nodes.Diff(
        hunks=[nodes.Hunk(old_start=1, new_start=1, lines=[f"+{one}" for one in text.split("\n")])]
    ),
}


@table("text", [LONG_LINE, LONG_LINES])
@table("name", NODES)
def test_no_long_text_of_a_call_is_left_to_rich(name: str, text: str) -> None:
    drawn = list(NodeView(Selection(full=True)).indented([NODES[name](text)]))
    assert max(map(length, drawn)) <= LONG
    pages = "".join(page for item in drawn if isinstance(item, LongText) for page in item.pages(make_console()))
    assert pages.count("x") == text.count("x") and pages.count("fox") == text.count("fox")


def printed(session: Session, selection: Selection) -> str:
    """The session as `reread show` prints it; no long text is left to `rich`."""
    console = make_console(file=io.StringIO(), width=80)
    pages: list[str] = []
    for item in TerminalView(selection).session(session):
        if isinstance(item, LongText):
            pages += item.pages(console)
        else:
            assert length(item) <= LONG
            with console.capture() as captured:
                console.print(item)
            pages.append(captured.get())
    return "".join(pages)


def long_session(text: str) -> Session:
    """A session with the same prompt, thought, command, result and answer."""
    call = use("t1", command=text)
    return read(user(text), reply(thinking(text), call), answer(result("t1", text)), reply(text, id="m2"))


HOSTILE = {
    "one line": "x" * 150_000,
    "words": WORDS * 4000,
    "lines": (WORDS + "\n") * 4000,
    "empty lines": "\n" * 150_000,
    "spaces": " " * 150_000,
    "tabs": "\t" * 150_000,
    "escape codes": "\x1b[31m" * 40_000,
    "zeros": "\x00" * 150_000,
    "overrides": "\u202e" * 150_000,
    "wide": "日" * 150_000,
    "marks": "a" + "\u0301" * 150_000,
    "fences": "```\n" * 40_000,
    "pipes": "|" * 150_000,
    "tags": "<system-reminder>" * 10_000,
}


@table("text", HOSTILE.values())
def test_a_long_text_is_shown_by_its_beginning_and_end(text: str) -> None:
    shown = printed(long_session(f"FIRST {text} LAST"), Selection())
    assert len(shown) < 10 * 4 * (BEGINNING + END)  # ten columns for a character that is made visible
    assert shown.count("FIRST") >= 5 and shown.count("LAST") >= 2
    assert shown.count("more characters (--full)") >= 2


def test_a_long_text_is_cut_between_words_and_the_rest_is_counted() -> None:
    cut = excerpt(WORDS * 4000)
    assert cut is not None
    assert {*cut.beginning.split(), *cut.end.split()} == set(WORDS.split())
    assert cut.note == f"… {len(WORDS) * 4000 - len(cut.beginning) - len(cut.end):,} more characters (--full)"
    assert excerpt("x" * LONG) is None


def test_nothing_of_a_long_text_is_left_out_with_full() -> None:
    shown = printed(long_session(WORDS * 2000), Selection(full=True))
    assert shown.count("fox") >= 5 * 2000 and "(--full)" not in shown
