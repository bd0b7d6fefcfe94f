"""Regular expressions over all sessions: candidates from the index, verified on the text."""

import json
import re
import signal
from pathlib import Path

import pytest
from command import cli
from hypothesis import given
from hypothesis import strategies as st
from making import reply, user, write

import reread
from reread.errors import Misuse
from reread.index.regex import required_literals


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "projects/p").mkdir(parents=True)
    return tmp_path


def test_the_verb_stops_a_regular_expression_that_runs_away(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, user("a" * 60 + "! needle"))
    monkeypatch.setattr("reread.index.search_process.MATCHING_SECONDS", 0.3)
    with pytest.raises(Misuse, match="took more than 0 seconds and was stopped"):
        cli("--root", root, "search", "--match=regex", "(a+)+$")
    monkeypatch.setattr("reread.index.search_process.MATCHING_SECONDS", 60.0)
    found = json.loads(cli("--root", root, "search", "--match=regex", "nee+dle", "--json").output)
    assert [hit["match"] for hit in found["hits"]] == ["needle"] and found["total"] == 1
    assert {"with_all", "with_some", "words", "corrected", "facets"} < set(found)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that send signals")
@pytest.mark.filterwarnings(  # it may come just after a file was opened, or while one is closed
    "ignore:unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_person_can_interrupt_a_regular_expression_that_runs_away(root: Path) -> None:
    write(root, user("a" * 60 + "!"))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
        with pytest.raises(KeyboardInterrupt):
            list(reread.search("(a+)+$", regex=True, root=root))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_regular_expressions_are_verified_on_the_text(root: Path) -> None:
    write(root, user("class FooHandler(Base)"), user("a handler"), user('say "FooHandler ("'))
    assert [hit.line for hit in reread.search(r"\w+Handler\(", root=root, regex=True)] == [1]
    assert len(list(reread.search(r"[Hh]andler", root=root, regex=True))) == 3
    assert len(list(reread.search(r".", root=root, regex=True))) == 3
    assert next(reread.search(r"(?i)HANDLER$", root=root, regex=True)).match == "handler"


def test_a_search_stops_at_enough_and_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, *(user(f"needle {n}") for n in range(30)))
    monkeypatch.setattr("reread.index.answer.MOST_VERIFIED", 10)
    monkeypatch.setattr("reread.index.answer.BATCH", 5)
    found = reread.search(r"need\w+ \d", root=root, regex=True, limit=3)
    assert (found.total, len(list(found))) == (10, 3)
    assert "At least 10 texts match; 20 older" in found.note
    monkeypatch.setattr("reread.index.answer.MOST_VERIFIED", 29)
    for batch, note in ((29, "At least 29 texts match; 1 older ones may, too."), (30, "")):
        monkeypatch.setattr("reread.index.answer.BATCH", batch)
        assert reread.search(r"need\w+ \d", root=root, regex=True, limit=3).note == note
    found = reread.search(r"need\w+ \d", root=root, regex=True, limit=None)
    assert (found.total, len(list(found)), found.note) == (30, 30, "")
    assert [hit.line for hit in reread.search(r"needle 2$", root=root, regex=True, limit=1)] == [3]


PIECES = ("ab", "a", "b ", ".", r"\w+", "(ab|a)", "(a)", "b?", "[ab]", "(?:ab)+", "(?i:a)", r"\b", "é", '"', "/")


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.text('abAB é"\\/\n\x1b', max_size=12))
def test_whatever_matches_contains_the_literals(pieces: list[str], text: str) -> None:
    pattern = re.compile("".join(pieces))
    if pattern.search(text):
        line = json.dumps(text, ensure_ascii=False).encode()
        assert all(literal in line for literal in required_literals(pattern))


def test_text_that_is_written_with_escapes_matches(root: Path) -> None:
    path = write(root, reply("the needle", "\x1b[1mnee\x1b[0mdle of two"))
    path.write_bytes(path.read_bytes().replace(b"the needle", b"the \\u006eeedle"))
    assert len(list(reread.search(r"needle( of)?", root=root, regex=True))) == 2
