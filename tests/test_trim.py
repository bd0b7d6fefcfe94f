"""The limits on nodes sent to the browser."""

from typing import Any

import pytest

from reread.base import jsontext
from reread.reader.schema import CutNode
from reread.reader.trim import CHARS, DEPTH, HUNK_LINE, ITEMS, LINES, Trimmer, short_list, short_text
from reread.tools import nodes as n


def trim(*drawn: n.Node, whole: bool = False) -> tuple[list[n.Node], list[CutNode]]:
    """The nodes trimmed, and what was cut."""
    trimmer = Trimmer(lambda _: "/picture", whole=whole)
    return trimmer.nodes(drawn), trimmer.cut


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("a\nb", "a\nb"),
        ("x" * CHARS, "x" * CHARS),
        ("x" * (CHARS + 1), "x" * CHARS),
        ("a\n" * LINES, "\n".join("a" * LINES)),
        ("a\n" * (LINES - 1), "a\n" * (LINES - 1)),
        ("x" * (CHARS + 5) + "\n" + "y\n" * LINES, "x" * CHARS),
    ],
    ids=["short", "just fits", "too long", "too many lines", "just enough lines", "a long first line"],
)
def test_texts_are_cut_by_lines_and_characters(text: str, short: str) -> None:
    assert short_text(text) == short


def test_a_short_text_or_list_is_the_same_object() -> None:
    files, text = [n.FileEntry(path="a")], "".join(["a", "b"])
    assert short_list(files) is files and short_text(text) is text


def test_a_list_is_cut_by_the_number_of_its_items() -> None:
    files = [n.FileEntry(path=str(at)) for at in range(ITEMS + 1)]
    (node,), (cut,) = trim(n.Files(entries=files))
    assert isinstance(node, n.Files) and node.entries == files[:ITEMS]
    assert (cut.path, cut.lines) == ([0], ITEMS + 1)


def test_a_list_is_cut_by_its_size() -> None:
    rows = [["x" * CHARS] for _ in range(5)]
    (node,), (cut,) = trim(n.Table(columns=["a"], rows=rows))
    assert isinstance(node, n.Table) and node.rows == rows[:4]
    assert (cut.lines, cut.chars) == (5, 5 * CHARS)


def test_each_line_of_a_diff_counts() -> None:
    lines = CHARS * 4 // HUNK_LINE // 2 + 1
    hunks = [n.Hunk(old_start=1, new_start=1, lines=[""] * lines) for _ in range(2)]
    (node,), (cut,) = trim(n.Diff(hunks=hunks))
    assert isinstance(node, n.Diff) and [len(hunk.lines) for hunk in node.hunks] == [LINES]
    assert cut.lines == 2 * lines


@pytest.mark.parametrize(
    "node",
    [
        n.Table(columns=["a"], rows=[["x" * CHARS * 9]]),
        n.Diff(hunks=[n.Hunk(old_start=1, new_start=1, lines=["x" * CHARS * 9])]),
        n.Files(entries=[n.FileEntry(path="x" * CHARS * 9)]),
    ],
    ids=["table", "diff", "files"],
)
def test_an_item_that_is_too_large_by_itself_is_cut(node: n.Node) -> None:
    (short,), (cut,) = trim(node)
    assert len(jsontext.dumps(short)) < CHARS * 2 and cut.chars == CHARS * 9
    assert trim(node, whole=True) == ([node], [])


@pytest.mark.parametrize(
    ("value", "short"),
    [
        ({"a": 1, "b": [None, True]}, {"a": 1, "b": [None, True]}),
        ("x" * CHARS + "y", "x" * CHARS + "…"),
        (["x" * CHARS, "y", "z"], ["x" * (CHARS - 8) + "…", "…"]),
        ({"a": "x" * CHARS, "b": 1, "c": 2}, {"a": "x" * (CHARS - 9) + "…", "…": "2 more"}),
    ],
    ids=["small", "string", "list", "object"],
)
def test_json_is_cut_with_an_ellipsis(value: Any, short: Any) -> None:
    (node,), cut = trim(n.Data(value=value))
    assert isinstance(node, n.Data) and node.value == short and bool(cut) is (value != short)


def test_deep_json_becomes_text() -> None:
    value: Any = "end"
    for _ in range(DEPTH + 2):
        value = [value]
    (node,), cut = trim(n.Data(value=value))
    assert isinstance(node, n.Data) and not cut
    shown = node.value
    for _ in range(DEPTH):
        (shown,) = shown
    assert shown == '[["end"]]'


def test_nodes_in_sections_are_cut_and_found_by_their_path() -> None:
    inner = n.Section(title="b", nodes=[n.Prose(text="short"), n.Prose(text="x" * CHARS * 2)])
    (section,), (cut,) = trim(n.Section(title="a", nodes=[inner]))
    assert cut == CutNode(path=[0, 0, 1], lines=1, chars=CHARS * 2)
    assert len(jsontext.dumps(section)) < CHARS + 200


def test_pictures_become_urls_even_if_nothing_is_cut() -> None:
    picture = n.Picture(media_type="image/png", data="QUJD")
    for whole in (False, True):
        ((shown,), _) = trim(picture, whole=whole)
        assert isinstance(shown, n.Picture) and (shown.url, shown.data) == ("/picture", None)
