"""Jumps arrive, however late the rows around their target are filled; and never against the person's will."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, result, text, thinking, told, use, user
from playwright.sync_api import expect

from browser.conftest import AFTER_FRAMES, serving, until
from browser.test_navigation import TOP_MESSAGE
from browser.test_reading import is_at_top

Tab = Callable[..., Any]
ID = "00000000-0000-4000-8000-000000000001"
OUTPUT = "\n".join(f"line {n}" for n in range(300))
LATE = 2500
"""Milliseconds by which bodies are late: longer than any number of tries would take."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a session of sixty turns, each with texts and calls of many heights."""
    folder = tmp_path_factory.mktemp("jumps")
    records: list[Any] = []
    for n in range(60):
        failed = n % 20 == 19
        records += [
            user(f"question {n}"),
            reply(
                text("Paragraph.\n\n" * (n % 7)),
                use(f"a{n}", "Bash", command="ls"),
                id=f"m{n}",
            ),
            answer(result(f"a{n}", f"{OUTPUT}\nA walrus at the end of {n}.", is_error=failed)),
            reply(f"The answer to {n}.", id=f"n{n}"),
        ]
    path = folder / f"projects/-home-dev/{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(*({**record, "sessionId": ID, "cwd": "/home/dev"} for record in records))))
    with serving(folder / "home", "--root", str(folder), "serve") as address:
        yield address


class Late:
    """Answers of the server, by default the bodies of calls, that are held back until `release`."""

    def __init__(self, page: Any, pattern: str = r"/calls/\d+") -> None:
        self.page = page
        self.held: list[Any] = []
        self.late = True
        page.route(re.compile(pattern), self.respond)

    def respond(self, route: Any) -> None:
        if self.late:
            self.held.append(route)
        else:
            route.continue_()

    def wait(self, milliseconds: int = LATE) -> None:
        """Wait until one is asked for, and then long enough for an impatient jump to give up."""
        while not self.held:
            self.page.wait_for_timeout(20)
        self.page.wait_for_timeout(milliseconds)

    def release(self) -> None:
        self.late = False
        for route in self.held:
            route.continue_()


def in_place(page: Any, selector: str) -> None:
    """Wait until an element is just below the bar, and stays there for some frames."""
    at = f"document.querySelector({selector!r})?.getBoundingClientRect().top"
    until(page, f"(top => top >= 40 && top <= 140)({at})")
    page.evaluate(AFTER_FRAMES)
    assert is_at_top(page, selector)


def test_a_hit_is_on_the_screen_however_late_its_text_arrives(tab: Tab, address: str) -> None:
    page = tab(address)
    bodies = Late(page)
    page.get_by_role("searchbox").fill('"end of 40"')
    page.locator(".found-text").click()
    bodies.wait()
    bodies.release()
    expect(page.locator(".call.current").get_by_text("A walrus at the end of 40.")).to_be_in_viewport()


MARKS = """() => [...CSS.highlights.get("search-hits") ?? []].map(String)"""
"""The texts that are marked."""


def test_what_is_marked_is_what_is_counted(tab: Tab, serve: Callable[..., str], tmp_path: Path) -> None:
    lines = [f"line {number} of the river" for number in range(9000)]
    lines[7000] = "an otter and a badger"
    path = tmp_path / "config" / "projects" / "-w" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    agent = use("t2", name="Task", description="look", prompt="the badger and the otter")
    path.write_bytes(
        jsonl(
            *told(
                user("an otter"),
                reply(thinking("otter\n\nbadger"), "no badger here", use("t1", command="cat"), id="m1"),
                answer(result("t1", "\n".join(lines))),
                reply(agent, id="m2"),
                answer(result("t2", "nothing")),
                reply("a lonely otter", id="m3"),
            )
        )
    )
    page = tab(f"{serve('--root', tmp_path / 'config', 'serve')}#/s/{ID}")
    page.get_by_role("searchbox").fill("otter badger")
    current = page.locator(".hit[aria-current]")
    places = {"thinking": "badger", "Bash call": "an otter and a badger", "Task call": "the badger and the otter"}
    for number, (where, line) in enumerate(places.items(), 1):
        expect(page.locator(".search-count")).to_have_text(f"{number} of 3")
        expect(current).to_contain_text(where)
        expect(page.locator("article").get_by_text(line, exact=True)).to_be_in_viewport()
        until(page, f"({MARKS})().length == {2 * number}")
        page.get_by_role("button", name="Next hit").click()
    page.get_by_role("searchbox").fill("lonely")
    until(page, f"JSON.stringify(({MARKS})()) == '[\"lonely\"]'")


