"""For how long hostile texts block the page in Chromium: the longest task while everything is opened and scrolled.

Needs playwright and Chromium, and PYTHONPATH=tests.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import measure
from browser.test_hostile_texts import CASES, EXPORTED, exported, read_through, serving_cases
from measure import Row
from reader import Page, chromium

ROUNDS = 3
WATCH = """
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  }).observe({ type: "longtask", buffered: true });
"""
LOOP = """() => {
  const began = performance.now();
  let sum = 0;
  for (let n = 0; n < 2e7; n += 1) sum = (sum + n * n) % 1000003;
  return performance.now() - began + (sum < 0 ? 1 : 0);
}"""
"""A loop that takes about 100 ms on an idle machine."""


def blocked(page: Page, address: str) -> tuple[float, float]:
    """Milliseconds of the longest task of a page, and of the loop."""
    page.add_init_script(WATCH)
    page.goto(address)
    read_through(page)
    page.wait_for_timeout(200)
    return page.evaluate("window.longest"), page.evaluate(LOOP)


def longest_task(name: str, place: str, plan: argparse.Namespace) -> Iterator[Row]:
    found: list[tuple[float, float]] = []
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = place == "served"
        address = (
            f"{stack.enter_context(serving_cases(root))}#/s/{name.replace(' ', '-')}"
            if served
            else exported(root, name)
        )
        browser = stack.enter_context(chromium())
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            found.append(blocked(page, address))
            page.close()
    longest, loop = min(found, key=lambda pair: pair[0] / pair[1])
    floor = f"{loop:.0f} ms for a loop of about 100 ms"
    yield Row(f"{name}, {place}", f"{longest:.0f} ms", floor, f"{longest / loop:.1f} ×", "≤ 3 ×")


PLACES = {"served": list(CASES), "exported": EXPORTED}
ROWS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    f"{name.replace(' ', '-')}-{place}": partial(longest_task, name, place)
    for place, names in PLACES.items()
    for name in names
}

if __name__ == "__main__":
    measure.report_chosen(ROWS, argparse.ArgumentParser(description=__doc__), argparse.Namespace())
