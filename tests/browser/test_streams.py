"""Streams of events: texts of a session cannot forge them, other sites cannot read them, and many tabs do not block."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from making import jsonl, reply, told, user
from playwright.sync_api import expect

from browser.conftest import DEMO, open_tab, until

Tab = Callable[..., Any]
FORGED = (
    'x\r\n\r\nevent: forged\r\ndata: {"a": 1}\n\nevent: forged\ndata: 2\r\rdata: 3\u2028event: forged\x00\x1b]0;t\x07'
)
LISTEN = """address => {
  const events = new EventSource(address);
  window.heard = [];
  for (const name of ["forged", "message"]) events.addEventListener(name, ({ data }) => heard.push(data));
  for (const name of ["open", "update"]) events.addEventListener(name, ({ data }) => data && JSON.parse(data));
}"""
FOREIGN = """address => new Promise((done) => {
  const events = new EventSource(address, { withCredentials: true });
  events.onmessage = events.onopen = () => done("open");
  events.addEventListener("now", () => done("open"));
  events.onerror = () => events.readyState === EventSource.CLOSED && done("refused");
})"""
HIDE = (
    "Object.defineProperty(document, 'hidden', { value: true }); document.dispatchEvent(new Event('visibilitychange'))"
)
HELD = "navigator.locks.query().then(({ held }) => held.map(({ name }) => name).sort().join())"


def test_texts_cannot_forge_events(tab: Tab, serve: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / f"projects/{'p' * 20}"
    folder.mkdir(parents=True)
    path = folder / "11111111-1111-4111-8111-111111111111.jsonl"
    talk = told(
        user(f"first {FORGED}", cwd=f"/{FORGED}", gitBranch=FORGED, sessionId=path.stem),
        reply(f"second {FORGED}", id=FORGED, sessionId=path.stem),
        user(f"third {FORGED} <script>alert(1)</script>", sessionId=path.stem),
        {"type": "custom-title", "customTitle": FORGED, "sessionId": path.stem},
    )
    path.write_bytes(jsonl(*talk[:1]))
    page = tab(f"{serve('serve', '--root', tmp_path)}#/s/{path.stem}")
    expect(page.locator(".message")).to_have_count(1)
    for address in ("api/events", f"api/sessions/{path.stem}/events"):
        page.evaluate(LISTEN, address)
    with path.open("ab") as file:
        file.write(jsonl(*talk[1:]))
    expect(page.locator(".message", has_text="third")).to_be_visible()
    assert page.evaluate("heard") == []


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of a page of another server on this machine, which shares the cookies of the reader."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Elsewhere</title>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()


def test_another_site_and_a_browser_without_the_token_hear_nothing(browser: Any, demo: str, elsewhere: str) -> None:
    root = demo.partition("?")[0]
    streams = [f"{root}api/events", f"{root}api/sessions/{DEMO['flaky']}/events"]
    with open_tab(browser, elsewhere, ignored=".") as page:
        for signed_in in (False, True):
            if signed_in:
                page.goto(demo)
                page.locator(".session-row").first.wait_for()
                page.goto(elsewhere)
            for address in streams:
                assert page.evaluate(FOREIGN, address) == "refused", (signed_in, address)
    with open_tab(browser, f"{root}api/events", ignored=".") as page:
        assert "event:" not in page.content()


def test_many_tabs_do_not_keep_another_from_loading(browser: Any, demo: str) -> None:
    with browser.new_context() as context:
        pages = [context.new_page() for _ in range(9)]
        for number, page in enumerate(pages):
            page.goto(demo if number % 2 else f"{demo}#/s/{DEMO['flaky']}")
            page.locator(".session-row" if number % 2 else ".message").first.wait_for()
        for page in pages[3:]:
            page.evaluate(HIDE)
        hidden = "reread stream of a hidden tab"
        until(pages[0], f"{HELD}.then((held) => held.startsWith('reread stream 1,') && held.endsWith('{hidden}'))")
        assert pages[0].evaluate(HELD).count("stream") == 4, "three visible tabs and one that is hidden"
