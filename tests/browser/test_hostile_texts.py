"""Texts that are made to freeze the page open and scroll as others do.

`bench/responsiveness.py` measures for how long they block it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, result, told, use, user
from playwright.sync_api import expect

import reread
from browser.conftest import serving
from reread.reader.html_export import session_html

Tab = Callable[..., Any]

SCROLL = "new Promise(done => requestAnimationFrame(() => { scrollBy(0, innerHeight); setTimeout(done, 50) }))"
ROW = "| cell " * 500 + "|\n"
TEXTS = {
    "a list in a list in a list": "- " * 5000,
    "a wide table": ROW + "|-" * 500 + "|\n" + ROW * 2000,
    "combining marks": "e" + "\u0301" * 50_000,
    "brackets": "[" * 20_000 + "a" + "](" * 5_000,
    "quotes in quotes": "> " * 4000 + "deep",
    "emphasis": "*a **b _c " * 4000,
    "runs of backticks": "".join("`" * n + "a" for n in range(1, 400)),
    "one long line": "word " * 60_000,
    "no space": "W" * 300_000,
    "many paragraphs": "a *b* `c`\n\n" * 5000,
    "two directions": "\N{ARABIC LETTER ALEF}b" * 30_000,
}
HTML = "<div class='a' data-b=\"c\"><p>text <b>bold</b> <script>let a = '<p>' + `${1}`</script></p>\n" * 1100
CODES = {
    "html": HTML[:96_000],
    "one line of code": "const a = {b: [1, 2, 3]}; " * 4000,
    "open brackets": "{[(<" * 20_000,
    "escapes": "\x1b[31ma\x1b[0mb" * 9000,
}


def session(texts: list[str], codes: list[str]) -> bytes:
    """A session with these texts in prompts, answers and thinking, and these files read and printed."""
    records = [record for n, text in enumerate(texts) for record in (user(text), reply(text, id=f"m{n}"))]
    for n, code in enumerate(codes):
        file = {"filePath": f"/a{n}.html", "content": code, "numLines": 1, "startLine": 1, "totalLines": 1}
        records += [
            reply(use(f"r{n}", "Read", file_path=f"/a{n}.html"), use(f"b{n}", "Bash", command="x"), id=f"c{n}"),
            answer(result(f"r{n}", code), toolUseResult={"type": "text", "file": file}),
            answer(result(f"b{n}", code), toolUseResult={"stdout": code, "stderr": "", "interrupted": False}),
        ]
    return jsonl(*told(user("start"), *records, user("the end")))


def read_through(page: Any) -> None:
    """Open and scroll through everything, up to the last message."""
    page.locator(".message").first.wait_for()
    for _ in range(12):
        page.evaluate(
            "document.querySelectorAll('main .call [aria-expanded=false], .lines > .show-more').forEach(b => b.click())"
        )
        page.evaluate(SCROLL)
    page.keyboard.press("G")
    expect(page.locator(".message.prompt", has_text="the end")).to_be_visible()


CASES = {**{name: ([text], []) for name, text in TEXTS.items()}, **{name: ([], [code]) for name, code in CODES.items()}}


EXPORTED = ["a wide table", "combining marks", "one long line", "many paragraphs", "two directions", "html", "escapes"]


def exported(folder: Path, name: str) -> str:
    """The address of a case as an exported page."""
    page = folder / f"{name}.html"
    page.write_bytes(b"".join(session_html(reread.open(session(*CASES[name])))))
    return page.as_uri()


@contextmanager
def serving_cases(root: Path) -> Iterator[str]:
    """The address of a server with one session for each case."""
    for name, case in CASES.items():
        (root / f"{name.replace(' ', '-')}.jsonl").write_bytes(session(*case))
    with serving(root / "home", "serve", str(root)) as address:
        yield address.partition("#")[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with one session for each case."""
    with serving_cases(tmp_path_factory.mktemp("hostile")) as address:
        yield address


@pytest.mark.parametrize("name", CASES)
def test_in_the_served_reader(tab: Tab, served: str, name: str) -> None:
    read_through(tab(f"{served}#/s/{name.replace(' ', '-')}"))


@pytest.mark.parametrize("name", EXPORTED)
def test_in_an_exported_page(tab: Tab, tmp_path: Path, name: str) -> None:
    read_through(tab(exported(tmp_path, name)))
