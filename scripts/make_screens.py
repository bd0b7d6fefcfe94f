"""Take a screenshot of every page of the reader at four widths, light and dark, to look at them.

`PYTHONPATH=bench:tests python scripts/make_screens.py /tmp/screens` makes a home of 640 sessions first and takes all;
`--home DIR` takes one that `bench/home.py` has made, `--only NAME`, `--widths` and `--themes` take some. Prints what
a page logs, and where it scrolls sideways. Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import home
from committing import Rig
from make_pictures import CHROMIUM, served
from playwright.sync_api import Browser, Page, sync_playwright
from running import Machine

HEIGHTS = {1920: 1080, 1440: 900, 768: 1024, 390: 844}
THEMES = ("light", "dark")
SETTLED = 1500
"""Milliseconds until what was waited for has been drawn. Pages are never idle, because they listen for events."""
LONGEST = 60_000
FLAKY, LETTERS, AXIS, RETRIES = (
    "#/s/8c1f0b52-6d3e-4a77-9b0e-52f1c4a9d310",
    "#/s/d2a94e17-0c58-4f6b-8a1d-7be3905f26c4",
    "#/s/b90c6f28-57e1-4b3d-a6a2-e1f47d08c935",
    "#/s/c3e81f6d-47a2-4c19-b5f0-6d92e07a418b",
)


class Screen(NamedTuple):
    """A page: where it is, what it has when it is complete, and what is done on it then."""

    place: str
    address: str
    ready: str
    act: Callable[[Page], None] | None = None


def palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("harbor")


def shortcuts(page: Page) -> None:
    page.keyboard.press("?")


def scroll(page: Page) -> None:
    page.mouse.move(300, 500)
    page.mouse.wheel(0, 1500)


def foot(page: Page) -> None:
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")


def open_calls(page: Page) -> None:
    page.keyboard.press("t")
    for _ in range(3):
        page.keyboard.press("n")
        page.keyboard.press("o")


def find(page: Page) -> None:
    page.get_by_role("searchbox").first.fill("response body")
    page.locator(".hit").first.wait_for()


SCREENS = {
    "library": Screen("home", "", ".session-row"),
    "library-day": Screen("home", "#/?group=day&sort=cost", ".session-row"),
    "library-filtered": Screen("home", "#/?project=%2Fhome%2Fsam%2Fwork%2Fharbor&model=opus-5-5", ".session-row"),
    "library-none": Screen("home", "#/?q=&branch=nowhere", "main"),
    "search": Screen("home", "#/?q=backoff+ceiling", ".found-text"),
    "search-none": Screen("home", "#/?q=zzyzx+qqqq", "main"),
    "palette": Screen("home", "", ".session-row", palette),
    "shortcuts": Screen("home", "", ".session-row", shortcuts),
    "insights": Screen("home", "#/insights", ".top-sessions a"),
    "insights-all": Screen("home", "#/insights?period=All+time&by=project", ".top-sessions a"),
    "insights-foot": Screen("home", "#/insights?period=All+time&open=Bash", ".counted-calls a", foot),
    "insights-none": Screen("home", "#/insights?from=2020-01-01&to=2020-01-31", "main button:has-text('newest')"),
    "settings": Screen("home", "#/settings", "#installation"),
    "unknown": Screen("home", "#/nowhere", "main"),
    "gone": Screen("home", "#/s/00000000-0000-4000-8000-000000000000", "main"),
    "session": Screen("home", FLAKY, ".message"),
    "session-open": Screen("home", FLAKY, ".message", open_calls),
    "session-scrolled": Screen("home", LETTERS, ".message", scroll),
    "session-found": Screen("home", LETTERS, ".message", find),
    "agents": Screen("home", "#/?q=Forty", ".session-row", lambda page: page.locator(".session-row").first.click()),
    "timeline": Screen("home", f"{LETTERS}?view=timeline", ".waterfall canvas"),
    "files": Screen("home", f"{RETRIES}?panel=files", ".changed-file"),
    "context": Screen("home", f"{LETTERS}?panel=context", ".context-parts"),
    "about": Screen("home", f"{LETTERS}?panel=about", ".about-tab .figures"),
    "share": Screen("home", f"{RETRIES}?panel=share", "[aria-label=Share]"),
    "now": Screen("now", "", ".now-row"),
    "review": Screen("review", "", ".session-row, .message", lambda page: review(page)),
    "empty": Screen("empty", "", "main"),
    "empty-insights": Screen("empty", "#/insights", "main p"),
    "no-token": Screen("no-token", "", "body"),
    "exported": Screen("exported", "", ".message"),
    "site": Screen("site", "", "table, ul, main"),
}


def review(page: Page) -> None:
    page.locator(".session-row").first.click()
    page.get_by_role("link", name="Review", exact=True).click()
    page.locator("main.review h1").wait_for()


@contextmanager
def running() -> Iterator[str]:
    """A server with sessions that work, wait and idle."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        states = {"shop": {"status": "busy"}, "harbor": {"status": "waiting", "waitingFor": "permission prompt"}}
        for name, state in {**states, "almanac": {"status": "idle"}}.items():
            machine = Machine(folder, name=name)
            stack.callback(machine.kill)
            machine.write(14)
            machine.register(**state)
        yield stack.enter_context(served("--root", str(folder / "config")))


