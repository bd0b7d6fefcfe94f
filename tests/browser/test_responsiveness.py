"""No text can freeze the page: what takes long is done in a worker or in steps, and the page stays responsive."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, result, told, use, user
from playwright.sync_api import expect

import reread
from browser.conftest import until
from reread.reader.html_export import session_html

Tab = Callable[..., Any]

SCROLL = """() => new Promise((done) => {
  const scroll = () => {
    const before = scrollY;
    scrollBy(0, innerHeight);
    setTimeout(() => done(scrollY > before), 50);
  };
  const late = setTimeout(scroll, 2000);
  requestAnimationFrame(() => { clearTimeout(late); scroll(); });
})"""
"""Scrolls by a screen once a frame was drawn, or none was for two seconds; false at the end."""
EXPAND = "document.querySelectorAll('main .call [aria-expanded=false], .lines > .show-more').forEach(b => b.click())"
LIMIT = 50
"""Milliseconds of CPU that one task of the page may take."""
SLACK = 4
"""How much longer it may take: the first drawing of a page, a collection of garbage."""
SCREENS = 40
CALIBRATE = """() => {
  let sum = 0;
  for (let n = 0; n < 2e7; n += 1) sum = (sum + n * n) % 1000003;
  return sum;
}"""
"""A loop that takes about 100 ms of CPU on an idle machine."""

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


@contextmanager
def longest_task(browser: Any, page: Any) -> Iterator[list[float]]:
    """Yields a list to which the CPU time of the page's longest task is added, in milliseconds.

    Time on the clock would say how busy the machine is.
    """
    found: list[float] = []
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    try:
        yield found
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tasks = [e for e in events if e["name"] == "RunTask" and names.get((e["pid"], e["tid"])) == "CrRendererMain"]
    found.append(max(task.get("tdur", 0) for task in tasks) / 1000)


def assert_responsive(browser: Any, page: Any, address: str) -> None:
    """Open and scroll through everything, and check that nothing blocked the page for long."""
    with longest_task(browser, page) as calibrated:
        page.evaluate(CALIBRATE)
    with longest_task(browser, page) as longest:
        page.goto(address)
        page.locator(".message").first.wait_for()
        for _ in range(SCREENS):
            page.evaluate(EXPAND)
            if not page.evaluate(SCROLL):
                break
        page.keyboard.press("G")
        expect(page.locator(".message.prompt", has_text="the end")).to_be_visible()
        until(page, "new Promise(done => setTimeout(() => done(true), 200))")
    slowness = max(1.0, calibrated[0] / 100)
    assert longest[0] <= LIMIT * SLACK * slowness, f"blocked for {longest[0]:.0f} ms; {slowness:.1f} × slow"


NAMES = sorted(TEXTS)
CASES = {
    "texts": ([TEXTS[name] for name in NAMES[::2]], []),
    "more texts": ([TEXTS[name] for name in NAMES[1::2]], []),
    "code": ([], list(CODES.values())),
}


@pytest.mark.parametrize("name", CASES)
def test_the_served_reader_stays_responsive(
    browser: Any, tab: Tab, serve: Callable[..., str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(session(*CASES[name]))
    assert_responsive(browser, tab("about:blank", ignored="requested"), serve("serve", path))


@pytest.mark.parametrize("name", CASES)
def test_an_exported_page_stays_responsive(browser: Any, tab: Tab, tmp_path: Path, name: str) -> None:
    page = tmp_path / "hostile.html"
    page.write_bytes(b"".join(session_html(reread.open(session(*CASES[name])))))
    assert_responsive(browser, tab("about:blank", ignored="requested"), page.as_uri())
