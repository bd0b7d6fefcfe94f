"""What a result or an attachment shows of a file: the whole text, some of its lines, or nothing that is certain."""

from typing import Any

import pytest
from batches import table

from reread.history.reads import LIMIT, FileExcerpt, attached_text, hooked_paths, numbered_text

REMARK = "\n\n<system-reminder>\nMind this.\n</system-reminder>\n"


@table(
    ("text", "ranged", "expected"),
    [
        ("1\ta\n2\tb", False, ("a\nb", 1, True)),
        ("     1→a\n     2→b", False, ("a\nb", 1, True)),
        ("1\ta\n2\tb", True, ("a\nb", 1, False)),
        ("7\ta\n8\tb", False, ("a\nb", 7, False)),
        ("1\ta\n3\tb", False, ("a", 1, False)),
        ("1\ta\nand more", False, ("a", 1, False)),
        (f"1\ta{REMARK}", False, ("a", 1, True)),
        (f"1\ta{REMARK}{REMARK}", False, ("a", 1, False)),
        (f"1\ta\nand more{REMARK}", False, ("a", 1, False)),
        ("1\t" + "x" * (LIMIT - 1), False, ("x" * (LIMIT - 1), 1, True)),
        ("1\t" + "x" * LIMIT, False, None),
        ("no number", False, None),
        ("", False, None),
    ],
)
def test_lines_with_numbers(text: str, ranged: bool, expected: tuple[str, int, bool] | None) -> None:
    assert numbered_text("/f", text, ranged) == (FileExcerpt("/f", *expected) if expected is not None else None)


@pytest.mark.parametrize(("count", "whole"), [(LIMIT - 1, True), (LIMIT, False)])
def test_a_text_of_so_many_lines_may_have_been_cut(count: int, whole: bool) -> None:
    shown = numbered_text("/f", "\n".join(f"{n}\tx" for n in range(1, count + 1)), ranged=False)
    assert shown is not None and shown.whole is whole and shown.text.count("\n") == count - 1


def attached(content: str, count: int, total: int | None, **more: Any) -> FileExcerpt | None:
    file = {"filePath": "/f", "content": content, "numLines": count, "totalLines": total, "startLine": 1, **more}
    return attached_text({"type": "file", "filename": "/f", "content": {"type": "text", "file": file}})


@table(
    ("shown", "expected"),
    [
        (attached("a\nb", 2, 2), ("a\nb", 1, True)),
        (attached("a\nb", 2, 3), ("a\nb", 1, False)),
        (attached("a\nb", 2, 2, startLine=0), ("a\nb", 1, True)),
        (attached("a\nb", 2, 2, startLine=2), ("a\nb", 2, False)),
        (attached("a\nb", 2, 2, truncatedByTokenCap=True), ("a\nb", 1, False)),
        (attached("a\nb\n", 2, 2), ("a\nb\n", 1, False)),
        (attached("a\nb", 4, 4), None),
        (attached("a\nb", 1, 1), ("a\nb", 1, False)),
        (attached("", 1, 1), ("", 1, True)),
        (attached("", 1, 2), None),
        (attached("a\r\nb", 2, 2), ("a\nb", 1, True)),
    ],
)
def test_a_structured_text(shown: FileExcerpt | None, expected: tuple[str, int, bool] | None) -> None:
    assert shown == (FileExcerpt("/f", *expected) if expected is not None else None)


def test_an_attachment_without_a_name_or_a_text_shows_nothing() -> None:
    assert attached_text({"type": "file", "content": {}}) is None
    assert attached_text({"type": "file", "filename": "/f", "content": {"type": "image"}}) is None
    snippet = {"type": "edited_text_file", "filename": "/f", "snippet": "1\ta"}
    assert attached_text(snippet) == FileExcerpt("/f", "a", 1, False)


def test_a_hook_that_changed_a_file_is_named() -> None:
    said = "PostToolUse hook modified /w/a b.py after your edit; read it again"
    assert hooked_paths({"content": [said, 7, "PostToolUse hook ran"]}) == ["/w/a b.py"]
    assert hooked_paths({"content": said}) == []