@contextmanager
def reviewed() -> Iterator[str]:
    """A server with a session that made a commit."""
    with TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        session = rig.session()
        rig.prompt(session, "Write the first part")
        rig.write(session, "src/a.py", 0, 0, ["alpha_value = 1", "beta_value = 2"])
        rig.hand("src/a.py", 1, 0, ["by_hand = 3"])
        rig.commit(session, "Add a part")
        rig.finish()
        with served("--root", str(rig.claude)) as address:
            yield address


def places(stack: ExitStack, made: Path | None) -> dict[str, Callable[[], str]]:
    """What starts each server and writes each file, once, and returns its address."""
    folder = Path(stack.enter_context(TemporaryDirectory()))

    def exported(name: str, *arguments: str) -> str:
        to = folder / name
        command = [sys.executable, "-m", "reread", "export", *arguments, "-f", "html", "-o", str(to)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (to if to.suffix else to / "index.html").as_uri()

    def large() -> str:
        environment = home.make(folder / "home") if made is None else home.environment(made)
        return stack.enter_context(served(environment=environment))

    return {
        "home": large,
        "now": lambda: stack.enter_context(running()),
        "review": lambda: stack.enter_context(reviewed()),
        "empty": lambda: stack.enter_context(served()),
        "no-token": lambda: stack.enter_context(served()).split("?")[0],
        "exported": lambda: exported("session.html", "--demo", FLAKY.rpartition("/")[2]),
        "site": lambda: exported("site", str(made / ".claude") if made else "--demo"),
    }


def take(browser: Browser, address: str, screen: Screen, to: Path, options: dict[str, Any]) -> None:
    """Take one screenshot."""
    with browser.new_context(timezone_id="UTC", **options) as context:
        page = context.new_page()
        page.on("console", lambda log: print(to.name, log.text) if log.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: print(to.name, error))
        page.goto(address + screen.address)
        page.locator(screen.ready).first.wait_for(timeout=LONGEST)
        page.wait_for_timeout(SETTLED)
        if screen.act is not None:
            screen.act(page)
            page.wait_for_timeout(SETTLED)
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            print(to.name, "scrolls sideways")
        page.screenshot(path=to)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path, help="the folder for the pictures")
    parser.add_argument("--home", type=Path, help="a home that bench/home.py has made")
    parser.add_argument("--only", nargs="+", choices=SCREENS, default=list(SCREENS))
    parser.add_argument("--widths", nargs="+", type=int, choices=HEIGHTS, default=list(HEIGHTS))
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=list(THEMES))
    plan = parser.parse_args()
    plan.to.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack, sync_playwright() as api:
        browser = api.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        started = places(stack, plan.home)
        addresses: dict[str, str] = {}
        for name in plan.only:
            screen = SCREENS[name]
            if screen.place not in addresses:
                addresses[screen.place] = started[screen.place]()
            for width in plan.widths:
                phone = {"is_mobile": True, "has_touch": True} if width < 500 else {}
                for theme in plan.themes:
                    options = {"viewport": {"width": width, "height": HEIGHTS[width]}, "color_scheme": theme, **phone}
                    to = plan.to / f"{name}-{width}-{theme}.png"
                    try:
                        take(browser, addresses[screen.place], screen, to, options)
                    except Exception as error:  # the others are wanted all the same
                        print(to.name, error)


if __name__ == "__main__":
    main()