def test_a_target_stays_while_the_texts_above_it_arrive(tab: Tab, address: str) -> None:
    page = tab(f"{address}#/s/{ID}?turn=31&view=everything")
    bodies = Late(page)
    in_place(page, ".message.selected")
    bodies.wait()
    bodies.release()
    expect(page.get_by_text("line 3", exact=True).first).to_be_attached()
    in_place(page, ".message.selected")
    expect(page.locator(".message.selected")).to_contain_text("question 30")


def test_a_person_who_scrolls_away_is_left_in_peace(tab: Tab, address: str) -> None:
    page = tab(address)
    bodies = Late(page)
    page.get_by_role("searchbox").fill('"end of 40"')
    page.locator(".found-text").click()
    expect(page.locator(".call.current .loading")).to_be_in_viewport()
    bodies.wait()
    before = page.evaluate("scrollY")
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -1500)
    until(page, f"scrollY < {before} - 1000")
    page.wait_for_timeout(500)
    shown = page.evaluate(TOP_MESSAGE)
    bodies.release()
    expect(page.get_by_text("The answer to 40.")).not_to_be_in_viewport()
    page.wait_for_timeout(500)
    assert page.evaluate(TOP_MESSAGE) == shown


@pytest.mark.parametrize("how", ["key", "script"])
def test_other_ways_of_scrolling_end_a_jump(tab: Tab, address: str, how: str) -> None:
    page = tab(f"{address}#/s/{ID}?turn=31")
    in_place(page, ".message.selected")
    before = page.evaluate("scrollY")
    if how == "key":
        page.keyboard.press("End")
    else:  # as the search of the browser, a screen reader or the scroll bar do
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(page.get_by_text("The answer to 59.")).to_be_in_viewport()
    assert page.evaluate("scrollY") > before


def test_a_jump_that_the_person_no_longer_waits_for_does_not_happen(tab: Tab, address: str) -> None:
    page = tab(f"{address}#/s/{ID}")
    page.locator(".message").first.wait_for()
    items = Late(page, r"/items\?start=1")
    page.keyboard.press("G")
    items.wait(0)
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 300)
    until(page, "scrollY === 300")
    items.release()
    page.wait_for_timeout(500)
    assert page.evaluate("scrollY") == 300


def test_many_jumps_on_a_slow_machine(tab: Tab, address: str) -> None:
    page = tab(f"{address}#/s/{ID}")
    page.locator(".message").first.wait_for()
    machine = page.context.new_cdp_session(page)
    machine.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.route("**/api/**", lambda route: (page.wait_for_timeout(30), route.continue_()))
    for turn in (40, 3, 50, 20, 48, 12, 33):
        page.evaluate(f"location.hash = '#/s/{ID}?turn={turn}'")
        expect(page.locator(".message.selected")).to_contain_text(f"question {turn - 1}")
        in_place(page, ".message.selected")
    for _ in range(4):
        page.keyboard.press("e")
    expect(page.locator(".call.current.failed")).to_be_in_viewport()
    page.keyboard.press("G")
    expect(page.get_by_text("The answer to 59.")).to_be_in_viewport()
    page.go_back()
    expect(page.locator(".current-turn")).to_contain_text("question 11")
    expect(page.locator(".message.prompt", has_text="question 11")).to_be_in_viewport()
    machine.detach()
