"""The sample that `make test` runs: chosen by names, with a case of each test."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from effort import left_out, one_in, sampled


def item(name: str, *marks: pytest.MarkDecorator, marked: str | None = None) -> Any:
    file = name.partition("::")[0]
    node = SimpleNamespace(nodeid=marked or name)
    return SimpleNamespace(
        nodeid=name,
        path=Path(file),
        iter_markers_with_node=lambda _: [(node, one.mark) for one in marks],
    )


@pytest.mark.parametrize(
    ("names", "marks", "kept"),
    [
        ([f"tests/a.py::test[{n}]" for n in range(9)], [one_in(4)], 3),
        (["tests/a.py::test"], [one_in(4)], 1),
        (["tests/a.py::test"], [one_in(4), one_in(0)], 0),
        ([f"tests/a.py::test[{n}]" for n in range(9)], [sampled], 9),
        ([f"tests/a.py::test_{n}" for n in range(9)], [one_in(4)], 9),
        ([f"tests/browser/a.py::test_{n}" for n in range(9)], [one_in(4)], 3),
    ],
)
def test_one_in_so_many_is_kept(names: list[str], marks: list[pytest.MarkDecorator], kept: int) -> None:
    items = [item(name, *marks) for name in names]
    left = {one.nodeid for one in left_out(items)}
    assert len(items) - len(left) == kept
    assert left == {one.nodeid for one in left_out(items[::-1])}


@pytest.mark.parametrize("place", ["tests/a.py", "tests/a.py::TestA"])
def test_of_a_file_or_class_that_is_marked_one_test_in_so_many_is_kept(place: str) -> None:
    items = [item(f"{place}::test_{n}[{m}]", one_in(4), marked=place) for n in range(4) for m in range(4)]
    assert len(left_out(items)) == 12
