"""The list of sessions: stars and notes, the list beside a session, headings, and many sessions."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from making import SESSION, jsonl, reply, text, told, user
from playwright.sync_api import expect

Tab = Callable[..., Any]
WIDE = {"viewport": {"width": 1440, "height": 900}}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder with 120 sessions of three projects."""
    for number in range(120):
        folder = tmp_path / "projects" / f"-home-sam-p{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = jsonl(*told({**user(f"Prompt {number:03}"), "cwd": f"/home/sam/p{number % 3}"}, reply(text("Done."))))
        id = f"s-{number:03}"
        (folder / f"{id}.jsonl").write_bytes(lines.replace(SESSION.encode(), id.encode()))
    return tmp_path


class Wire:
    """What a page asks for, and how many bytes come over the wire."""

    def __init__(self, page: Any) -> None:
        self.asked: list[str] = []
        self.bytes = 0
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.send("Network.clearBrowserCache")
        network.on("Network.requestWillBeSent", lambda event: self.asked.append(event["request"]["url"]))
        network.on("Network.loadingFinished", self._count)

    def _count(self, event: Any) -> None:
        self.bytes += event["encodedDataLength"]

    def clear(self) -> None:
        """Forget what was asked for so far."""
        self.asked.clear()
        self.bytes = 0


def test_the_first_page_asks_for_little_and_for_nothing_twice(tab: Tab, serve: Callable[..., str], many: Path) -> None:
    page = tab(serve("--root", many, "serve"), **WIDE)
    wire = Wire(page)
    page.reload()
    expect(page.locator(".session-row").first).to_be_visible()
    page.wait_for_load_state("load")
    icons = [address for address in wire.asked if address.endswith(".svg")]  # which the tab loads by itself
    asked = [address for address in wire.asked if address not in icons]
    assert any(address.endswith("/api/library") for address in asked) and len(asked) == len(set(asked))
    assert 150_000 < wire.bytes <= 250_000
    wire.clear()
    page.reload()
    expect(page.locator(".session-row").first).to_be_visible()
    page.wait_for_load_state("load")
    assert 0 < wire.bytes <= 30_000


def test_stars_and_notes(tab: Tab, serve: Callable[..., str], many: Path, tmp_path: Path) -> None:
    address = serve("--root", many, "serve")
    page = tab(address, **WIDE)
    row = page.locator(".library-row", has_text="Prompt 119")
    row.get_by_role("button", name="Star Prompt 119").click()
    expect(row.get_by_role("button", pressed=True)).to_be_visible()
    page.get_by_role("button", name="★ Starred").click()
    expect(page.locator(".session-row")).to_have_count(1)
    expect(page).to_have_url(re.compile("starred=1"))
    page.locator(".session-row").click()

    other = tab(address + page.evaluate("location.hash"), **WIDE)
    for one in (page, other):
        expect(one.get_by_role("button", name="Starred")).to_be_visible()
        one.get_by_role("button", name="Add a note").click()
    page.get_by_label("Note").fill("the ceiling")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".session-note")).to_have_text("the ceiling")
    other.get_by_label("Note").fill("the floor")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_role("alert")).to_contain_text("changed elsewhere")
    expect(other.locator(".session-note")).to_have_text("the ceiling")
    other.get_by_label("Note").fill("the ceiling and the floor")
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".session-note")).to_have_text("the ceiling and the floor")

    page.go_back()
    expect(page.locator(".session-row")).to_have_count(1)
    expect(page.locator(".row-note")).to_have_text("the ceiling and the floor")
    page.get_by_role("button", name="★ Starred").click()
    page.get_by_role("searchbox").fill("ceiling floor")
    expect(page.locator("main")).to_contain_text("Prompt 119")
    stored = json.loads((tmp_path / "home/reread/annotations.json").read_text())["sessions"]
    assert list(stored.values()) == [{"starred": True, "note": "the ceiling and the floor"}]


def test_the_list_beside_a_session_and_headings_that_stay(
    tab: Tab, serve: Callable[..., str], many: Path, axe: Any
) -> None:
    page = tab(serve("--root", many, "serve"), **WIDE)
    page.locator(".session-row").first.wait_for()
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 600)
    expect(page.locator(".sticky-heading")).to_have_text(re.compile("~/p"))
    assert page.locator(".sticky-heading").bounding_box()["y"] == 48
    page.locator(".session-row").nth(20).click()
    page.locator(".message").first.wait_for()
    expect(page.locator(".sessions-pane")).to_have_count(0)
    page.get_by_role("button", name="List").click()
    pane = page.get_by_role("complementary", name="Sessions")
    expect(pane.locator("[aria-current]")).to_be_in_viewport()
    assert page.locator(".session").bounding_box()["x"] == 280
    pane.get_by_role("searchbox").fill("prompt 07")
    expect(pane.get_by_role("link")).to_have_count(12)  # 007, 070 to 079 and 107
    title = page.locator("h1").inner_text()
    pane.get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text("07")
    page.go_back()
    expect(page.locator("h1")).to_have_text(title)
    expect(pane.get_by_role("searchbox")).to_have_value("prompt 07")
    assert axe(page) == []
    page.reload()
    expect(pane).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(pane).to_be_hidden()
