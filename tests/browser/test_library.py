"""The list of sessions: filters, groups, repeats, stars and notes, and the list beside a session."""

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from making import SESSION, answer, jsonl, reply, result, text, told, use, user
from playwright.sync_api import expect

from browser.conftest import AFTER_FRAMES

Tab = Callable[..., Any]
WIDE = {"viewport": {"width": 1440, "height": 900}}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder with 120 sessions of three projects."""
    return with_sessions(tmp_path, 120)


def with_sessions(root: Path, count: int) -> Path:
    """Write sessions of three projects to a folder."""
    for number in range(count):
        folder = root / "projects" / f"-home-sam-p{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = jsonl(*told({**user(f"Prompt {number:03}"), "cwd": f"/home/sam/p{number % 3}"}, reply(text("Done."))))
        id = f"s-{number:03}"
        (folder / f"{id}.jsonl").write_bytes(lines.replace(SESSION.encode(), id.encode()))
    return root


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


def test_the_first_page_of_640_sessions_asks_for_little_and_for_nothing_twice(
    tab: Tab, serve: Callable[..., str], tmp_path: Path
) -> None:
    page = tab(serve("--root", with_sessions(tmp_path, 640), "serve"), **WIDE)
    wire = Wire(page)
    page.reload()
    expect(page.locator(".session-row").first).to_be_visible()
    page.wait_for_load_state("load")
    icons = [address for address in wire.asked if address.endswith(".svg")]  # which the tab loads by itself
    asked = [address for address in wire.asked if address not in icons]
    first = next(n for n, address in enumerate(asked) if address.endswith("/assets/early.js"))
    asked = asked[first:]  # until then, the page before may still ask
    assert any(address.endswith("/api/library") for address in asked) and len(asked) == len(set(asked))
    assert 100_000 < wire.bytes <= 250_000
    wire.clear()
    page.reload()
    expect(page.locator(".session-row").first).to_be_visible()
    page.wait_for_load_state("load")
    assert 0 < wire.bytes <= 60_000


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
    page.get_by_role("searchbox").fill("")

    other.get_by_role("button", name="Add a tag").click()
    other.get_by_label("Tag").fill("#Attic, floor")
    other.get_by_role("button", name="Add", exact=True).click()
    other.get_by_role("button", name="#floor").click()
    expect(other.get_by_role("button", name="#attic")).to_be_visible()
    expect(other.get_by_role("button", name="#floor")).to_have_count(0)
    expect(page.locator(".library-row", has_text="#attic")).to_contain_text("Prompt 119")
    page.get_by_label("Filter by tag").select_option("attic")
    expect(page.locator(".session-row")).to_have_count(1)
    stored = json.loads((tmp_path / "home/reread/annotations.json").read_text())["sessions"]
    assert list(stored.values()) == [{"starred": True, "note": "the ceiling and the floor", "tags": ["attic"]}]


def test_archived_sessions_are_left_out_until_they_are_shown(tab: Tab, serve: Callable[..., str], many: Path) -> None:
    (folder,) = many.glob("projects/*/s-119.jsonl")
    folder.with_suffix("").mkdir()
    (folder.with_suffix("") / "archived.json").write_text('{"archived": true, "at": "2099-01-01T00:00:00Z"}')
    page = tab(serve("--root", many, "serve"), **WIDE)
    hidden = page.locator(".hidden-sessions", has_text="1 session in the archive hidden")
    hidden.wait_for()
    expect(page.locator(".library-row", has_text="Prompt 119")).to_have_count(0)
    hidden.get_by_role("button", name="Show").click()
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(".library-row", has_text="Prompt 119")).to_contain_text("archived")


def test_the_list_beside_a_session_and_headings_that_stay(
    tab: Tab, serve: Callable[..., str], many: Path, axe: Any
) -> None:
    page = tab(serve("--root", many, "serve"), **WIDE)
    page.locator(".session-row").first.wait_for()
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 600)
    expect(page.locator(".sticky-heading")).to_have_text(re.compile("~/p"))
    assert page.locator(".column-heads").bounding_box()["y"] == 48
    assert page.locator(".sticky-heading").bounding_box()["y"] == 48 + 28
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


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sessions of two projects, branches and years, and six with one title."""
    root = tmp_path_factory.mktemp("filled")
    today = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    for number in range(40):
        cwd = f"/home/sam/work/{'a' * 60 if number % 2 else 'harbor'}"
        when = today - timedelta(days=number % 20 if number < 36 else 500)
        title = "Check the mail" if number < 12 and number % 2 else f"Prompt {number:03}"
        edit = use(f"toolu_{number}", "Write", file_path=f"{cwd}/a.txt", content="one\ntwo\n")
        records = told(
            user(title, cwd=cwd, gitBranch="feature/very/long/prefix/of/a/branch-that-ends" if number % 4 else "main"),
            reply(edit, id=f"msg_{number}", usage={"input_tokens": number + 1, "output_tokens": 5}),
            answer(
                result(f"toolu_{number}"),
                data={"type": "create", "filePath": f"{cwd}/a.txt", "content": "one\ntwo\n", "structuredPatch": []},
            ),
        )
        id = f"f-{number:03}"
        path = root / "projects" / f"-home-sam-{number % 2}" / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        stamped = [{**record, "timestamp": when.isoformat()} for record in records]
        path.write_bytes(jsonl(*stamped).replace(SESSION.encode(), id.encode()))
        os.utime(path, (when.timestamp() - 3600,) * 2)
    return root


