"""Keyboard shortcuts, links, the outline, search, filters and replay."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from making import answer, jsonl, reply, result, told, use, user
from playwright.sync_api import expect

from browser.conftest import DEMO, until
from browser.test_reading import is_at_top, session_url

Tab = Callable[..., Any]
TOP_MESSAGE = (
    "[...document.querySelectorAll('.row > .message')].find(m => m.getBoundingClientRect().bottom > 130).dataset.key"
)
"""The key of the first message below the bar and the line that sticks to it."""


def current_turn(page: Any) -> str:
    """The number of the current turn in the outline."""
    return page.locator(".turn[aria-current] .turn-number").inner_text()


class TestKeys:
    def test_j_and_k_step_through_turns(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".message").first.wait_for()
        for _ in range(3):
            turn = current_turn(page)
            page.keyboard.press("j")
            expect(page.locator(".turn[aria-current] .turn-number")).not_to_have_text(turn)
        assert current_turn(page) == "4"
        assert is_at_top(page, ".message.selected")
        page.keyboard.press("k")
        expect(page.locator(".turn[aria-current] .turn-number")).to_have_text("3")

    def test_n_and_p_step_through_calls_and_o_opens_one(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("n")
        expect(page.locator(".call.current")).to_contain_text("test_backoff.py")
        page.keyboard.press("n")
        expect(page.locator(".call.current")).to_contain_text("backoff.py")
        page.keyboard.press("o")
        expect(page.locator(".call.current .indented .code").first).to_be_visible()
        page.keyboard.press("p")
        expect(page.locator(".call.current")).to_contain_text("test_backoff.py")

    def test_e_goes_to_the_next_error(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("e")
        expect(page.locator(".call.current.failed")).to_be_visible()

    def test_e_visits_each_call_that_failed_was_denied_or_interrupted_and_starts_over(
        self, tab: Tab, serve: Callable[..., str], tmp_path: Path
    ) -> None:
        path = tmp_path / "errors.jsonl"
        denied = "The user doesn't want to proceed with this tool use. The tool use was rejected."
        path.write_bytes(
            jsonl(
                *told(
                    user("go"),
                    reply(*(use(f"t{n}", "Bash", command=f"run {n}") for n in range(3)), id="msg_1"),
                    *(answer(result(f"t{n}", "no", is_error=n != 1)) for n in range(3)),
                    reply("And then?", use("t3", "Write", file_path="/a", content="b"), id="msg_2"),
                    answer(result("t3", denied, is_error=True), toolUseResult="User rejected tool use"),
                    reply("Done.", id="msg_3"),
                )
            )
        )
        page = tab(serve("serve", path))
        page.locator(".call").first.wait_for()
        for call in ("0", "2", "3", "0"):
            page.keyboard.press("e")
            expect(page.locator(".call.current")).to_have_attribute("data-call", call)

    def test_t_shows_and_hides_all_thinking(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.get_by_role("button", name="of thinking").first.wait_for()
        page.keyboard.press("t")
        expect(page.locator(".thinking .prose").first).to_be_visible()
        page.keyboard.press("t")
        expect(page.locator(".thinking .prose")).to_have_count(0)

    def test_a_number_goes_to_a_turn(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".message").first.wait_for()
        for key in "g11":
            page.keyboard.press(key)
        expect(page.locator(".turn[aria-current] .turn-number")).to_have_text("11")
        agents = page.get_by_label("Agents of turn 11")
        agents.get_by_role("link").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".other-agents [aria-current=page]")).to_be_visible()

    def test_a_question_mark_shows_the_shortcuts(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.locator(".session-row").first.wait_for()
        page.keyboard.press("?")
        expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_have_count(0)

    def test_escape_closes_the_shortcuts_first(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("?")
        expect(page.locator(".shortcuts")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".shortcuts")).to_have_count(0)


class TestLinks:
    def test_a_message_link_works_and_survives_a_reload(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters", "?turn=9"))
        selected = page.locator(".message.selected")
        selected.wait_for()
        selected.hover()
        selected.get_by_role("link", name="Link").click()
        key = selected.get_attribute("data-key")
        page.wait_for_url(f"**at={key}**")
        page.reload()
        expect(page.locator(f'.message[data-key="{key}"]')).to_be_in_viewport()
        assert is_at_top(page, f'.message[data-key="{key}"]')

    def test_a_call_link_opens_the_call(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        call = page.locator(".call", has_text="Edit").first
        call.locator(".disclosure").first.click()
        address = call.get_by_role("link", name="Link").get_attribute("href")
        other = tab(demo + address)
        expect(other.locator(".call.current .diff").first).to_be_in_viewport()

    def test_the_scroll_position_survives_a_reload(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".message").first.wait_for()
        page.mouse.move(700, 400)
        page.mouse.wheel(0, 2500)
        until(page, "history.state?.scrollPosition?.index > 5")
        page.wait_for_timeout(400)
        before = page.evaluate(TOP_MESSAGE)
        page.reload()
        page.locator(f'[data-key="{before}"]').wait_for()
        until(page, f"{TOP_MESSAGE} === {before!r}")

    def test_a_link_to_a_missing_message(self, browser: Any, demo: str) -> None:
        page = browser.new_page()
        page.goto(session_url(demo, "flaky", "?at=nowhere"))
        expect(page.locator(".session-notices")).to_contain_text("That message is not in this session")
        page.close()

    def test_the_outline_goes_to_a_turn(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        expect(page.locator(".current-turn")).to_have_count(0)
        page.locator(".turn", has_text="Have the reviewer").click()
        expect(page.locator(".message.prompt", has_text="Have the reviewer")).to_be_in_viewport()
        expect(page.locator(".current-turn")).to_contain_text("Have the reviewer")
        head = page.locator(".filters.stuck")
        expect(head.locator("strong")).to_have_text("Dead-letter queue")
        expect(head.get_by_role("link", name="Details")).to_be_in_viewport()
        head.get_by_role("button", name="Filter").click()
        expect(page.get_by_role("button", name="Conversation")).to_be_in_viewport()
        expect(page.locator(".turn[aria-current] .turn-number")).to_have_text("11")
        agents = page.get_by_label("Agents of turn 11")
        agents.get_by_role("link").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".other-agents [aria-current=page]")).to_be_visible()


class TestSearch:
    def test_text_beyond_the_screen_is_found(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("/")
        page.keyboard.type("release note")
        expect(page.locator(".hit").first).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.locator(".message.selected")).to_be_in_viewport()
        assert page.evaluate("CSS.highlights.get('search-hits').size") > 0
        page.keyboard.press("Escape")
        expect(page.locator(".hit")).to_have_count(0)

    def test_a_hit_in_a_call_opens_it(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.get_by_role("searchbox").fill("uniform(-self.jitter")
        page.locator(".hit", has_text="call").first.click()
        expect(page.locator(".call.current .indented").first).to_contain_text("uniform(-self.jitter")

    def test_no_matches(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.get_by_role("searchbox").fill("zzyzx")
        expect(page.locator(".hits-summary")).to_contain_text("No matches")


class TestFilters:
    def test_only_prompts(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message.response").first.wait_for()
        page.get_by_role("button", name="Prompts").click()
        expect(page.locator(".message.response")).to_have_count(0)
        expect(page.locator(".message.prompt").first).to_be_visible()
        page.get_by_role("button", name="Show all").click()
        expect(page.locator(".message.response").first).to_be_visible()

    def test_a_tool_by_name(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.get_by_label("Tool calls").select_option("Edit")
        expect(page.locator(".call .tool").first).to_have_text("Edit")
        assert set(page.locator(".call .tool").all_inner_texts()) == {"Edit"}
        expect(page.locator(".message.prompt")).to_have_count(0)
        page.get_by_role("button", name="Prompts").click()
        expect(page.locator(".message.prompt").first).to_be_visible()
        expect(page.locator(".call .tool").first).to_have_text("Edit")

    def test_only_errors(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.get_by_role("button", name="errors").click()
        expect(page.locator(".call:not(.failed, .denied, .interrupted)")).to_have_count(0)
        expect(page.locator(".call.failed").first).to_be_visible()


class TestReplay:
    def test_play_pause_step_and_seek(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message").nth(3).wait_for()
        page.get_by_role("button", name="Play", exact=True).click()
        expect(page.locator(".player")).to_be_visible()
        page.get_by_label("Speed").select_option("32")
        expect(page.locator(".player .num")).to_contain_text(re.compile(r"\b([3-9]|\d\d) of"))
        page.get_by_role("button", name="Pause").click()
        shown = page.locator(".player .num").inner_text()
        page.wait_for_timeout(400)
        assert page.locator(".player .num").inner_text() == shown
        page.get_by_role("button", name="Next message").click()
        expect(page.locator(".player .num")).not_to_have_text(shown)
        page.locator(".turn").nth(2).click()
        expect(page.locator(".message.prompt", has_text="Yes, that's better")).to_be_in_viewport()
        page.locator("body").press("Space")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator(".player")).to_have_count(0)

    def test_space_plays(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/s/{DEMO['axis']}")
        page.locator(".message").first.wait_for()
        page.keyboard.press("Space")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
