"""How it looks: phone, dark, print, and what an accessibility check says."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.test_reading import at

Tab = Callable[..., Any]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def open_things(page: Any) -> None:
    """Open some of each."""
    page.locator(".message").first.wait_for()
    for opener in page.locator(".call > .fold > .fold-line > .opener").all()[:4]:
        opener.click()
    expect(page.locator("p.waiting")).to_have_count(0)


class TestPhone:
    @pytest.mark.parametrize("name", ["letters", "flaky", "axis"])
    def test_nothing_scrolls_sideways_but_code(self, tab: Tab, demo: str, name: str) -> None:
        page = tab(at(demo, name), **PHONE)
        open_things(page)
        assert not page.evaluate(SIDEWAYS)

    @pytest.mark.parametrize("where", ["", "#/usage"])
    def test_other_pages_fit_too(self, tab: Tab, demo: str, where: str) -> None:
        page = tab(demo + where, **PHONE)
        page.locator(".session-row, table.figures").first.wait_for()
        assert not page.evaluate(SIDEWAYS)

    def test_the_outline_is_a_drawer(self, tab: Tab, demo: str) -> None:
        page = tab(at(demo, "letters"), **PHONE)
        expect(page.locator(".outline")).not_to_be_visible()
        page.get_by_role("button", name="turns").click()
        page.locator(".turn", has_text="Keep the response body").click()
        expect(page.locator(".outline")).not_to_be_visible()
        expect(page.locator(".message.prompt", has_text="Keep the response body")).to_be_in_viewport()


class TestDark:
    BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"

    def test_the_system_decides_until_one_chooses(self, tab: Tab, demo: str) -> None:
        page = tab(demo, color_scheme="dark")
        page.locator(".session-row").first.wait_for()
        dark = page.evaluate(self.BACKGROUND)
        page.get_by_role("button", name="light or dark").click()
        light = page.evaluate(self.BACKGROUND)
        assert (dark, light) == ("rgb(23, 24, 27)", "rgb(253, 253, 252)")
        page.reload()
        page.locator(".session-row").first.wait_for()
        assert page.evaluate(self.BACKGROUND) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
class TestAccess:
    def test_library(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(demo, color_scheme=scheme)
        page.locator(".session-row").first.wait_for()
        assert axe(page) == []

    @pytest.mark.parametrize("name", ["letters", "flaky", "axis"])
    def test_session(self, tab: Tab, demo: str, axe: Any, scheme: str, name: str) -> None:
        page = tab(at(demo, name), color_scheme=scheme)
        open_things(page)
        page.get_by_role("button", name="about").click()
        page.keyboard.press("t")
        assert axe(page) == []

    def test_search_and_replay(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(at(demo, "flaky"), color_scheme=scheme)
        page.locator(".message").first.wait_for()
        page.keyboard.press("Space")
        page.get_by_role("searchbox").fill("jitter")
        page.locator(".hit").first.wait_for()
        assert axe(page) == []

    def test_usage(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(f"{demo}#/usage", color_scheme=scheme)
        page.locator("table.figures").wait_for()
        assert axe(page) == []


def test_all_is_printed(tab: Tab, demo: str) -> None:
    page = tab(at(demo, "letters"))
    page.locator(".message").first.wait_for()
    page.evaluate("window.print = () => { dispatchEvent(new Event('beforeprint')); window.printed = true }")
    page.get_by_role("button", name="print").click()
    page.wait_for_function("window.printed")
    expect(page.locator(".message.prompt", has_text="Morning. Write the release note")).to_have_count(1)
    expect(page.locator(".message.prompt", has_text="Events that run out")).to_have_count(1)