def count_text(page: Any) -> Any:
    return page.locator(".library-count")


def test_filters_are_in_the_address_and_back_undoes_each(tab: Tab, serve: Callable[..., str], filled: Path) -> None:
    asked: list[str] = []
    page = tab(serve("--root", filled, "serve"), **WIDE)
    page.locator(".session-row").first.wait_for()
    page.on("request", lambda sent: asked.append(sent.url) if sent.url.endswith("/api/library") else None)
    page.reload()
    rows = page.locator(".session-row")
    page.locator(".row-turns", has_text="1").first.wait_for()
    page.get_by_label("Filter by project").select_option(label="~/work/harbor (20)")
    expect(count_text(page)).to_have_text("20 of 40")
    page.get_by_label("Filter by branch").select_option("main")
    expect(count_text(page)).to_have_text("10 of 40")
    page.get_by_label("Filter by when").select_option("7 days")
    expect(page).to_have_url(re.compile(r"project=.*branch=main&from=\d{4}.*to=\d{4}"))
    fewer = count_text(page).inner_text()
    assert int(fewer.split()[0]) < 10
    expect(rows).to_have_count(int(fewer.split()[0]))
    page.go_back()
    expect(count_text(page)).to_have_text("10 of 40")
    page.go_back()
    page.go_back()
    expect(count_text(page)).to_have_text("")
    page.go_forward()
    page.get_by_role("button", name="project: ~/work/harbor").click()
    expect(count_text(page)).to_have_text("")
    page.get_by_label("More filters").select_option("Captured")
    expect(page.get_by_text("No session has all of these.")).to_be_visible()
    page.get_by_role("button", name="Remove the filters").click()
    expect(rows.first).to_be_visible()
    assert len(asked) == 1, "the list is asked for once"


DRAG = """(year, [from, to]) => {
    const days = [...year.querySelectorAll("rect")];
    const send = (type, day) => year.dispatchEvent(
        new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: days.at(day).getBoundingClientRect().x + 1 })
    );
    send("pointerdown", from), send("pointermove", to), send("pointerup", to);
}"""
"""A drag from one day to another that ends before anything of it is drawn, as on a busy machine."""


def resting(element: Any) -> Any:
    """Return where an element is once it does not move: a list that grows or shrinks takes a scrollbar with it."""
    before, now = None, element.bounding_box()
    while before != now:
        element.page.evaluate(AFTER_FRAMES)
        before, now = now, element.bounding_box()
    return now


