"""Nothing in a transcript acts on the terminal, the document, the table or the shell that it is printed to."""

from __future__ import annotations

import csv
import io
import os
import re
import select
import signal
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import cmarkgfm
import command
import pytest
from cmarkgfm.cmark import Options
from command import fork_reread
from effort import one_in
from making import answer, jsonl, reply, result, told, use, user
from poison import poisoned_lines

from reread import cli

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

REAL = Path(__file__).parent / "real"
SAMPLES = Path(__file__).parent.parent / "src/reread/samples"
COLOUR = re.compile(r"\x1b\[([0-9;]*)m")
HIDING = {"8", "40", "47", "48", "100", "107", "5", "6"}
OVERRIDES = {"RLO", "LRO", "RLE", "LRE", "RLI", "LRI", "FSI"}
TAG = re.compile(r"</?([a-zA-Z][\w-]*)")

VERBS = [
    ["ls"],
    ["ls", "--json"],
    ["usage"],
    ["usage", "--by", "project,model", "--csv"],
    ["usage", "--by", "session"],
    ["usage", "--json"],
    ["check"],
    ["check", "--drift"],
    ["search", "the"],
    ["search", "the", "--json"],
    ["stats"],
    ["stats", "--csv"],
    ["stats", "--list"],
    ["keep", "--dry-run"],
    ["now", "--no-pager"],
    ["digest", "--since", "2020"],
    ["advise"],
]
SESSION_VERBS = [
    ["show", "--no-pager"],
    ["show", "--no-pager", "--full"],
    ["show", "-f", "markdown", "--full"],
    ["show", "-f", "json"],
    ["check"],
    ["resume", "--dry-run"],
    ["export", "-o", "-", "-f", "markdown"],
    ["show", "--format=raw"],
    ["export", "-o", "-", "-f", "jsonl"],
    ["files"],
    ["diff"],
    ["context"],
    ["brief"],
    ["tag", "planted"],
    ["archive", "--undo"],
    ["delete", "--dry-run"],
    ["replay", "--speed=instant"],
    ["replay", "--speed=instant", "--format=terminal"],
    ["tail", "-n", "99"],
    ["share", "-o", "/dev/null", "--replace-likely"],
]
PLAIN = {
    "serve": "its pages are tested in the browser",
    "file": "prints the text of a file, as `cat` does, through the same stream",
    "blame": "prints the lines of the file that it is given, through the same stream",
    "review": "prints safe lines through the same stream, as test_review.py checks",
    "statusline": "prints printable characters only, as test_status_line.py checks",
    "budget": "prints amounts, and what was typed",
    "capture": "passes on what a program prints",
    "sql": "prints what a query selects, through the same stream",
    "tables": "writes files",
    "mcp": "answers a program",
    "rerun": "prints titles and names as safe lines, through the same stream; tests_rerun plays sessions",
    "lsp": "answers an editor, in which test_lsp.py checks what it shows",
    "completion": "prints a script of its own",
}
"""Verbs that print nothing of a transcript to a terminal, or only what was asked for."""
ENDLESS = "tail"
QUIET_SECONDS = 6.0
"""A verb that follows a file has printed everything once it is silent for so long."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A projects folder with poisoned sessions: the samples, and one with every record of a real client's scenarios."""
    folder = tmp_path_factory.mktemp("poisoned")
    for path in SAMPLES.glob("projects/**/*.jsonl"):
        target = folder / path.relative_to(SAMPLES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(poisoned_lines(path))
    for version in ("1.0.128", "2.1.325"):
        lines = map(poisoned_lines, sorted((REAL / version).glob("*/projects/*/*.jsonl")))
        (folder / f"projects/{version}").mkdir()
        (folder / f"projects/{version}/all.jsonl").write_bytes(b"".join(lines))
    return folder


def sessions(root: Path) -> list[Path]:
    return sorted(root.glob("projects/*/*.jsonl"))


def run(root: Path, *words: str) -> str:
    """What a verb prints to a terminal."""
    inner, outer = pty.openpty()
    environment = os.environ | {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root), "TERM": "xterm-256color"}
    environment |= {"COLORTERM": "truecolor", "COLUMNS": "100"}
    with tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        child = fork_reread(words, (nothing.fileno(), outer, errors.fileno()), env=environment)
        os.close(outer)
        try:
            out = b"".join(pieces(inner, QUIET_SECONDS if words[0] == ENDLESS else None))
        finally:
            if words[0] == ENDLESS or sys.exc_info()[0] is not None:
                os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)
        errors.seek(0)
        said = errors.read().decode()
    os.close(inner)
    assert "Traceback" not in said
    return out.decode() + said.replace("\n", "\r\n")


