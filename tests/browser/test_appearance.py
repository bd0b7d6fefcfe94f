"""Phone, dark theme, print and accessibility."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from making import jsonl, reply, told, user
from playwright.sync_api import expect

import reread
from browser.conftest import DEMO, until
from browser.test_reading import session_url
from reread.reader.html_export import session_html

Tab = Callable[..., Any]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SCROLLS_SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
SMALL_TARGETS = """
[...document.querySelectorAll("button, input, select, nav a, a.session-row, .figures a")]
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .map((element) => [element.className, element.textContent, element.getBoundingClientRect().height])
  .filter(([, , height]) => height > 0 && height < 43.9)
"""


def open_calls(page: Any) -> None:
    """Open the first calls; those below them leave the page when there is no room for them."""
    page.locator(".message").first.wait_for()
    closed = page.locator(".call > .collapsible > .collapsible-header > .disclosure[aria-expanded=false]")
    for _ in range(4):
        if closed.count():
            closed.first.click()
        expect(page.locator("p.loading")).to_have_count(0)


class TestPhone:
    @pytest.mark.parametrize("name", ["letters", "flaky", "axis"])
    def test_the_page_does_not_scroll_sideways(self, tab: Tab, demo: str, name: str) -> None:
        page = tab(session_url(demo, name), **PHONE)
        open_calls(page)
        assert not page.evaluate(SCROLLS_SIDEWAYS)

    @pytest.mark.parametrize("address", ["", "#/insights"])
    def test_other_pages_do_not_scroll_sideways(self, tab: Tab, demo: str, address: str) -> None:
        page = tab(demo + address, **PHONE)
        page.locator(".session-row, table.figures").first.wait_for()
        assert not page.evaluate(SCROLLS_SIDEWAYS)

    def test_what_can_be_touched_is_large_enough_and_a_diff_has_one_number(self, tab: Tab, demo: str) -> None:
        page = tab(demo, **PHONE)
        for address, shown in (
            ("#/", ".session-row"),
            ("#/insights?period=All+time", ".top-sessions a"),
            ("#/insights?period=All+time", ".calls .figures a"),
            (f"#/s/{DEMO['flaky']}", ".message"),
        ):
            page.evaluate("address => location.hash = address", address)
            page.locator(shown).first.wait_for()
            assert page.evaluate(SMALL_TARGETS) == [], address
        page.locator(".disclosure", has_text="Edit").first.click()
        numbers = page.locator(".diff .line").first.locator(".line-number")
        expect(numbers.locator("visible=true")).to_have_count(1)

    def test_a_search_shows_its_hits_and_a_hit_its_message(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"), **PHONE)
        page.get_by_role("searchbox").fill("response body")
        hit = page.locator(".hit").first
        expect(hit).to_be_visible()
        assert hit.bounding_box()["width"] > 350
        hit.click()
        expect(page.locator(".hits")).not_to_be_visible()
        expect(page.locator(".message.selected")).to_be_in_viewport()
        page.get_by_role("button", name="Hits").click()
        expect(page.locator(".hit").first).to_be_visible()

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
        page.keyboard.press("Control+k")
        page.keyboard.type("light and dark")
        page.keyboard.press("Enter")
        light = page.evaluate(self.BACKGROUND)
        assert (dark, light) == ("rgb(23, 24, 27)", "rgb(253, 253, 252)")
        page.reload()
        page.locator(".session-row").first.wait_for()
        assert page.evaluate(self.BACKGROUND) == light


def press(name: str) -> Callable[[Any], None]:
    """Press the button with this name."""
    return lambda page: page.get_by_role("button", name=name, exact=True).first.click()


def press_in_head(name: str) -> Callable[[Any], None]:
    """Follow a link in the header of a session, which on a phone may be behind "More"."""

    def act(page: Any) -> None:
        page.locator(".session-head h1").wait_for()
        more = page.get_by_role("button", name="More", exact=True)
        if more.is_visible() and more.get_attribute("aria-expanded") == "false":
            more.click()
        page.locator(".session-head").get_by_role("link", name=name, exact=True).click()

    return act


def look_for(words: str) -> Callable[[Any], None]:
    """Search for words while the session is replayed."""

    def act(page: Any) -> None:
        page.locator(".message").first.wait_for()
        page.keyboard.press("Space")
        page.get_by_role("searchbox").first.fill(words)

    return act


def open_everything(page: Any) -> None:
    """Open calls, thinking, and the versions of a changed file."""
    open_calls(page)
    page.keyboard.press("t")
    press_in_head("Details")(page)
    press("Versions")(page)


PAGES: list[tuple[str, str, Callable[[Any], None] | None]] = [
    ("#/", ".session-row", None),
    ("#/?q=jitter", ".found-text", None),
    ("#/usage?period=All+time", ".top-sessions a", None),
    ("#/stats?open=Bash&period=All+time", ".counted-calls a", None),
    ("#/files", ".recent-file", None),
    ("#/settings", "#installation", None),
    ("#/nowhere", "main h1, main p", None),
    ("#/?branch=nowhere", "main .chip.on", None),
    ("#/usage?from=2020-01-01&to=2020-01-31", "main button:has-text('newest')", None),
    ("#/s/00000000-0000-4000-8000-000000000000", "main p", None),
    (f"#/s/{DEMO['letters']}", ".versions .diff", open_everything),
    (f"#/s/{DEMO['letters']}?view=timeline", ".waterfall canvas", None),
    (f"#/s/{DEMO['letters']}?panel=files&show=README.md", ".blame", press("Blame")),
    (
        f"#/s/{DEMO['letters']}?panel=context",
        ".context-name",
        lambda page: page.locator(".context-parts button").first.click(),
    ),
    (f"#/s/{DEMO['letters']}?panel=about", ".about-tab .figures", None),
    (f"#/s/{DEMO['axis']}?panel=share", "section[aria-label=Share]", None),
    (f"#/s/{DEMO['flaky']}", ".hit", look_for("jitter")),
]
"""The address of each page, what it waits for, and what is done on it first."""


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_an_accessibility_check_finds_nothing_on_any_page(
    tab: Tab, demo: str, axe: Any, scheme: str, width: int
) -> None:
    page = tab(demo, color_scheme=scheme, viewport={"width": width, "height": 900})
    page.locator(".session-row").first.wait_for()
    for address, ready, act in PAGES:
        page.evaluate("address => location.hash = address", address)
        if act is not None:
            act(page)
        page.locator(ready).first.wait_for()
        assert axe(page) == [], address
    if width < 1000:
        page.evaluate("location.hash = '#/usage'")
        press("Menu")(page)
        page.get_by_role("link", name="Insights").wait_for()
        assert axe(page) == [], "the menu of a phone"
    if width > 1000:
        press("List")(page)
        page.locator(".sessions-pane [aria-current]").wait_for()
        assert axe(page) == [], "the list beside a session"
    page.goto(urljoin(demo, "/nowhere"))
    assert axe(page) == [], "the page of the server for an unknown address"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_check_finds_nothing_without_sessions_or_in_a_team(
    tab: Tab, serve: Callable[..., str], axe: Any, tmp_path: Path, scheme: str
) -> None:
    pytest.importorskip("pyarrow")
    from team_machines import Machine, write_all

    bucket = tmp_path / "bucket"
    write_all([Machine(tmp_path, n) for n in range(6)], bucket)
    (tmp_path / "empty").mkdir()
    page = tab(serve("serve", "--root", tmp_path / "empty", "--team", bucket), color_scheme=scheme)
    for address, ready in {
        "#/": "main code",
        "#/insights": "main h1",
        "#/team": "text=Fewer than three people",
        "#/team?quarter=2026-Q1": ".bars",
    }.items():
        page.evaluate("address => location.hash = address", address)
        page.locator(ready).first.wait_for()
        assert axe(page) == [], address


def fold(page: Any) -> None:
    page.locator(".project-row .fold").first.click()


BACK: list[tuple[str, str, Callable[[Any], None] | None]] = [
    ("#/?group=project&sort=cost", ".session-row", fold),
    ("#/?q=jitter&order=newest", ".found-text", None),
    ("#/s/b90c6f28-57e1-4b3d-a6a2-e1f47d08c935", ".message", None),
    ("#/usage?period=All+time&by=model", ".top-sessions a", None),
    ("#/s/b90c6f28-57e1-4b3d-a6a2-e1f47d08c935?panel=context", ".message", None),
    ("#/stats?period=All+time&by=file&open=none", "table.figures", None),
    ("#/settings", "#installation", None),
    ("#/s/b90c6f28-57e1-4b3d-a6a2-e1f47d08c935?panel=files", ".message", None),
]
"""Pages that one leaves and returns to, what each has when it is complete, and what is done on it."""
STATE = """
[location.hash, Math.round(scrollY), document.querySelectorAll(".project-row .fold[aria-expanded=false]").length]
"""


def test_back_restores_every_page(tab: Tab, demo: str) -> None:
    page = tab(demo, viewport={"width": 1280, "height": 420})
    for address, ready, act in BACK:
        page.evaluate("address => location.hash = address", address)
        page.locator(ready).first.wait_for()
        if act is not None:
            act(page)
        page.evaluate("scrollTo(0, 120)")
        until(page, "scrollY > 0 || document.documentElement.scrollHeight <= innerHeight")
        left = page.evaluate(STATE)
        other = "Settings" if "All+time" in address else "Insights"
        page.get_by_role("link", name=other, exact=True).first.click()
        page.get_by_role("heading", name=other, exact=True).wait_for()
        page.go_back()
        page.locator(ready).first.wait_for()
        until(page, f"JSON.stringify({STATE}) === '{json.dumps(left, separators=(',', ':'))}'")


def test_every_page_prints_dark_on_light(tab: Tab, demo: str) -> None:
    page = tab(demo, viewport={"width": 800, "height": 1000})
    page.emulate_media(media="print", color_scheme="dark")
    for address, ready, _ in BACK:
        page.evaluate("address => location.hash = address", address)
        page.locator(ready).first.wait_for()
        expect(page.locator(".bar").first).to_be_hidden()
        until(page, "Number(getComputedStyle(document.body).color.match(/\\d+/)[0]) < 80")


def test_on_a_phone_the_first_message_is_high_and_the_rest_of_the_head_one_step_away(tab: Tab, demo: str) -> None:
    page = tab(session_url(demo, "letters"), **PHONE)
    first = page.locator(".message").first
    first.wait_for()
    assert first.bounding_box()["y"] < 844 / 3
    expect(page.locator(".session-location")).to_be_hidden()
    press_in_head("Details")(page)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(".session-location")).to_be_visible()
    page.mouse.wheel(0, 2000)
    press("Filter")(page)
    press("Prompts")(page)
    expect(page.get_by_role("status").filter(has_text="message")).to_be_in_viewport()
    expect(page.locator(".message:not(.prompt)")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_keys_go_through_the_timeline_and_back_returns_to_it(tab: Tab, demo: str) -> None:
    page = tab(session_url(demo, "letters"))
    page.get_by_role("link", name="Timeline").click()
    bars = page.locator(".waterfall canvas")
    expect(bars).to_be_visible()
    expect(page.locator(".waterfall-legend")).to_contain_text("agents")
    bars.focus()
    page.keyboard.press("ArrowRight")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status").filter(has_text="turn 1")).to_be_visible()
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Whole session")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.locator(".call.current > .collapsible.open")).to_be_in_viewport()
    page.go_back()
    expect(page.get_by_role("button", name="Whole session")).to_be_enabled()


def assert_all_is_printed(page: Any, count: int) -> None:
    """Check that the browser's own print, which waits for nothing, prints every message."""
    page.locator(".message").first.wait_for()
    page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('.message').length })"
    )
    page.pdf()
    assert page.evaluate("window.printed") == count
    until(page, f"document.querySelectorAll('.message').length < {count}")


