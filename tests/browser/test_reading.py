"""Pages in the browser: the library, a session with its calls, agents and branches, and usage."""

import os
import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from making import jsonl, reply, told, user
from playwright.sync_api import expect
from requested import conversation

import reread
from browser.conftest import DEMO, NOTE_CLICKS, is_where_it_was_clicked, until
from reread.base.paths import SAMPLES

Tab = Callable[..., Any]
CLICK_ALL = "selector => document.querySelectorAll(selector).forEach(button => button.click())"


def session_url(demo: str, name: str, more: str = "") -> str:
    """The address of a demo session."""
    return f"{demo}#/s/{DEMO[name]}{more}"


def is_at_top(page: Any, selector: str) -> bool:
    """True if an element is just below the bar and the line that sticks to it."""
    top = page.locator(selector).first.bounding_box()["y"]
    return 40 <= top <= 140


TEXT_BOX = """(element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect().toJSON();
}"""
ADD_UP = """(cost) => {
    const parts = [...document.querySelectorAll(".why .num:not(.note)")].map((part) => Number(part.innerText.slice(1)));
    return Math.abs(parts.reduce((sum, part) => sum + part, 0) - cost) < 0.03;
}"""
"""Whether the reasons for a cost add up to it."""


class TestLibrary:
    def test_sessions_by_project_newest_first(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        expect(page.locator(".project-row").first).to_be_visible()
        titles = "\n".join(page.locator(".session-row .row-title").all_inner_texts())
        assert -1 < titles.find("Dead-letter queue") < titles.find("Fix the flaky ceiling test")
        row = page.locator(".session-row", has_text="Dead-letter queue")
        expect(row.locator(".row-turns")).to_have_text("15")
        expect(row).to_contain_text("$0.8")

    def test_a_filter_shows_the_matching_sessions(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.locator(".session-row").first.wait_for()
        page.keyboard.press("/")
        page.keyboard.type("axis lantern")
        expect(page.locator(".session-row")).to_have_count(1)
        page.get_by_role("searchbox").fill("qqzzxx")
        expect(page.locator(".session-row")).to_have_count(0)
        expect(page.get_by_text("No results for “qqzzxx”")).to_be_visible()

    def test_sorting_by_cost(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.get_by_role("button", name="Cost").click()
        expect(page).to_have_url(re.compile("sort=cost"))
        expect(page.locator(".session-row .row-title").first).to_contain_text("Dead-letter queue")

    def test_a_row_opens_its_session_and_back_returns(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.locator(".session-row", has_text="Fix the flaky").click()
        expect(page.get_by_role("heading", name="Fix the flaky ceiling test")).to_be_visible()
        page.go_back()
        expect(page.locator(".session-row").first).to_be_visible()
        page.go_forward()
        expect(page.get_by_role("heading", name="Fix the flaky ceiling test")).to_be_visible()

    def test_back_returns_to_the_filter_the_order_and_the_place(
        self, tab: Tab, serve: Callable[..., str], tmp_path: Path
    ) -> None:
        folder = tmp_path / "projects/-home-dev"
        folder.mkdir(parents=True)
        for n in range(80):
            id = f"00000000-0000-4000-8000-{n:012}"
            talk = told(user(f"{'odd' if n % 2 else 'even'} question {n:02}", cwd="/home/dev", sessionId=id))
            (folder / f"{id}.jsonl").write_bytes(jsonl(*talk))
        page = tab(serve("--root", tmp_path, "serve"))
        page.get_by_role("button", name="Session", exact=True).click()
        page.get_by_role("searchbox").fill("odd")
        page.get_by_role("button", name="All 40 sessions").click()
        expect(page.locator(".row-title").first).to_contain_text("odd question 01")
        row = page.locator(".session-row", has_text="odd question 71")
        until(page, "(scrollBy(0, 100), scrollY > 700)")
        page.evaluate(NOTE_CLICKS)
        row.click()
        page.locator(".message").first.wait_for()
        page.go_back()
        is_where_it_was_clicked(page)
        expect(page.get_by_role("searchbox")).to_have_value("odd")
        expect(page.get_by_role("button", name="Session ▾")).to_have_attribute("aria-pressed", "true")
        page.reload()
        expect(page.get_by_role("searchbox")).to_have_value("odd")
        page.get_by_role("link", name="Sessions").click()
        expect(page.get_by_role("searchbox")).to_have_value("")

    def test_addresses_that_name_nothing_are_pages(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/nowhere", ignored="404")
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
        page.goto(urljoin(demo, "nowhere/at/all"))
        page.get_by_role("link", name="All sessions").click()
        expect(page.locator(".session-row").first).to_be_visible()

    def test_an_empty_library_says_where_sessions_are_looked_for(self, tab: Tab, serve: Callable[..., str]) -> None:
        page = tab(serve("serve"))
        expect(page.get_by_role("heading", name="No sessions yet")).to_be_visible()

    def test_a_session_that_does_not_exist(self, browser: Any, demo: str) -> None:
        page = browser.new_page()
        page.goto(f"{demo}#/s/nothing")
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(4000)  # longer than it takes until a stream that broke is asked for again
        assert asked == []
        page.close()


class TestSession:
    def test_prompts_responses_and_totals(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        expect(page.locator(".message.prompt").first).to_contain_text("has failed on CI three times")
        expect(page.locator(".message.response").first).to_contain_text("I'll read the test")
        expect(page.locator(".totals")).to_contain_text("5 turns")
        expect(page.locator(".totals")).to_contain_text("$")
        expect(page).to_have_title("Fix the flaky ceiling test · reread")

    def test_commits_and_pull_requests_end_their_turn(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky", "?turn=5"), viewport={"width": 1280, "height": 4000})
        git = page.locator(".git")
        expect(git.first).to_contain_text("c7d20fe")
        expect(git.first).to_contain_text("Keep retry delays under the ceiling, and apart")
        pull = git.get_by_role("link", name="example/harbor#118")
        expect(pull).to_have_attribute("href", re.compile(r"^https://github\.com/example/harbor/pull/118$"))
        git.get_by_role("link", name="c7d20fe").click()
        expect(page.locator(".call .terminal").first).to_contain_text("git commit")

    def test_actions_do_not_cover_how_a_call_ended(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".call-status").first.wait_for()
        for message in page.locator(".message.response:has(.call-status)").all()[:5]:
            message.hover()
            actions = message.locator(".message-header .actions").bounding_box()
            for status in message.locator(".call-status:visible").all():
                box = status.evaluate(TEXT_BOX)  # the column is wider than what is in it
                beside = box["x"] + box["width"] <= actions["x"] or box["x"] >= actions["x"] + actions["width"]
                below = box["y"] >= actions["y"] + actions["height"] - 1 or box["y"] + box["height"] <= actions["y"]
                assert beside or below

    def test_a_call_opens_and_closes_without_a_jump(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        held: list[Any] = []
        page.route("**/usage*", lambda route: held.append(route))
        with page.expect_request("**/usage*"):
            page.goto(session_url(demo, "flaky"))
        call = page.locator(".call", has_text="Edit").first
        call.scroll_into_view_if_needed()
        before = call.bounding_box()["y"]
        expect(page.locator(".totals")).not_to_contain_text("$")
        held[0].continue_()
        expect(page.locator(".totals")).to_contain_text("$")
        assert call.bounding_box()["y"] == before
        call.locator(".disclosure").first.click()
        expect(call.locator(".diff .added").first).to_be_visible()
        expect(call.locator(".diff code [class^=hljs-]").first).to_be_visible()
        assert call.bounding_box()["y"] == before
        call.locator(".disclosure").first.click()
        expect(call.locator(".diff")).to_have_count(0)

    def test_side_by_side_diffs_are_remembered(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        call = page.locator(".call", has_text="Edit").first
        call.locator(".disclosure").first.click()
        call.get_by_role("button", name="Side by side").click()
        expect(call.locator(".side-by-side .half.removed").first).to_be_visible()
        page.reload()  # the call stays open
        expect(call.locator(".side-by-side .half.removed").first).to_be_visible()
        call.get_by_role("button", name="Inline").click()
        expect(call.locator(".diff .added").first).to_be_visible()

    def test_output_has_the_colours_of_the_terminal(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        call = page.locator(".call.failed", has_text="Run the backoff tests once")
        call.locator(".disclosure").first.click()
        red = call.locator(".terminal .ansi-1").first
        expect(red).to_be_visible()
        assert "\x1b" not in call.inner_text()

    def test_source_is_highlighted(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".call", has_text="Read").first.locator(".disclosure").first.click()
        expect(page.locator(".code .hljs-keyword").first).to_be_visible()

    def test_a_picture_enlarges(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "axis"))
        picture = page.locator(".picture img").first
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth > 0)")
        page.locator(".picture").first.click()
        expect(page.locator(".picture.large")).to_have_count(1)

    def test_raw_shows_the_recorded_lines(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        prompt = page.locator(".message.prompt").first
        prompt.hover()
        prompt.get_by_role("button", name="Raw").click()
        expect(prompt.locator(".raw-line").first).to_contain_text("line ")
        expect(prompt.locator(".raw")).to_contain_text('"type":"user"')
        expect(prompt.locator(".fate", has_text="shown")).not_to_have_count(0)

    def test_a_nested_agent_opens_inline_and_on_its_own_page(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        call = page.locator(".call", has_text="Find what touches failed events").first
        call.locator(".disclosure").first.click()
        inner = call.locator(".agent .message")
        expect(inner.first).to_be_visible()
        deeper = call.locator(".agent .call", has_text="Agent").first
        deeper.locator(".disclosure").first.click()
        expect(deeper.locator(".agent .message").first).to_be_visible()
        call.get_by_role("link", name="Open").first.click()
        expect(page.locator(".agent-of")).to_contain_text("Agent of the session")
        page.locator(".agent-of a").click()
        expect(page.get_by_role("heading", name="Dead-letter queue")).to_be_visible()

    def test_a_compaction_has_a_summary(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters", "?turn=11"))
        page.locator(".message.selected").wait_for()
        page.mouse.wheel(0, -600)
        expect(page.locator(".compaction .divider")).to_contain_text("tokens")
        page.get_by_role("button", name="Summary", exact=True).click()
        expect(page.locator(".compaction .prose").first).to_be_visible()

    def test_a_branch_is_switched(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters", "?turn=6"))
        fork = page.locator(".fork")
        fork.locator("a:not([aria-current])").click()
        expect(page.locator(".fork a[aria-current]")).to_contain_text("puts everything back")
        expect(page.locator(".message.prompt", has_text="puts everything back")).to_be_visible()
        page.go_back()
        expect(page.locator(".message.prompt", has_text="spread over a few minutes")).to_be_visible()
        page.keyboard.press("[")
        page.keyboard.press("]")
        page.wait_for_url("**branch=*")

    def test_collapsed_parts_expand(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.get_by_role("button", name="reminders").first.click()
        expect(page.locator(".collapsed-parts .indented").first).to_be_visible()
        expect(page.get_by_text("environment", exact=True).first).to_be_visible()

    def test_copy_as_markdown(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"), permissions=["clipboard-read", "clipboard-write"])
        prompt = page.locator(".message.prompt").first
        prompt.hover()
        prompt.get_by_role("button", name="Copy").click()
        expect(prompt.get_by_text("Copied")).to_be_visible()
        assert "has failed on CI" in page.evaluate("navigator.clipboard.readText()")
        prompt.get_by_role("link", name="Link").click()
        expect(prompt.get_by_role("link", name="Copied")).to_be_visible()
        assert re.search(r"/#/s/[^?]+\?at=", page.evaluate("navigator.clipboard.readText()"))
        call = page.locator(".call", has_text="Run the backoff tests once")
        expect(call.locator(".call-detail")).to_contain_text("pytest")
        expect(page.locator(".call .added-lines").first).to_contain_text("+")
        call.locator(".disclosure").first.click()
        command = call.locator(".terminal.in")
        command.hover()
        command.get_by_role("button", name="Copy").click()
        expect(command.get_by_text("Copied")).to_be_visible()
        assert "pytest" in page.evaluate("navigator.clipboard.readText()")

    def test_each_turn_has_the_command_that_continues_from_it(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"), permissions=["clipboard-read", "clipboard-write"])
        end = page.locator(".turn-end").first
        end.get_by_role("button", name="Continue from here").click()
        expect(end.get_by_text("Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == f"reread resume {DEMO['flaky']}:1"

    def test_about(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        open_details(page, "About")
        about = page.get_by_role("region", name="About this session")
        expect(about).to_contain_text(DEMO["letters"])
        expect(about).to_contain_text("Claude Code")
        expect(about.locator(".figures")).to_contain_text("opus")

    def test_files_with_their_changes_versions_and_authors(self, tab: Tab, demo: str) -> None:
        page = tab(f"{session_url(demo, 'flaky')}?panel=files")
        files = page.get_by_role("region", name="Files that this session changed")
        expect(files.locator(".panel-place")).to_have_text("2 files+15 −6")
        expect(files.locator(".changed-tree .path")).to_have_text(["src/harbor/backoff.py", "tests/test_backoff.py"])
        first = files.locator(".file-section").first
        expect(first.locator(".diff .added").first).to_contain_text("highest =")
        first.get_by_role("button", name="Versions").click()
        expect(first).to_contain_text("Version 2 of 2")
        page.get_by_role("slider").fill("1")
        expect(first).to_contain_text("Edited in turn 1")
        expect(first).to_contain_text("Text exact")
        page.get_by_role("button", name="Whole file").click()
        expect(first).to_contain_text("class Backoff:")
        assert "call=" in (first.get_by_role("link", name="turn 1").get_attribute("href") or "")
        first.get_by_role("button", name="Blame").click()
        expect(first.locator(".blame .own").filter(has_text="highest =")).to_contain_text("turn")
        first.locator(".blame").get_by_role("link", name="turn").first.click()
        expect(page.locator(".call.current > .collapsible.open")).to_be_in_viewport()
        expect(files).to_be_visible()


class TestPanel:
    def test_a_tab_is_in_the_address_and_back_and_escape_close_it_where_one_was(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("j")
        page.keyboard.press("j")
        place = page.locator(".message.selected").bounding_box()
        panel = page.get_by_role("complementary", name="Details")
        for links, link, name in ((page.locator(".session-head"), "Details", "Files"), (panel, "About", "About")):
            links.get_by_role("link", name=link).dispatch_event("click")
            expect(panel.locator("[aria-current]").first).to_have_text(name)
            assert f"panel={name.lower()}" in page.url
            expect(page.locator(".message.selected")).to_be_in_viewport()
        page.go_back()
        expect(panel.locator("[aria-current]").first).to_have_text("Files")
        page.go_back()
        expect(panel).to_have_count(0)
        until(page, f"Math.abs({TOP_OF_SELECTED} - {place['y']}) < 2")
        page.go_forward()
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
        assert "panel" not in page.url
        page.reload()
        page.goto(f"{session_url(demo, 'letters')}?panel=context")
        expect(page.get_by_role("region", name="Context")).to_contain_text("tokens")

    def test_requests_are_listed_and_shown_with_what_they_changed(
        self, tab: Tab, serve: Any, axe: Any, tmp_path: Path
    ) -> None:
        page = tab(f"{requested_session(serve, tmp_path)}?panel=requests")
        tab_ = page.get_by_role("region", name="Context")
        tab_.get_by_role("button", name="All 11 requests").click()
        rows = page.locator(".requests tbody tr")
        expect(rows).to_have_count(11)
        assert axe(page) == []
        rows.nth(10).get_by_role("link", name="11").click()
        expect(tab_).to_contain_text("request 11 of 11")
        expect(rows.nth(10)).to_have_attribute("aria-current", "true")
        expect(tab_).to_contain_text("100 tokens")
        expect(tab_).to_contain_text("verified")
        tab_.get_by_role("button", name="What request 11 sent").click()
        expect(tab_.locator(".one-request")).to_contain_text("sdk")
        expect(tab_).to_contain_text("+ tool <b>Bash</b>")
        expect(tab_).to_contain_text("− message 16")
        tab_.get_by_role("button", name="Previous request").click()
        expect(tab_).to_contain_text("+ message 20 · user")
        tab_.get_by_role("button", name="All of it").click()
        tab_.get_by_role("button", name="System 1").click()
        expect(tab_).to_contain_text("You are a helper.")
        tab_.get_by_role("button", name="2 tools").click()
        tab_.get_by_role("button", name="Read · Reads a file").click()
        expect(tab_.get_by_role("region", name="Read", exact=True)).to_contain_text("Reads a file")
        assert axe(page) == []
        page.go_back()
        expect(tab_).to_contain_text("Turn 1 · request")
        expect(rows).to_have_count(11)


def open_details(page: Any, tab: str) -> None:
    """Open a tab of the panel beside a session."""
    page.locator(".session-head").get_by_role("link", name="Details").click()
    page.locator(".panel-tab", has_text=tab).click()


TOP_OF_SELECTED = "document.querySelector('.message.selected').getBoundingClientRect().top"


def requested_session(serve: Any, folder: Path) -> str:
    """The address of a session whose requests are noted; the last one has other tools and lost the messages before."""
    made = conversation(5)
    made.row("user", "Go on")
    made.send([{"role": "user", "content": "Go on"}], tools=[{"name": "<b>Bash</b>", "input_schema": {}}])
    made.row("assistant", [{"type": "text", "text": "Yes"}], id="msg_x")
    projects = folder / "projects" / "-p"
    projects.mkdir(parents=True)
    (projects / f"{made.id}.jsonl").write_bytes(made.data)
    return f"{serve('--root', folder, 'serve')}#/s/{made.id}"


def cache_writes(usage: Any) -> int:
    """Return the tokens written to the cache, for five minutes or an hour."""
    return usage.cache_write_5m_tokens + usage.cache_write_1h_tokens


class TestUsage:
    def test_chart_table_and_caveats(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/insights")
        page.get_by_role("button", name="All time").click()
        expect(page.locator(".costs .chart .series-0").first).to_be_visible()
        expect(page.locator(".costs .note.warning")).to_contain_text("no final token count")
        page.get_by_role("button", name="By project").click()
        expect(page.locator(".costs .legend")).to_contain_text("harbor")
        page.get_by_role("button", name="Tokens").click()
        page.locator(".costs .chart g:has(rect.series-0)").first.hover()
        expect(page.locator(".costs .legend")).to_contain_text("tokens")

    def test_the_figures_are_those_of_the_command(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/insights?period=All+time")
        page.get_by_role("button", name="Figures of each project").click()
        for name, by in (("By model", "model"), ("By project", "project"), ("By agent type", "agent_type")):
            page.get_by_role("button", name=name).click()
            table = page.get_by_role("region", name=f"Usage by {by.replace('_', ' ')}")
            expect(table).to_be_visible()
            shown = [row.locator("td.num").all_inner_texts()[2:8] for row in table.locator("tbody tr").all()]
            rows = reread.usage(root=SAMPLES, by=by).rows
            expected = [
                [u.responses, u.input_tokens, u.output_tokens, cache_writes(u), u.cache_read_tokens, u.tokens]
                for u in rows
            ]
            assert sorted(shown) == sorted([f"{count:,}" for count in counts] for counts in expected)

    def test_every_day_is_a_column_and_a_column_leads_to_its_sessions(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage?period=All+time")  # its address of before
        columns = page.locator(".costs .chart g:has(> .hover)")
        first, today = date(2026, 10, 2), datetime.now().astimezone().date()
        expect(page.locator(".heatmap rect")).to_have_count(7 * 24)
        page.get_by_role("button", name="Day", exact=True).click()
        expect(columns).to_have_count((today - first).days + 1)
        page.get_by_label("Budget per day").fill("0.5")
        page.keyboard.press("Enter")
        expect(page.locator(".budget-line")).to_be_visible()
        expect(page.locator("main")).to_contain_text("1 day of ")
        columns.first.locator(".hover").click()
        expect(page).to_have_url(re.compile("from=2026-10-02&to=2026-10-02"))
        expect(columns).to_have_count(24)
        expect(page.locator(".top-sessions tbody tr")).to_have_count(1)
        page.locator(".top-sessions a").click()
        expect(page.locator("h1")).to_contain_text("Fetch September's readings")
        page.go_back()
        expect(columns).to_have_count(24)
        page.get_by_role("button", name="By tool").click()
        page.get_by_role("button", name="Figures of each tool").click()
        expect(page.get_by_role("region", name="Usage by tool")).to_contain_text("text only")

    def test_bars_lead_to_their_sessions_and_filters_count_only_those(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage?period=All+time")
        bar = page.locator(".bars a", has_text="lantern")
        cost = bar.locator(".num").first.inner_text()
        bar.click()
        expect(page).to_have_url(re.compile("project=.*lantern"))
        expect(page.locator(".session-row")).to_have_count(3)
        page.go_back()
        page.get_by_label("Only this project").select_option(label="~/code/lantern (3)")
        expect(page.locator(".usage-totals strong").first).to_contain_text(cost)
        page.wait_for_function(ADD_UP, arg=float(cost.lstrip("$")))
        page.get_by_role("button", name="project: ~/code/lantern").click()
        expect(page.locator(".bars a", has_text="harbor")).to_be_visible()

    def test_another_period_is_compared_and_an_empty_one_offers_the_newest(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage?from=2026-11-05&to=2026-11-12")
        expect(page.locator(".change")).to_contain_text("vs 28 Oct – 4 Nov")
        cost, mean = (
            float(
                page.locator(":is(.usage-totals, .small-totals) > *", has_text=name)
                .locator("strong")
                .inner_text()
                .lstrip("≥ $")
            )
            for name in ("at list prices", "per day on average")
        )
        assert abs(cost / 8 - mean) < 0.01
        page.get_by_label("From").fill("2025-01-01")
        page.get_by_label("To").fill("2025-01-31")
        page.get_by_role("button", name=re.compile("Show .*the newest with usage")).click()
        expect(page).to_have_url(re.compile(r"from=2026-\d\d-01"))
        expect(page.locator(".costs .chart .series-0").first).to_be_visible()

    def test_choices_are_in_the_address(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage?by=project&measure=tokens&period=All+time")
        for name in ("By project", "Tokens", "All time"):
            expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="By model").click()
        expect(page).to_have_url(re.compile("by=model"))
        page.reload()
        expect(page.get_by_role("button", name="By model")).to_have_attribute("aria-pressed", "true")

    def test_the_context_of_a_session(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        expect(page.locator(".context svg")).to_be_visible()
        expect(page.locator(".context figcaption")).to_contain_text("Context: peak")


class TestFailuresAndRows:
    def test_failures_come_before_calls_over_time_and_lead_to_their_calls(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/stats?period=All+time")
        failures = page.get_by_role("region", name="Failures table")
        row = failures.get_by_role("row").nth(1)
        expect(row).to_contain_text("Bash exit 1")
        expect(row.get_by_role("link", name="~/code/harbor")).to_be_visible()
        assert failures.bounding_box()["y"] < page.locator(".calls .chart").bounding_box()["y"]
        row.get_by_role("link", name="4").click()
        expect(page).to_have_url(re.compile("calls=failure&open=exit\\+1"))
        expect(page.locator(".counted-calls li")).to_have_count(4)
        page.go_back()
        row.get_by_role("link").last.click()
        expect(page.locator(".call.current, .message.selected").first).to_be_visible()

    def test_ten_rows_and_all_and_the_page_stays_while_another_group_loads(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/stats?period=All+time")
        rows = page.get_by_role("region", name="Statistics table").locator("tbody tr")
        expect(rows).to_have_count(10)
        page.locator(".calls").get_by_role("link", name="All 28").click()
        expect(rows).to_have_count(28)
        page.go_back()
        expect(rows).to_have_count(10)
        page.route("**/api/reports/stats?*by=project*", lambda route: None)
        page.get_by_role("button", name="Project", exact=True).click()
        expect(page.locator(".calls .counting")).to_be_visible()
        expect(rows).to_have_count(10)
        expect(page.get_by_role("heading", name="What should I change?")).to_be_visible()
        page.unroute_all(behavior="ignoreErrors")

    @pytest.mark.parametrize(
        ("part", "requests", "click"),
        [("costs", "usage", "30 days"), ("costs", "stats", "By tool"), ("calls", "stats", "7 days")],
    )
    def test_figures_from_before_are_pale_and_said_to_be_counted(
        self, tab: Tab, demo: str, part: str, requests: str, click: str
    ) -> None:
        page = tab(f"{demo}#/insights?period=All+time")
        figures = page.locator(f".{part} .small-totals").first
        expect(figures).to_be_visible()
        page.route(f"**/api/reports/{requests}?*", lambda route: None)
        page.get_by_role("button", name=click, exact=True).click()
        expect(page.locator(f".{part}")).to_have_attribute("aria-busy", "true")
        expect(page.locator(f".{part} .counting").first).to_be_visible()
        expect(figures).to_have_css("opacity", "0.45")
        expect(page.get_by_role("button", name=click, exact=True)).to_have_css("opacity", "1")
        page.unroute_all(behavior="ignoreErrors")

    def test_hits_of_the_query_before_are_pale(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.get_by_role("searchbox").fill("chart")
        hits = page.locator(".search-results [aria-busy]")
        expect(hits.locator(".found-text").first).to_be_visible()
        expect(hits).to_have_attribute("aria-busy", "false")
        page.route("**/api/search?*", lambda route: None)
        page.get_by_role("searchbox").fill("flaky")
        expect(hits).to_have_css("opacity", "0.45")
        expect(page.locator(".results-head").last).to_contain_text("Searching…")
        page.unroute_all(behavior="ignoreErrors")


class TestLists:
    def test_one_list_of_the_newest_and_keys(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.get_by_label("Group").select_option("none")
        expect(page.locator(".project-row")).to_have_count(0)
        expect(page).to_have_url(re.compile("group=none"))
        for key in "jjk":
            page.keyboard.press(key)
        second = page.locator(".session-row").nth(0)
        expect(second).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".message").first).to_be_visible()

    def test_repeats_are_one_row_and_empty_sessions_hidden(self, tab: Tab, serve: Any, tmp_path: Path) -> None:
        folder = tmp_path / "projects" / "-home-sam-api"
        folder.mkdir(parents=True)
        for number in range(6):
            name = f"{number}1111111-1111-4111-8111-111111111111"
            records = [
                user("Check the mail", sessionId=name),
                reply("Nothing new.", sessionId=name, usage={"input_tokens": 5}),
            ]
            (folder / f"{name}.jsonl").write_bytes(jsonl(*told(*records)))
        command = "<command-name>/clear</command-name><command-message>clear</command-message>"
        (folder / "91111111-1111-4111-8111-111111111111.jsonl").write_bytes(jsonl(*told(user(command))))
        for path in folder.iterdir():
            os.utime(path, (1e9, 1e9))  # none is being written
        page = tab(serve("serve", "--root", tmp_path / "projects"))
        expect(page.locator(".session-row")).to_have_count(1)
        expect(page.locator(".session-row")).to_contain_text("× 6")
        expect(page.get_by_text("1 session without a prompt hidden")).to_be_visible()
        page.locator(".session-row").click()
        expect(page.locator(".session-row")).to_have_count(1 + 6)
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator(".session-row")).to_have_count(1 + 7)


class TestDensity:
    def test_the_conversation_is_prompts_and_last_answers(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".message.response").first.wait_for()
        page.get_by_role("button", name="Conversation").click()
        expect(page.locator(".call")).to_have_count(0)
        expect(page.locator(".message.prompt").first).to_be_visible()
        expect(page).to_have_url(re.compile("view=conversation"))
        page.keyboard.press("e")
        expect(page.locator(".call").first).to_be_visible()

    def test_everything_is_open_and_the_choice_is_remembered(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters", "?view=everything"))
        opened = page.locator(".message .disclosure[aria-expanded=true]")
        expect(opened.first).to_be_visible()
        page.get_by_role("button", name="Normal").click()
        expect(opened).to_have_count(0)
        page.get_by_role("button", name="Everything").click()
        page.goto(session_url(demo, "flaky"))
        expect(page.get_by_role("button", name="Everything")).to_have_attribute("aria-pressed", "true")

    def test_the_model_is_named_where_it_changes_and_growth_and_durations_have_columns(
        self, tab: Tab, demo: str
    ) -> None:
        page = tab(session_url(demo, "flaky"), viewport={"width": 1440, "height": 3000})
        expect(page.locator(".new-model")).to_have_count(1)
        expect(page.locator(".grew").first).to_have_text(re.compile(r"^\+[\d.,]+k?$"))
        for column in (".call-status:not(:empty)", ".grew"):
            edges = page.locator(
                f".message-list > div > .row > .message > * {column}, .message > {column}"
            ).evaluate_all("found => found.map(one => Math.round(one.getBoundingClientRect().right))")
            assert len(edges) > 3 and len(set(edges)) == 1, column

    def test_thinking_before_a_call_is_shown_with_it_on_request(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        thinking = page.get_by_role("button", name="of thinking").first
        thinking.click()
        expect(page.locator(".call > .collapsible > .thinking .prose")).to_have_count(1)
        expect(page.locator(".call > .collapsible.open")).to_have_count(0)
        thinking.click()
        expect(page.locator(".thinking .prose")).to_have_count(0)

    def test_days_and_gaps_are_divided(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters", "?turn=13"))
        expect(page.locator(".day-divider").first).to_have_text("Wed 11 Nov · 19 h later")


class TestStatistics:
    def test_a_count_lists_the_calls_behind_it_and_each_leads_to_its_place(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/stats?period=All+time")
        row = page.locator(".calls table.figures tr", has=page.get_by_text("Bash", exact=True))
        row.get_by_role("link").nth(1).click()
        calls = page.locator(".counted-calls a")
        expect(calls).to_have_count(5)
        expect(page).to_have_url(re.compile("open=Bash&state=failed"))
        calls.first.click()
        expect(page.locator(".call", has_text="Exit code").first).to_be_visible()
        page.go_back()
        expect(page.locator(".counted-calls a")).to_have_count(5)

    def test_plots_and_groups(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/stats?period=All+time")
        page.get_by_role("button", name="Time", exact=True).click()
        expect(page.locator(".calls .legend")).to_contain_text("model")
        page.get_by_role("button", name="Failure").click()
        expect(page.get_by_role("region", name="Statistics table")).to_contain_text("exit 1")


@pytest.mark.parametrize("name", sorted(DEMO))
def test_every_call_of_the_demo_opens(tab: Tab, demo: str, name: str) -> None:
    page = tab(session_url(demo, name), viewport={"width": 1280, "height": 20_000})
    page.locator(".message").first.wait_for()
    for closed in (".run-calls", ".call > .collapsible"):
        page.evaluate(CLICK_ALL, f"{closed} > .collapsible-header > .disclosure[aria-expanded=false]")
    expect(page.locator(".call .indented").first).to_be_visible()
    expect(page.locator("p.loading")).to_have_count(0)
    expect(page.locator(".note.error", has_text="Could not display")).to_have_count(0)


class TestContext:
    def test_a_bar_shows_what_filled_the_context_and_what_came_and_went(
        self, tab: Tab, serve: Any, tmp_path: Path
    ) -> None:
        page = tab(requested_session(serve, tmp_path))
        page.get_by_role("button", name="What fills it").click()
        panel = page.get_by_role("region", name="Context")
        expect(panel).to_contain_text("Turn 6 · request 11 of 11")
        expect(panel).to_contain_text("verified")
        expect(panel.get_by_role("list", name="Gone since the request before")).to_contain_text("Results Read /p/1.py")
        expect(panel.get_by_role("list", name="Since the request before", exact=True)).to_contain_text("<b>Bash</b>")
        page.locator(".context svg g").nth(1).click(force=True)
        expect(panel).to_contain_text("Turn 2 · request 4 of 11")
        panel.get_by_role("button", name="Tools").click()
        expect(panel.locator(".context-name")).to_have_text(["Read"])
        panel.get_by_role("button", name="Previous request").click()
        expect(panel).to_contain_text("Turn 2 · request 3 of 11")
        page.get_by_role("button", name="Close", exact=True).click()
        expect(panel).to_have_count(0)

    def test_it_opens_at_the_turn_on_the_screen(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.locator(".turn", has_text="Have the reviewer").click()
        expect(page.locator(".filters.stuck")).to_contain_text("Have the reviewer")
        page.locator(".filters.stuck").get_by_role("link", name="Details").click()
        page.locator(".panel-tab", has_text="Context").click()
        expect(page.get_by_role("region", name="Context")).to_contain_text("Turn 11")

    def test_the_context_of_an_older_client_is_an_estimate(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.get_by_role("button", name="What fills it").click()
        panel = page.get_by_role("region", name="Context")
        expect(panel).to_contain_text("no request is recorded here")
        expect(panel.get_by_role("button", name="request")).to_have_count(0)
        expect(panel).to_contain_text("Turn 14")
        panel.get_by_role("button", name="Previous turn").click()
        expect(panel).to_contain_text("Turn 13")
