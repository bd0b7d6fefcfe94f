"""A real browser and a real `reread serve`. These tests are skipped if there is no Chromium."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

TIMEOUT = 120_000
"""Milliseconds that a test waits for an element: at a load of 20, a page of 2 s of work took 48 s."""
playwright.expect.set_options(timeout=TIMEOUT)

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
DEMO = {
    "axis": "b90c6f28-57e1-4b3d-a6a2-e1f47d08c935",
    "letters": "d2a94e17-0c58-4f6b-8a1d-7be3905f26c4",
    "flaky": "8c1f0b52-6d3e-4a77-9b0e-52f1c4a9d310",
    "december": "6a0f8d43-1b7c-4c29-8e55-93d21f70b6ae",
}
"""The ids of demo sessions, by subject."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as api:
        running = api.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@contextmanager
def serving(home: Path, *arguments: str, port: int = 0) -> Iterator[str]:
    """The address of a server that runs inside the context."""
    environment = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "PYTHONUNBUFFERED": "1"}
    environment["REREAD_HOME"] = str(home / "reread")
    command = [sys.executable, "-m", "reread", *arguments, "--no-open", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"the server printed {line!r}"
        try:
            yield found[0]
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the bundled sample sessions."""
    with serving(tmp_path_factory.mktemp("home"), "--demo", "serve") as address:
        yield address


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts servers with the given arguments."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(serving(tmp_path / "home", *map(str, arguments)))


@pytest.fixture
def tab(browser: Any, serve: object) -> Iterator[Callable[..., Any]]:
    """Opens tabs. A tab that requests anything from elsewhere, opens a dialog or logs an error fails the test.

    They are closed before the servers, whose end a page would report.
    """
    with ExitStack() as stack:
        yield lambda address, **options: stack.enter_context(open_tab(browser, address, **options))


_left: dict[str, list[tuple[Any, str]]] = {}
"""Pages that tests have left empty, and what they showed, by the options of their contexts: opening one takes long."""


@contextmanager
def open_tab(browser: Any, address: str, *, ignored: str | None = None, **options: Any) -> Iterator[Any]:
    """A tab at an address, checked when it is left; faults that match `ignored` are expected.

    It shares nothing with the tab of another test but the files that the browser has cached.
    """
    options = {"viewport": {"width": 1280, "height": 800}, **options}
    left = _left.setdefault(repr(options), [])
    origin = re.split("[?#]", address)[0]
    page, before = left.pop() if left else (browser.new_context(**options).new_page(), origin)
    own = (origin, before)  # a worker of the page that was left may still be loading
    faults: list[str] = []
    listeners: list[tuple[Any, str, Callable[[Any], Any]]] = [
        (page, "console", lambda log: faults.append(f"console: {log.text}") if _is_fault(log) else None),
        (page, "pageerror", lambda error: faults.append(f"error: {error}")),
        (page, "dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss())),
        (page, "request", lambda sent: None if _is_own(sent.url, own) else faults.append(f"requested {sent.url}")),
        (page.context, "page", lambda other: faults.append(f"opened {other.url}")),
    ]
    for emitter, event, listener in listeners:
        emitter.on(event, listener)
    page.context.set_default_timeout(TIMEOUT)
    try:
        page.goto(address)
        yield page
    except BaseException:
        page.context.close()
        raise
    is_alone = page.context.pages == [page] and page.url.startswith(origin)
    if is_alone:
        page.unroute_all(behavior="ignoreErrors")
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
    for emitter, event, listener in listeners:
        emitter.remove_listener(event, listener)
    if is_alone:
        page.context.clear_cookies()
        page.set_viewport_size(options["viewport"])
        page.mouse.move(0, 0)
        left.append((page, origin))
    else:
        page.context.close()
    assert [fault for fault in faults if ignored is None or not re.search(ignored, fault)] == []


def _is_fault(log: Any) -> bool:
    return log.type == "error" and "404" not in log.text


def until(page: Any, expression: str) -> None:
    """Wait until an expression is true. Playwright's `wait_for_function` needs `eval`, which the page's CSP forbids."""
    for _ in range(TIMEOUT // 50):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


AFTER_FRAMES = "new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 100))"
"""A promise that is kept when the page has been drawn again."""
NOTE_CLICKS = """addEventListener("click", ({ target }) => {
  const link = target.closest("a");
  sessionStorage.clicked = JSON.stringify([link.getAttribute("href"), link.getBoundingClientRect().y]);
}, { capture: true })"""
IS_WHERE_IT_WAS = """(([address, y]) =>
  [...document.querySelectorAll("a")].some(
    (link) => link.getAttribute("href") === address && Math.abs(link.getBoundingClientRect().y - y) < 2,
  )
)(JSON.parse(sessionStorage.clicked))"""


def is_where_it_was_clicked(page: Any) -> None:
    """Wait until the link that was clicked after NOTE_CLICKS is in the same place of the screen, and stays there."""
    until(page, IS_WHERE_IT_WAS)
    page.evaluate(AFTER_FRAMES)
    assert page.evaluate(IS_WHERE_IT_WAS)


def _is_own(address: str, origins: tuple[str, ...]) -> bool:
    return address.startswith((*origins, "blob:", "data:"))


@pytest.fixture(scope="session")
def axe() -> Callable[[Any], list[str]]:
    """A function that returns what an accessibility check finds on a page."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run `make web`")
    source = AXE.read_text()

    def check(page: Any) -> list[str]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found]

    return check
