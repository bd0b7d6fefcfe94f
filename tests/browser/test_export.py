"""An exported page, opened from a file without network."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from making import jsonl, reply, told, user
from playwright.sync_api import expect

from browser.conftest import DEMO, open_tab, until
from browser.test_appearance import SCROLLS_SIDEWAYS
from browser.test_hostile import BIDI, PAYLOAD, QUOTES, assert_harmless, hostile, records

__all__ = ["hostile"]


def exported(home: Path, *arguments: str) -> Path:
    """The file that `reread export` wrote."""
    target = home / "page.html"
    run_export(home, *arguments, "-f", "html", "-o", str(target))
    return target


def run_export(home: Path, *arguments: str) -> None:
    """Run `reread` with a home of its own."""
    environment = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    subprocess.run([sys.executable, "-m", "reread", *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The longest demo session, exported."""
    return exported(tmp_path_factory.mktemp("home"), "--demo", "export", DEMO["letters"])


@pytest.fixture
def offline(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens files in tabs without network."""
    closing: list[Any] = []

    def open_file(path: Path, hash: str = "", **options: Any) -> Any:
        tab = open_tab(browser, path.as_uri() + hash, offline=True, **options)
        closing.append(tab)
        return tab.__enter__()

    yield open_file
    for tab in closing:
        tab.__exit__(None, None, None)


def test_it_works_like_the_served_reader(offline: Callable[..., Any], letters: Path) -> None:
    page = offline(letters)
    expect(page.get_by_role("heading", name="Dead-letter queue")).to_be_visible()
    expect(page.locator(".totals")).to_contain_text("$")
    expect(page.get_by_role("button", name="Raw")).to_have_count(0)
    call = page.locator(".call", has_text="Find what touches failed events").first
    call.locator(".disclosure").first.click()
    expect(call.locator(".agent .message").first).to_be_visible()
    page.get_by_role("link", name="Timeline").click()
    expect(page.locator(".waterfall-legend")).to_contain_text("agents")
    page.locator(".turn", has_text="Have the reviewer").click()
    expect(page.locator(".message.prompt", has_text="Have the reviewer")).to_be_in_viewport()
    page.keyboard.press("/")
    page.keyboard.type("bury")
    page.locator(".hit", has_text="call").first.click()
    expect(page.locator(".call.current .indented").first).to_contain_text("bury")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_role("button", name="Prompts").click()
    expect(page.locator(".message.response")).to_have_count(0)


def test_search_includes_agents(offline: Callable[..., Any], letters: Path) -> None:
    page = offline(letters)
    page.get_by_role("searchbox").fill("The store is clear.")
    page.locator(".hit", has_text="◇").click()
    expect(page.locator(".message.selected", has_text="The store is clear.")).to_be_in_viewport()
    assert "/a/" in page.evaluate("location.hash")


def test_links_branches_and_reload(offline: Callable[..., Any], letters: Path) -> None:
    page = offline(letters, f"#/s/{DEMO['letters']}?turn=6")
    page.locator(".fork a:not([aria-current])").click()
    expect(page.locator(".message.prompt", has_text="puts everything back")).to_be_visible()
    page.go_back()
    expect(page.locator(".message.prompt", has_text="spread over a few minutes")).to_be_visible()
    page.reload()
    expect(page.locator(".message.prompt", has_text="spread over a few minutes")).to_be_visible()


def test_pictures_phone_and_dark(offline: Callable[..., Any], tmp_path: Path) -> None:
    page_file = exported(tmp_path, "--demo", "export", DEMO["axis"])
    page = offline(page_file, viewport={"width": 390, "height": 844}, color_scheme="dark")
    picture = page.locator(".picture img").first
    expect(picture).to_be_visible()
    until(page, "document.querySelector('.picture img').naturalWidth > 0")
    assert not page.evaluate(SCROLLS_SIDEWAYS)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(23, 24, 27)"


def test_a_hostile_session_is_harmless_here_too(offline: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(jsonl(*records()))
    page = offline(exported(tmp_path, "export", str(path)), viewport={"width": 1280, "height": 6000})
    assert_harmless(page)


RIGHT_ENDS = "cells => cells.map(cell => Math.round(cell.getBoundingClientRect().right))"
NAMES = (
    "javascript:alert(1)",
    '"><script>alert(1)</script>',
    "a&quot;b",
    "..",
    "-o",
    "%2e%2e%2fx",
    "\u202egpj",
    "#a?b",
)
"""Names of files that could become addresses, attributes or options."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows allows none of these names")
def test_a_hostile_site_is_harmless(offline: Callable[..., Any], tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / "given").mkdir(exist_ok=True)
        project = {"cwd": f"/home/{QUOTES}{name}", "gitBranch": QUOTES}
        response = reply(PAYLOAD, usage={"input_tokens": 3, "output_tokens": 5})
        response["message"]["model"] = QUOTES
        records = told(user(PAYLOAD, **project), response, {"type": "custom-title", "customTitle": QUOTES + BIDI})
        (tmp_path / "given" / f"{name.replace('/', '_')}.jsonl").write_bytes(jsonl(*records))
    site = tmp_path / "site"
    run_export(tmp_path, "export", *map(str, sorted((tmp_path / "given").iterdir())), "-f", "html", "-o", str(site))
    page = offline(site / "index.html", ignored=re.escape(f"requested {site.as_uri()}/"))
    links = page.locator("a").evaluate_all("links => links.map(link => link.href)")
    assert len(links) == len(NAMES)
    assert all(link.startswith(site.as_uri() + "/") and link.endswith(".html") for link in links)
    assert "alert(1)" in page.locator("main").inner_text() and "\u202e" not in page.content()
    assert page.locator("main :is(script, img, iframe, style, [onerror])").count() == 0
    page.locator("a").first.click()
    assert_harmless(page)


