"""Nothing moves on its own: what arrives late has its place already."""

from collections.abc import Callable
from typing import Any

import pytest

from browser.conftest import DEMO

Tab = Callable[..., Any]
MOST = 0.05
"""How far a page may move: the part of the screen that moves, times the part of the screen that it moves by."""
LATE = 250
"""Milliseconds that each answer of the server takes longer, so that the page is drawn without it first."""
SETTLED = 1500
NOTE_SHIFTS = """
if (!window.shifts) {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, sources, hadRecentInput } of list.getEntries())
      if (!hadRecentInput)
        shifts.push([value, ...sources.map(({ node, previousRect, currentRect }) =>
          `${node?.className || node?.nodeName} from ${previousRect.y} to ${currentRect.y}`)]);
  }).observe({ type: "layout-shift", buffered: true });
}
"""
"""A page that several tests use has this as often."""
PAGES = {
    "list": ("#/", ".session-row"),
    "search": ("#/?q=jitter", ".found-text"),
    "insights": ("#/insights?period=All+time", ".top-sessions a"),
    "why": ("#/insights?period=All+time&why=output", ".below-bar a"),
    "recent": ("#/files", ".recent-file"),
    "settings": ("#/settings", "#installation"),
    "session": (f"#/s/{DEMO['letters']}", ".message"),
    "place": (f"#/s/{DEMO['letters']}?turn=9", ".message"),
    "branches": (f"#/s/{DEMO['axis']}", ".message"),
    "timeline": (f"#/s/{DEMO['letters']}?view=timeline", ".waterfall canvas"),
    "files": (f"#/s/{DEMO['letters']}?panel=files", ".file-section .diff"),
    "context": (f"#/s/{DEMO['letters']}?panel=context", ".context-parts"),
    "about": (f"#/s/{DEMO['letters']}?panel=about", ".about-tab .figures"),
    "share": (f"#/s/{DEMO['axis']}?panel=share", ".share-actions"),
}
"""The address of each page, and what it has when it is complete."""


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_moves_when_answers_arrive_late(tab: Tab, demo: str, name: str, width: int) -> None:
    address, ready = PAGES[name]
    page = tab(f"{demo}#/nowhere", viewport={"width": width, "height": 900})
    page.evaluate("address => location.hash = address", address)
    page.add_init_script(NOTE_SHIFTS)
    page.route("**/api/**", lambda route: (page.wait_for_timeout(LATE), route.continue_()))
    page.reload()
    page.locator(ready).first.wait_for()
    page.wait_for_timeout(SETTLED)
    shifts = page.evaluate("shifts")
    page.unroute_all(behavior="ignoreErrors")
    assert sum(value for value, *_ in shifts) <= MOST, shifts
