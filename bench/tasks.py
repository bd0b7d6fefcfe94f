"""Three questions, answered in a browser with reread and with agentsview: clicks, keys, and seconds.

The home has 640 sessions, both programs have read it, and each task starts on a page that is loaded. Seconds are those
until the answer is on the screen, without a person's thinking. Needs playwright and Chromium.
"""

import argparse
import os
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import home
import measure
from measure import Row
from reader import Page, chromium, served
from search import agentsview, set_up_peer

WORDS = "december bars"
SESSION = "c3e81f6d-47a2-4c19-b5f0-6d92e07a418b"
FILE = "retries.ts"
PORT = 8829
LONGEST = 90_000


class Hand:
    """Clicks and types as a person would, and counts it."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks, self.keys = page, 0, 0
        self.began = time.perf_counter()

    def click(self, selector: str) -> None:
        self.page.locator(selector).locator("visible=true").first.click()
        self.clicks += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.keys += len(text)

    def see(self, selector: str) -> None:
        self.page.locator(selector).locator("visible=true").first.wait_for()

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.began
        return f"{self.clicks} clicks, {self.keys} keys, {seconds:.1f} s"


class Reread:
    """The questions, as the reader answers them."""

    ready = {"find": ".session-row", "cost": ".session-row", "changed": ".message"}
    session = f"#/s/{SESSION}"

    def find(self, hand: Hand) -> None:
        hand.press("/")
        hand.type(WORDS)
        hand.click(".found-text, .session-row:has-text('December')")
        hand.see(".message:has-text('December')")

    def cost(self, hand: Hand) -> None:
        hand.click("nav a:has-text('Usage')")
        hand.click("button:has-text('7 days')")
        hand.see(".why .bars")

    def changed(self, hand: Hand) -> None:
        hand.click(".session-head a:has-text('Files')")
        hand.click(f".changed-tree .path:has-text('{FILE}')")
        hand.see(".file-section .diff")


class AgentsView:
    """The same, with agentsview: the cost has no causes, and a file's changes are those of each call that is found."""

    ready = {"find": "button:has-text('Usage')", "cost": "button:has-text('Usage')", "changed": "text=retries.ts"}
    session = f"sessions/{SESSION}"

    def find(self, hand: Hand) -> None:
        hand.press("Control+k")
        hand.type(WORDS)
        hand.click("button:has-text('December'), [role=option]:has-text('December')")
        hand.see("text=Where did December go")

    def cost(self, hand: Hand) -> None:
        hand.click("button:has-text('Usage')")
        hand.click("button:has-text('Last 30 days')")
        hand.click("button:text-is('7d')")
        hand.see("text=/vs prior/")

    def changed(self, hand: Hand) -> None:
        calls = hand.page.locator(f"button:has-text('{FILE}')").locator("visible=true")
        for number in range(calls.count()):
            calls.nth(number).click()
            hand.clicks += 1


TASKS: dict[str, str] = {
    "find": "find a session of which two words are remembered",
    "cost": "what the last week cost, and why",
    "changed": "what a session changed in a file",
}


@contextmanager
def peer(root: Path) -> Iterator[str]:
    """The address of agentsview, once it has read the home."""
    set_up_peer(root / ".claude", root / "agentsview")
    command = [agentsview(), "serve", "--no-browser", "--no-update-check", "--port", str(PORT)]
    with subprocess.Popen(command, env={**os.environ, "HOME": str(root)}, stdout=subprocess.DEVNULL) as server:
        address = f"http://127.0.0.1:{PORT}/"
        while server.poll() is None:
            with suppress(OSError), urllib.request.urlopen(address):
                break
            time.sleep(0.2)
        try:
            yield address
        finally:
            server.terminate()


def answered(page: Page, address: str, program: Reread | AgentsView, task: str) -> str:
    page.goto(address + (program.session if task == "changed" else ""))
    page.locator(program.ready[task]).locator("visible=true").first.wait_for()
    page.wait_for_timeout(2000)
    hand = Hand(page)
    act: Callable[[Hand], None] = getattr(program, task)
    act(hand)
    return str(hand)


def compare(task: str) -> Callable[[argparse.Namespace], Iterator[Row]]:
    def rows(plan: argparse.Namespace) -> Iterator[Row]:
        with (
            peer(plan.home) as theirs,
            served(plan.home / ".claude/projects/p/none.jsonl", plan.home / "cache") as own,
            chromium() as browser,
        ):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(LONGEST)
            ours = answered(page, own.partition("#")[0], Reread(), task)
            yield Row(TASKS[task], ours, answered(page, theirs, AgentsView(), task))

    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home.make(Path(folder))
        measure.report_chosen(
            {task: compare(task) for task in TASKS},
            argparse.ArgumentParser(description=__doc__),
            argparse.Namespace(home=Path(folder)),
        )
