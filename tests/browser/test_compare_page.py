"""Two sessions beside each other: the first difference is said and on the screen, and the keys go on from there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from making import Object, answer, jsonl, reply, result, told, use, user

from .conftest import playwright, until

EVIL = "<img src=x onerror=alert(1)>\u202e"
TURNS = 30


def turns(*denied: int) -> bytes:
    """A session of which some calls are denied."""
    records: list[Object] = []
    for number in range(1, TURNS + 1):
        call = use(f"t{number}", command=f"make part-{number} {EVIL}")
        outcome = "The user doesn't want to proceed with this tool use." if number in denied else EVIL
        records += [user(f"Part {number} {EVIL}"), reply(call, id=f"c{number}")]
        records += [answer(result(f"t{number}", outcome, is_error=number in denied)), reply("Done.", id=f"d{number}")]
    return jsonl(*told(*records))


def test_the_session_to_compare_with_is_chosen_in_the_palette(
    tab: Any, axe: Any, serve: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "record.jsonl").write_bytes(turns())
    (tmp_path / "played.jsonl").write_bytes(turns(25))
    address = serve("serve", tmp_path / "record.jsonl", "--beside", tmp_path / "played.jsonl", "--no-token")
    for options in ({}, {"viewport": {"width": 390, "height": 844}}):
        page = tab(f"{address.partition('#')[0]}#/s/record", **options)
        if options:
            page.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("button", name="Compare", exact=True).focus()
        page.keyboard.press("Enter")
        field = page.get_by_role("combobox", name="Session to compare with")
        playwright.expect(field).to_be_focused()
        playwright.expect(page.locator(".palette").get_by_role("option")).to_have_count(1)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert axe(page) == [], scheme
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        page.keyboard.press("Escape")
        playwright.expect(page.get_by_role("button", name="Compare", exact=True)).to_be_focused()
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Session, page or action").fill("compare with another")
        page.keyboard.press("Enter")
        playwright.expect(field).to_be_focused()
        page.keyboard.press("Enter")
        playwright.expect(page.locator("h1")).to_contain_text("The first difference is in turn 25")
        until(page, "location.hash === '#/compare/record/played'")


def test_the_first_difference_is_shown_and_keys_step(
    tab: Any, axe: Any, serve: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "record.jsonl").write_bytes(turns())
    (tmp_path / "played.jsonl").write_bytes(turns(25, 28))
    address = serve("serve", tmp_path / "record.jsonl", "--beside", tmp_path / "played.jsonl", "--no-token")
    with_phone = {"viewport": {"width": 390, "height": 844}}
    for options in ({}, with_phone):
        page = tab(address, **options)
        playwright.expect(page.locator("h1")).to_contain_text("The first difference is in turn 25: Bash make part-25")
        playwright.expect(page.locator("h1")).to_contain_text("→")
        first, second = (page.locator(".compare-different").nth(number) for number in (0, 1))
        playwright.expect(first).to_be_in_viewport()
        playwright.expect(page.locator(".compare-turn").first).to_contain_text("equal · 1 call")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        for step, shown in (("n", first), ("n", second), ("p", first)):
            page.keyboard.press(step)
            playwright.expect(shown).to_be_focused()
            playwright.expect(shown).to_be_in_viewport()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert axe(page) == [], scheme
        first.get_by_role("link").last.click()
        until(page, "location.hash.includes('/s/played?call=t25')")
