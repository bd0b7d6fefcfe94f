"""The parts of the tools for files: differences, numbered lines, languages, patterns, images."""

from __future__ import annotations

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st

from reread.tools import _diff
from reread.tools.generic import dimensions
from reread.tools.nodes import Hunk
from reread.tools.search import matched_texts
from reread.tools.spilled import parse_numbered_lines, unwrap

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAJUlEQVR4nGNgYGCQk5OzsbGJioqqqKiY"
    "Nm3ali1bLl26xDC0JABjG07Bu/EhPgAAAABJRU5ErkJggg=="
)
GIF = "R0lGODlhAwACAIAAAP///wAAACH5BAAAAAAALAAAAAADAAIAAAICRF4AOw=="
JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/wAARCAACAAMDASIAAhEBAxEB"
REMINDER = "<system-reminder>\nBe careful.\n</system-reminder>\n"


def test_an_image_has_dimensions() -> None:
    assert (dimensions(GIF), dimensions(JPEG)) == ((3, 2), (3, 2))
    assert [dimensions(text) for text in ("", "é", "AAAA", PNG[:20], JPEG[:20])] == [None] * 5


@table(
    ("pattern", "content", "ignore_case", "expected"),
    [
        ("TODO", "a.py:4:TODO: x", False, ["TODO"]),
        ("todo", "a.py:4:TODO: x", True, ["TODO"]),
        ("(?i)todo", "TODO todo", False, ["TODO", "todo"]),
        (r"^import \w+", "a.py:1:import os\nb.py-2-import sys", False, ["import os", "import sys"]),
        (r"\bticks\(", "ticks(1)", False, ["ticks("]),
        ("retr(y|ies)", "retry retries", False, ["retry", "retries"]),
        (r"\d{4}", "in 2026", False, ["2026"]),
        ("(a+)+b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", False, []),
        (r"(ab)+ long\.name", "abab long.name", False, [" long.name", "ab"]),
        (r"\p{Lu}oken", "Token", False, ["oken"]),
        ("[[:alpha:]]+x{2}yz", "axxyz", False, ["yz"]),
        ("(", "f(x)", False, []),
        ("", "f(x)", False, []),
        ("x*", "abc", False, []),
    ],
)
def test_matches_of_a_pattern_are_highlighted(
    pattern: str, content: str, ignore_case: bool, expected: list[str]
) -> None:
    assert matched_texts(pattern, content, ignore_case=ignore_case) == expected


def test_highlighting_is_fast_for_any_pattern() -> None:
    line = "a" * 5000
    for pattern in ("(a*)*b", "a*a*a*a*a*b", "(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)b", "a?" * 40 + "a" * 40, ".*.*.*x"):
        assert len(matched_texts(pattern, "\n".join([line] * 50))) <= 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("     1→a\n     2→b", (1, "a\nb", "", "")),
        ("9\ta\n10\t", (9, "a\n", "", "")),
        ("head\n1\ta\n3\tc", (1, "a", "head", "3\tc")),
        ("1→2→x", (1, "2→x", "", "")),
    ],
)
def test_line_numbers_are_removed(text: str, expected: tuple[int, str, str, str]) -> None:
    assert parse_numbered_lines(text) == expected


def test_a_text_without_line_numbers() -> None:
    assert parse_numbered_lines("a\nb") is None


def test_a_reminder_inside_the_file_stays() -> None:
    inside = "1\t<system-reminder>\n2\tx</system-reminder>"
    assert unwrap(inside).text == inside
    assert unwrap(f"1\ta\n\n{REMINDER}\n{REMINDER}").text == "1\ta"
    assert unwrap(REMINDER).text == ""


@table(
    ("path", "expected"),
    [
        ("src/a.PY", "python"),
        ("C:\\x\\Makefile", "makefile"),
        ("Dockerfile", "dockerfile"),
        ("a.test.tsx", "tsx"),
        (".bashrc", "bash"),
        ("notes.txt", None),
        ("", None),
        ("src/", None),
    ],
)
def test_the_language_follows_from_the_file_name(path: str, expected: str | None) -> None:
    assert _diff.language_of(path) == expected


LINES = st.lists(st.sampled_from(["a", "b", "", "c d", "-x", "+y"]), max_size=30)


@given(LINES, LINES)
def test_a_computed_diff_turns_old_into_new(old: list[str], new: list[str]) -> None:
    old, new = [*old, "end"], [*new, "end"]
    made, at = [], 0
    for hunk in _diff.compute_hunks("\n".join(old), "\n".join(new)):
        assert len(made) + hunk.old_start - 1 - at == hunk.new_start - 1
        made += old[at : hunk.old_start - 1]
        at = hunk.old_start - 1
        for line in hunk.lines:
            if line[0] != "+":
                assert old[at] == line[1:]
                at += 1
            if line[0] != "-":
                made.append(line[1:])
    assert made + old[at:] == new


def test_a_line_added_to_many_equal_ones() -> None:
    [hunk] = _diff.compute_hunks("a\n" * 10, "a\n" * 11)
    assert hunk == Hunk(old_start=8, new_start=8, lines=[" a", " a", " a", "+a"])
    [hunk] = _diff.compute_hunks("a\n" * 11, "a\n" * 10)
    assert hunk == Hunk(old_start=8, new_start=8, lines=[" a", " a", " a", "-a"])


def test_a_huge_rewrite_is_not_compared() -> None:
    old, new = "\n".join(f"old {n}" for n in range(3000)), "\n".join(f"new {n}" for n in range(3000))
    assert _diff.change_counts(_diff.compute_hunks(old, new)) == "+3000 −3000"


def test_replacements_cannot_grow_a_file_without_limit() -> None:
    assert (
        _diff.apply_edits("a" * 10**5, [_diff.Edit(old_string="a", new_string="b" * 10**5, replace_all=True)]) is None
    )


def test_an_edit_replaces_the_first_occurrence_or_all_of_them() -> None:
    edits = [_diff.Edit(old_string="a", new_string="x"), _diff.Edit(old_string="b", new_string="y", replace_all=True)]
    assert _diff.apply_edits("a b a b", edits) == "x y a y"


def test_an_edit_that_does_not_match_is_not_applied() -> None:
    assert _diff.apply_edits("a", [_diff.Edit(old_string="b", new_string="c")]) is None
    assert _diff.apply_edits("a", [_diff.Edit(old_string="", new_string="c")]) is None
