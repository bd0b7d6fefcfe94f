"""Long listings go through a pager on a terminal, and nowhere else; search results fit its width."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reread.cli import VERBS, all_verbs, reread
from reread.index.answer import Answer
from reread.index.hits import Hit
from reread.render.search_results import result_lines
from reread.value_types import Hits

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

PROJECT = "/home/sam/code/harbor"
LISTINGS = {
    "ls": ["ls"],
    "search": ["search", "retry"],
    "show": ["show"],
    "context": ["context"],
    "files": ["files"],
    "diff": ["diff", "latest"],
    "blame": ["blame", __file__],
    "review": ["review", "HEAD~1..HEAD"],
    "check": ["check"],
    "usage": ["usage"],
    "stats": ["stats"],
    "advise": ["advise"],
    "sql": ["sql", "from calls"],
    "tables": ["tables"],
    "share": ["share", "--check"],
}


def test_every_verb_that_prints_a_listing_takes_the_same_option() -> None:
    paged = {verb for verb in all_verbs() for param in command(verb).params if "--no-pager" in param.opts}
    assert paged == {*LISTINGS, "now"}, "which follows what runs, in place of a pager"


TABLES: dict[str, list[list[str]]] = {
    "ls": [["--only", "prompts"], ["--lines"], ["--only", "trash"]],
    "usage": [
        ["--list"],
        ["--prices"],
        ["--by", "session"],
        ["--by", "model"],
        ["--by", "cache"],
        ["--by", "cache,turn"],
    ],
    "stats": [["--list"], ["--by", "session"], ["--by", "tool"], ["--by", "day,project"], ["--by", "failure"]],
    "search": [["retry"], ["retry", "--match", "regex"]],
    "sql": [["from calls"], ["from sessions"], ["from messages"]],
    "advise": [["--full"]],
}
"""More ways to have a table."""
AS_WRITTEN = {
    "show",
    "brief",
    "digest",
    "diff",
    "blame",
    "file",
    "review",
    "check",
    "tables",
    "share",
    "export",
}
"""Verbs that print texts, patches, or a line for each finding as a compiler does, which a terminal wraps."""
RUNNING = {"serve", "tail", "statusline", "capture", "replay", "resume", "delete", "archive", "completion"}
"""Verbs that print no table, or change something."""


@pytest.mark.parametrize("width", [60, 80])
def test_every_table_fits_the_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    drawn: set[str] = set()
    for verb in sorted({*VERBS} - AS_WRITTEN - RUNNING):
        for words in [LISTINGS.get(verb, [verb]), *([verb, *more] for more in TABLES.get(verb, []))]:
            shown = CliRunner().invoke(reread, ["--demo", *words])
            assert shown.exit_code in (0, 1, 2), (words, shown.exception)
            wide = [line for line in shown.stdout.splitlines() if cell_len(line) > width]
            assert not wide, (words, wide[0])
            if len(shown.stdout.splitlines()) > 2:
                drawn.add(verb)
    assert drawn >= {"ls", "search", "context", "files", "usage", "stats", "sql"}


def command(verb: str):
    found = reread.get_command(reread.make_context("reread", ["--demo", "ls"]), verb)
    assert found is not None
    return found


@pytest.fixture
def paged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was given to the pager, with standard output that says it is a terminal."""
    pages: list[str] = []
    monkeypatch.setattr("click.echo_via_pager", lambda text, color: pages.append("".join(text)))
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: True, raising=False)
    return pages


@pytest.mark.parametrize(
    "verb", [verb for verb in LISTINGS if verb not in ("advise", "blame", "review", "share", "--check", "sql")]
)
def test_a_listing_is_paged_on_a_terminal(verb: str, paged: list[str]) -> None:
    words = ["--demo", *LISTINGS[verb]]
    direct = CliRunner().invoke(reread, [*words, "--no-pager"])
    assert direct.stdout and not paged
    found = CliRunner().invoke(reread, words)
    assert len(paged) == 1 and found.stdout == ""
    assert len(paged[0].splitlines()) == len(direct.stdout.splitlines())