def test_without_javascript_it_shows_plain_text(browser: Any, letters: Path) -> None:
    with open_tab(browser, letters.as_uri(), java_script_enabled=False, offline=True) as page:
        said = page.locator("noscript").inner_text()
        assert "needs JavaScript" in said and "Events that run out of retries" in said


def test_the_list_of_a_site_is_filtered_and_has_dates_as_the_reader_does(
    offline: Callable[..., Any], axe: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    site = tmp_path / "site"
    run_export(tmp_path, "--demo", "export", *DEMO.values(), "-f", "html", "-o", str(site))
    page = offline(
        site / "index.html", ignored=f"requested {site.as_uri()}/|Connecting to"
    )  # axe reads the style sheet
    expect(page.get_by_role("heading", name="4 sessions")).to_be_visible()
    expect(page.locator("tbody a")).to_have_count(4)
    expect(page.locator("time").first).to_have_text(re.compile(r"^\d{1,2} \w{3} \d{2}:\d{2}$|^\d{1,2} \w{3} \d{4}$"))
    page.get_by_role("searchbox").fill("harbor dead")
    expect(page.locator("tbody a:visible")).to_have_text(["Dead-letter queue"])
    expect(page.get_by_role("status")).to_have_text("1 shown")
    page.get_by_role("searchbox").fill("nowhere")
    expect(page.get_by_role("status")).to_have_text('No results for "nowhere"')
    assert axe(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("tbody a:visible")).to_have_count(4)
    for width in (1280, 768):
        page.set_viewport_size({"width": width, "height": 800})
        ends = page.locator("thead th:nth-child(6), tbody td:nth-child(6)").evaluate_all(RIGHT_ENDS)
        assert len(set(ends)) == 1, "costs and their sums are one column"
    page.locator("tbody a").first.click()
    page.locator(".message").first.wait_for()


def test_what_filled_the_context_is_in_the_page(offline: Callable[..., Any], letters: Path) -> None:
    page = offline(letters)
    page.get_by_role("button", name="What fills it").click()
    panel = page.get_by_role("complementary", name="Details")
    expect(panel.locator(".panel-tab")).to_have_text(["Context", "About"])
    expect(panel).to_contain_text("Turn 14")
    panel.get_by_role("button", name="Previous turn").click()
    expect(panel).to_contain_text("Turn 13")
    assert "panel=context" in page.url
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
