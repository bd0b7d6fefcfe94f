"""What runs now, in the reader: the first lines of the library and of the palette, the title, and notifications."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from running import Machine

from browser.conftest import until

Tab = Callable[..., Any]
NOTIFICATION = """
window.asked = 0
window.told = []
window.Notification = class {
  constructor(title, options) { told.push([title, options]) }
  static requestPermission() { asked += 1; Notification.permission = "granted"; return Promise.resolve("granted") }
}
Notification.permission = "default"
Document.prototype.hasFocus = () => false
"""
"""A browser that counts how often it is asked for the permission, and what it is told to show."""


@pytest.fixture(name="two")
def _two(tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    machines = Machine(tmp_path, name="shop"), Machine(tmp_path, name="harbor")
    for machine in machines:
        machine.write(14)
        machine.register(status="busy")
    yield machines
    for machine in machines:
        machine.kill()


def test_what_runs_is_the_same_everywhere(tab: Tab, serve: Callable[..., str], two: tuple[Machine, Machine]) -> None:
    """The dots and the filter say what the first line says, whatever was written lately."""
    shop, harbor = two
    os.utime(shop.transcript, (1, 1))
    page = tab(serve("--root", shop.config, "serve"))
    now = page.get_by_role("region", name="Now")
    dots = page.locator(".session-row").get_by_label("Running")
    expect(now.locator(".now-row")).to_have_count(2)
    expect(dots).to_have_count(2)
    harbor.kill()
    expect(now.locator("[data-state=died]")).to_have_count(1)
    expect(dots).to_have_count(1)
    page.get_by_role("button", name="Running", exact=True).click()
    expect(page.locator(".session-row")).to_have_count(1)
    page.locator(".session-row").click()
    expect(page.locator(".session-head").get_by_label("Running")).to_be_visible()


def test_the_first_line_says_who_waits(tab: Tab, serve: Callable[..., str], two: tuple[Machine, Machine]) -> None:
    shop, harbor = two
    page = tab(serve("--root", shop.config, "serve"))
    now = page.get_by_role("region", name="Now")
    expect(now.get_by_role("status")).to_contain_text("2 running")
    expect(now.locator("[data-state=working]")).to_have_count(2)
    expect(page).to_have_title("reread")

    shop.register(status="waiting", waitingFor="permission prompt")
    expect(now.get_by_role("status")).to_contain_text("2 running, 1 waits for you")
    first = now.locator(".now-row").first
    expect(first).to_have_attribute("data-state", "waiting")
    expect(first).to_contain_text("waits for a permission: Bash Touch a file")
    expect(page).to_have_title("(1) reread")
    size = "it => parseFloat(getComputedStyle(it).fontSize)"
    waits, works = (now.locator(f"[data-state={state}] .now-title").evaluate(size) for state in ("waiting", "working"))
    assert waits > works, "what waits is the largest"
    colours = {state.evaluate("it => getComputedStyle(it).color") for state in now.locator(".now-state").all()}
    assert len(colours) == 2, "a session that waits looks different"

    page.keyboard.press("Control+k")
    group = page.get_by_role("group", name="Now: 2 running, 1 waits for you")
    expect(group.get_by_role("option").first).to_contain_text("waiting · shop")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Slow")
    expect(page.locator(".waits")).to_contain_text("Waits for you waits for a permission: Bash Touch a file")
    expect(page).to_have_title(re.compile(r"^\(1\) .+ · reread$"))
    page.evaluate("location.hash = '#/usage'")
    expect(page).to_have_title("(1) Insights · reread")
    page.go_back()
    page.go_back()

    harbor.kill()
    expect(now.locator("[data-state=died]")).to_contain_text("its process is gone")


def test_the_browser_is_asked_only_by_a_click(
    tab: Tab, serve: Callable[..., str], two: tuple[Machine, Machine]
) -> None:
    shop, harbor = two
    page = tab(serve("--root", shop.config, "serve"))
    page.add_init_script(NOTIFICATION)
    page.reload()
    button = page.get_by_role("button", name="Notify me when a session waits")
    expect(button).to_be_visible()
    assert page.evaluate("asked") == 0
    button.click()
    expect(button).to_have_count(0)
    assert (page.evaluate("asked"), page.evaluate("told")) == (1, [])
    shop.register(status="waiting", waitingFor="permission prompt")
    until(page, "told.length === 1")
    title, options = page.evaluate("told[0]")
    assert title == "shop waits for you"
    assert options["body"].endswith("waits for a permission: Bash Touch a file")

    page.add_init_script('Notification.permission = "granted"')
    page.reload()
    expect(page.locator("[data-state=waiting]")).to_have_count(1)
    harbor.register(status="waiting", waitingFor="permission prompt")
    until(page, "told.length > 0")
    assert [title for title, _ in page.evaluate("told")] == ["harbor waits for you"], "what waited before is no news"


def test_nothing_is_said_if_nothing_runs(tab: Tab, serve: Callable[..., str]) -> None:
    page = tab(serve("--demo", "serve"))
    expect(page.locator(".session-row").first).to_be_visible()
    expect(page.get_by_role("region", name="Now")).to_have_count(0)