def test_the_pager_of_the_environment_is_used(tmp_path: Path) -> None:
    program = tmp_path / "pager"
    program.write_text("#!/bin/sh\nexec sed 's/^/PAGED /'\n")
    program.chmod(0o700)
    assert screen("--demo", "ls", PAGER=str(program)).startswith("PAGED /home/sam")


def screen(*words: str, **environment: str) -> str:
    """What a verb prints to a terminal of 80 columns."""
    leader, follower = pty.openpty()
    env = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "xterm"} | environment
    command = [sys.executable, "-m", "reread", *words]
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(follower)
        out = b""
        while True:
            try:
                piece = os.read(leader, 1 << 16)
            except OSError:  # Linux says so when the other end is closed
                break
            if not piece:
                break
            out += piece
        process.wait(150)
    os.close(leader)
    return out.decode().replace("\r\n", "\n")


def hit(before: str, match: str, after: str, **more: object) -> Hit:
    fields: dict[str, object] = {"session": "8c1f0b52-7a", "title": "A title", "project": PROJECT, "path": "/p"}
    fields |= {"line": 3, "turn": 4, "kind": "input", "tool": "Edit", "link": "#", "file": f"{PROJECT}/src/a.py"}
    return Hit(**(fields | {"before": before, "match": match, "after": after} | more))  # pyright: ignore[reportArgumentType]


def texts(hits: list[Hit], width: int | None) -> list[str]:
    return [
        "".join(text for _, text in line)
        for line in result_lines(hits, Hits(iter(()), Answer(iter(()), len(hits))), width=width)
    ]


words = st.text(st.sampled_from("ab .-/日é🎉\n"), max_size=90)


@given(words, st.text(st.sampled_from("xyz日"), min_size=1, max_size=60), words, words, st.integers(40, 130))
def test_results_fit_the_terminal_and_show_the_match(
    before: str, match: str, after: str, title: str, width: int
) -> None:
    lines = texts([hit(before[:80], match, after[:80], title=title, project=f"/{title}", file=f"/{title}/x")], width)
    assert all(cell_len(line) <= width for line in lines if "reread show" not in line)
    shown = lines[3]
    assert match in shown or (cell_len(match) > width - 5 and match[: width // 4] in shown)


def test_a_snippet_is_cut_between_words() -> None:
    before = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "[-80:]
    after = " alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron p"[:80]
    said = [str(word) for word in f"{before}MATCH{after}".split()]
    for width in range(40, 200, 7):
        line = texts([hit(before, "MATCH", after)], width)[3].strip()
        assert line.startswith("…") and line.endswith("…")
        kept = line.strip("…").split(" ")
        first = said.index(kept[0])
        assert first > 0 and kept == said[first : first + len(kept)]
    assert texts([hit("short ", "MATCH", " text")], 60)[3] == "    short MATCH text"


def test_without_a_terminal_nothing_is_cut() -> None:
    long = {"title": "t" * 300, "file": "/" + "f" * 300, "project": "/" + "p" * 300}
    lines = texts([hit("b" * 70 + " ", "m" * 300, " after", **long)], None)
    assert lines[0] == f"{'t' * 300}  /{'p' * 300}" and lines[2].endswith(f"/{'f' * 300}")
    assert lines[3] == f"    {'b' * 70} {'m' * 300} after"


def test_the_command_to_read_on_is_printed_once_for_a_session() -> None:
    lines = texts([hit("", "one", ""), hit("", "two", "", turn=9), hit("", "three", "", branch=1)], 80)
    assert [line for line in lines if "reread show" in line] == ["  reread show 8c1f0b52-7a:4"]
    assert lines[2] == "  turn 4 · Edit input · src/a.py"
    assert lines[4].startswith("  turn 9 ") and lines[6].startswith("  turn 4, path 1 ")


@pytest.mark.parametrize(
    "words", [["usage", "--by", "session"], ["stats"], ["tables"], ["diff", "d2a9@0", "d2a9@1", "--stat"]]
)
@pytest.mark.parametrize("width", [60, 80])
def test_listings_fit_the_terminal(words: list[str], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = CliRunner().invoke(reread, ["--demo", *words]).stdout.splitlines()
    assert lines and max(map(cell_len, lines)) <= width