def pieces(number: int, silence: float | None) -> Iterator[bytes]:
    printed = False
    while select.select([number], [], [], silence if printed else None)[0]:
        printed = True
        try:
            piece = os.read(number, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            return
        if not piece:
            return
        yield piece


def check_output(text: str) -> None:
    for colour in COLOUR.finditer(text):
        codes = re.sub(r"[34]8;(?:5;\d+|2;\d+;\d+;\d+)", "", colour[1]).split(";")
        assert not HIDING.intersection(codes), repr(text[colour.start() - 60 : colour.end() + 60])
    plain = COLOUR.sub("", text).replace("\r\n", "\n")
    for character in set(plain):
        acts = character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        hides = character in "\u200b\U000e0041" or unicodedata.bidirectional(character) in OVERRIDES
        at = plain.index(character)
        assert not acts and not hides, f"{character!r} in {plain[max(0, at - 80) : at + 20]!r}"


@one_in(4)
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_verbs_over_all_sessions(root: Path, words: list[str]) -> None:
    out = run(root, *words)
    assert out
    check_output(out)


@one_in(4)
@pytest.mark.parametrize("words", SESSION_VERBS, ids=" ".join)
def test_verbs_of_one_session(root: Path, words: list[str]) -> None:
    for path in sessions(root)[: 1 if words[0] == ENDLESS else 3]:
        out = run(root, words[0], str(path), *words[1:])
        check_output(out)


def test_every_verb_is_tried() -> None:
    tried = {words[0] for words in (*VERBS, *SESSION_VERBS)}
    assert tried.isdisjoint(PLAIN) and tried | PLAIN.keys() == {*cli.all_verbs()}


def test_markdown_documents_contain_no_tags_but_ours(root: Path) -> None:
    import reread

    for path in sessions(root):
        document = reread.export(path, "markdown", full=True).decode()
        check_output(document)
        page = cmarkgfm.github_flavored_markdown_to_html(document, Options.CMARK_OPT_UNSAFE)
        tags = {tag.lower() for tag in TAG.findall(page)}
        assert "x-evil" not in tags and "img" not in tags and "script" not in tags
        assert page.count("<details>") == page.count("</details>") == document.count("<details><summary>")
        assert 'href="javascript' not in page


def test_tables_contain_no_formulas(root: Path) -> None:
    out = command.run("usage", "--by", "project", "--csv", home=root).stdout
    assert out
    for row in csv.reader(io.StringIO(out)):
        assert row[0].lstrip()[:1] not in tuple("=+-@")


FORGED = "FORGED 9 files, 0 records: 0 errors"


def test_a_name_cannot_forge_a_line(tmp_path: Path) -> None:
    name = f"x\n{FORGED}\t"
    response = reply("hi", use("t", name, file_path=name), id="m", sessionId=name)
    response["message"] |= {"model": name, "usage": {"input_tokens": 5, "output_tokens": 7}}
    other = reply("inner", isSidechain=True, agentId=name, sessionId=name)
    prompt = user("needle", sessionId=name, cwd=f"/{name}", gitBranch=name, version=name)
    folder = tmp_path / "projects/-a"
    folder.mkdir(parents=True)
    path = folder / f"f\n{FORGED}.jsonl"
    path.write_bytes(jsonl(*told(prompt, response, answer(result("t", "done")), other)))
    texts = [words for words in VERBS if words[-1] not in ("--json", "--csv")]
    lists = [*texts, ["search", "needle"], ["usage", "--by", "session,model,project"], ["stats", "--list"]]
    for words in (*lists, ["show", str(path), "--no-pager"]):
        out = run(tmp_path, *words)
        check_output(out)
        starts = ("FORGED", "  FORGED")  # what a tool was given is shown further in, with all its lines
        assert not [line for line in out.splitlines() if COLOUR.sub("", line).startswith(starts)], words
