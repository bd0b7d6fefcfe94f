"""Phone, dark theme, print and accessibility."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import until
from browser.test_reading import session_url

Tab = Callable[..., Any]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SCROLLS_SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def open_calls(page: Any) -> None:
    """Open the first calls."""
    page.locator(".message").first.wait_for()
    for button in page.locator(".call > .collapsible > .collapsible-header > .disclosure").all()[:4]:
        button.click()
    expect(page.locator("p.loading")).to_have_count(0)


class TestPhone:
    @pytest.mark.parametrize("name", ["letters", "flaky", "axis"])
    def test_the_page_does_not_scroll_sideways(self, tab: Tab, demo: str, name: str) -> None:
        page = tab(session_url(demo, name), **PHONE)
        open_calls(page)
        assert not page.evaluate(SCROLLS_SIDEWAYS)

    @pytest.mark.parametrize("address", ["", "#/usage"])
    def test_other_pages_do_not_scroll_sideways(self, tab: Tab, demo: str, address: str) -> None:
        page = tab(demo + address, **PHONE)
        page.locator(".session-row, table.figures").first.wait_for()
        assert not page.evaluate(SCROLLS_SIDEWAYS)

    def test_the_outline_is_a_drawer(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"), **PHONE)
        expect(page.locator(".outline")).not_to_be_visible()
        page.get_by_role("button", name="Turns").click()
        page.locator(".turn", has_text="Keep the response body").click()
        expect(page.locator(".outline")).not_to_be_visible()
        expect(page.locator(".message.prompt", has_text="Keep the response body")).to_be_in_viewport()


class TestDark:
    BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"

    def test_the_theme_follows_the_system_until_one_is_chosen(self, tab: Tab, demo: str) -> None:
        page = tab(demo, color_scheme="dark")
        page.locator(".session-row").first.wait_for()
        dark = page.evaluate(self.BACKGROUND)
        page.get_by_role("button", name="Switch between light and dark").click()
        light = page.evaluate(self.BACKGROUND)
        assert (dark, light) == ("rgb(23, 24, 27)", "rgb(253, 253, 252)")
        page.reload()
        page.locator(".session-row").first.wait_for()
        assert page.evaluate(self.BACKGROUND) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
class TestAccessibility:
    def test_library(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(demo, color_scheme=scheme)
        page.locator(".session-row").first.wait_for()
        assert axe(page) == []

    @pytest.mark.parametrize("name", ["letters", "flaky", "axis"])
    def test_session(self, tab: Tab, demo: str, axe: Any, scheme: str, name: str) -> None:
        page = tab(session_url(demo, name), color_scheme=scheme)
        open_calls(page)
        page.get_by_role("button", name="About").click()
        page.keyboard.press("t")
        assert axe(page) == []

    def test_search_and_replay(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(session_url(demo, "flaky"), color_scheme=scheme)
        page.locator(".message").first.wait_for()
        page.keyboard.press("Space")
        page.get_by_role("searchbox").fill("jitter")
        page.locator(".hit").first.wait_for()
        assert axe(page) == []

    def test_usage(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(f"{demo}#/usage", color_scheme=scheme)
        page.locator("table.figures").wait_for()
        assert axe(page) == []


def test_the_whole_session_is_printed(tab: Tab, demo: str) -> None:
    page = tab(session_url(demo, "letters"))
    page.locator(".message").first.wait_for()
    page.evaluate("window.print = () => { dispatchEvent(new Event('beforeprint')); window.printed = true }")
    page.get_by_role("button", name="Print").click()
    until(page, "window.printed")
    expect(page.locator(".message.prompt", has_text="Morning. Write the release note")).to_have_count(1)
    expect(page.locator(".message.prompt", has_text="Events that run out")).to_have_count(1)