@pytest.fixture
def long_session(tmp_path: Path) -> Path:
    """A session with more messages than a page of the reader loads at once."""
    path = tmp_path / "long.jsonl"
    talk = [record for n in range(150) for record in (user(f"question {n}"), reply(f"answer {n}", id=f"msg_{n}"))]
    path.write_bytes(jsonl(*told(*talk)))
    return path


def test_all_of_a_long_session_is_printed(tab: Tab, serve: Callable[..., str], long_session: Path) -> None:
    assert_all_is_printed(tab(serve("serve", long_session)), 300)


def test_all_of_an_exported_session_is_printed(tab: Tab, long_session: Path) -> None:
    page = long_session.with_name("page.html")
    page.write_bytes(b"".join(session_html(reread.open(long_session))))
    assert_all_is_printed(tab(page.as_uri()), 300)


DISTANCE_FROM_TOP = "element => Math.round(element.getBoundingClientRect().y + scrollY)"


class TestUsage:
    def test_the_cost_is_on_the_screen_and_pointing_at_the_chart_moves_nothing(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage", viewport={"width": 1440, "height": 900})
        page.get_by_role("button", name="By project").click()
        page.get_by_role("button", name="All time").click()
        page.get_by_role("button", name="Figures of each project").click()
        table = page.get_by_role("region", name="Usage by project").locator("table")
        expect(table.get_by_role("columnheader").nth(1)).to_have_text("Cost")
        expect(page.locator(".bars .num").first).to_be_in_viewport(ratio=1)
        expect(page.locator(".why .bars")).to_be_visible()
        before = table.evaluate(DISTANCE_FROM_TOP)
        for column in page.locator(".costs .chart svg g:has(.tick)").all()[:4]:
            column.locator(".hover").hover(force=True)
            expect(page.locator(".costs .legend-period")).not_to_contain_text("Total")
            assert table.evaluate(DISTANCE_FROM_TOP) == before
            assert not re.search(r"\$\d+\.\d{5}", page.locator(".costs .legend").inner_text())

    def test_the_cost_is_on_the_screen_of_a_phone(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage", **PHONE)
        page.get_by_role("button", name="By project").click()
        page.get_by_role("button", name="All time").click()
        expect(page.locator(".usage-totals strong").first).to_be_in_viewport(ratio=1)
        page.locator("table.figures tbody tr").first.evaluate(
            "row => row.scrollIntoView({ block: 'center' })"
        )  # down, not sideways
        expect(page.locator("table.figures td.num").first).to_be_in_viewport(ratio=1)
