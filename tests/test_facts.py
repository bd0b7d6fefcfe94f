"""The store of facts: however it came to be, it says what counting anew says."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_accounts_laws import trees

import reread

GROUPS = ("session", "agent", "model", "day", "thread", "project")


def said(root: Path, **options: Any) -> Iterator[Any]:
    """What the store says of sessions, in all ways that a law compares."""
    for by in ((), *GROUPS):
        used = reread.usage(root=root, by=by, **options)
        yield by, used.totals, used.rows
    done = reread.stats(root=root, by="session", **options)
    yield done.totals, done.rows, done.about


def write(folder: Path, tree: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for number, text in enumerate(tree):
        file = folder / "projects" / "-p" / f"{number:08}-0000-4000-8000-000000000000.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def change(folder: Path, number: int, text: str) -> None:
    """Append to a file, begin it, or delete it if there is no text."""
    file = folder / "projects" / "-p" / f"{number:08}-0000-4000-8000-000000000000.jsonl"
    if text:
        with file.open("a") as opened:
            opened.write(text)
    else:
        file.unlink(missing_ok=True)


changes = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.just(""), trees.map(lambda tree: tree[0]))), max_size=3)


@given(tree=trees, steps=changes)
def test_a_store_that_grew_says_what_one_says_that_was_made_at_once(
    tmp_path_factory: pytest.TempPathFactory, tree: list[str], steps: list[tuple[int, str]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REREAD_CACHE", str(home / "cache"))
        write(home, tree)
        for number, text in [(9, ""), *steps]:
            change(home, number, text)
            assert list(said(home)) == list(said(home, cache=False))
    shutil.rmtree(home)