def test_a_day_and_days_are_chosen_in_the_year(tab: Tab, serve: Callable[..., str], filled: Path) -> None:
    page = tab(serve("--root", filled, "serve"), **WIDE)
    page.locator(".session-row").first.wait_for()
    days = page.locator(".year rect")
    expect(days).to_have_count(365)
    days.last.click()
    expect(count_text(page)).to_have_text(re.compile("^[123] of 40"))
    expect(page.locator(".chip.on")).to_contain_text("when:")
    first, last = resting(days.nth(355)), resting(days.last)
    page.mouse.move(first["x"] + 1, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + 1, last["y"] + 5, steps=5)
    page.mouse.up()
    expect(count_text(page)).to_have_text(re.compile("^[12]. of 40"))
    expect(page).to_have_url(re.compile("from=.*to="))
    page.go_back()
    expect(count_text(page)).to_have_text(re.compile("^[123] of 40"))
    page.locator(".year").evaluate(DRAG, [355, -1])
    expect(count_text(page)).to_have_text(re.compile("^[12]. of 40"))


def test_groups_fold_and_show_their_sums_and_repeats_open(tab: Tab, serve: Callable[..., str], filled: Path) -> None:
    page = tab(serve("--root", filled, "serve"), **WIDE)
    heading = page.locator(".library-rows .project-row", has_text="harbor")
    expect(heading.locator(".row-turns")).to_have_text("20")
    expect(heading.locator(".row-changed")).to_have_text("+40 −0")
    page.get_by_role("button", name=re.compile("^Hide .*aaaa")).first.click()
    expect(page.locator(".session-row", has_text="Check the mail")).to_have_count(0)
    expect(page.locator(".library-rows .project-row", has_text="aaaa").locator(".row-turns")).to_have_text("20")
    page.get_by_role("button", name=re.compile("^Show .*aaaa")).first.click()
    repeats = page.locator("button.session-row", has_text="Check the mail")
    expect(repeats).to_contain_text("× 6")
    expect(repeats.locator(".row-changed")).to_have_text("+12 −0")
    before = page.locator(".session-row.nested").count()
    repeats.click()
    expect(page.locator(".session-row.nested")).to_have_count(before + 6)
    page.locator(".session-row.nested").first.click()
    page.locator(".message").first.wait_for()
    page.go_back()
    expect(page.locator(".session-row.nested")).to_have_count(6)
    page.get_by_label("Group").select_option("day")
    page.get_by_role("button", name="Turns").click()
    expect(page).to_have_url(re.compile("group=day&sort=turns"))
    heading = page.locator(".library-rows .project-row").first
    expect(heading).to_contain_text("sessions")
    page.get_by_label("Group").select_option("project")
    page.locator(".library-rows").get_by_role("link", name="~/work/harbor").click()
    expect(count_text(page)).to_have_text("20 of 40")


def test_rows_are_one_line_of_32_pixels_and_paths_lose_their_beginning(
    tab: Tab, serve: Callable[..., str], filled: Path, axe: Any
) -> None:
    page = tab(f"{serve('--root', filled, 'serve')}#/?group=none", **WIDE)
    rows = page.locator("a.session-row")
    rows.first.wait_for()
    assert {row.bounding_box()["height"] for row in rows.all()[:10]} == {32}
    branch = page.locator(".row-branch", has_text="ends").first
    end = branch.locator("bdi").evaluate("text => text.getBoundingClientRect().right")
    assert end <= branch.evaluate("cell => cell.getBoundingClientRect().right") + 1, "its end is seen"
    assert branch.evaluate("cell => cell.scrollWidth > cell.clientWidth")
    assert axe(page) == []


@pytest.mark.parametrize("address", ["#/insights", "#/settings"])
def test_a_slash_searches_from_every_page(tab: Tab, demo: str, address: str) -> None:
    page = tab(demo + address)
    page.get_by_role("searchbox", name="Search all sessions").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("jitter")
    page.keyboard.press("Enter")
    expect(page.locator(".found-text").first).to_be_visible()
