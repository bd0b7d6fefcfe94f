"""Search over all sessions, and the palette."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, result, text, thinking, told, use, user
from playwright.sync_api import expect

import reread
from browser.conftest import DEMO, NOTE_CLICKS, is_where_it_was_clicked, serving, until
from browser.test_appearance import PHONE, SCROLLS_SIDEWAYS
from browser.test_jumps import Late
from browser.test_reading import session_url
from reread.reader.html_export import session_html

Tab = Callable[..., Any]
Serve = Callable[..., str]


def write_session(root: Path, number: int, *records: Any) -> Path:
    """Write a session of a project."""
    id = f"00000000-0000-4000-8000-{number:012}"
    path = root / f"projects/-home-dev/{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*told(*({**record, "sessionId": id, "cwd": "/home/dev"} for record in records))))
    return path


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of forty sessions that say “walrus”, call a tool and cost something."""
    root = tmp_path_factory.mktemp("forty")
    for n in range(40):
        used = {"input_tokens": 1000 + n, "output_tokens": 10}
        call = reply(f"The walrus answers {n}.", use(f"a{n}", "Bash", command="ls"), id=f"msg_{n}", usage=used)
        call["message"]["model"] = "claude-opus-4-6"
        write_session(root, n, user(f"question {n}"), call, answer(result(f"a{n}", "done")))
    with serving(root / "home", "--root", str(root), "serve") as address:
        yield address


def search(page: Any, query: str) -> Any:
    """Search all sessions, and return the texts that are found."""
    page.get_by_role("searchbox").fill(query)
    return page.locator(".found-text")


class TestSearch:
    def test_titles_come_first_and_then_texts_by_session(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        texts = search(page, "backoff")
        expect(texts.first).to_be_visible()
        expect(page.get_by_role("heading", name="Texts")).to_be_visible()
        expect(page.locator(".found-session").first).to_contain_text("A panel for retries")
        expect(page.locator(".found-session").first).to_contain_text("~/code/lantern")
        expect(texts.first.locator("mark")).to_have_text("backoff", ignore_case=True)
        expect(texts.first.locator(".hit-place")).to_contain_text("turn")
        search(page, "ceiling")
        expect(page.locator(".session-row")).to_have_count(1)
        expect(page.locator(".session-row")).to_contain_text("Fix the flaky ceiling test")

    def test_fields_narrow_the_search(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        texts = search(page, "retry tool:bash in:results")
        expect(texts.first.locator(".hit-place")).to_contain_text("Bash result")
        assert all("Bash result" in place for place in page.locator(".found-text .hit-place").all_inner_texts())
        search(page, "file:test_backoff.py seed")
        expect(page.locator(".found-text .hit-file").first).to_contain_text("tests/test_backoff.py")

    def test_a_query_that_makes_no_sense_is_explained(self, tab: Tab, demo: str) -> None:
        page = tab(demo, ignored="400")
        search(page, "retry before:whenever")
        expect(page.get_by_role("alert")).to_contain_text("whenever")
        texts = search(page, 'retry "unclosed (')
        expect(page.get_by_role("alert")).to_have_count(0)
        search(page, "retry")
        expect(texts.first).to_be_visible()

    def test_an_answer_that_comes_late_is_dropped(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.locator(".session-row").first.wait_for()
        asked: list[str] = []

        def respond(route: Any) -> None:
            asked.append(route.request.url)
            if len(asked) == 1:
                page.get_by_role("searchbox").fill("december")  # typed before the first answer
                page.wait_for_timeout(400)
            route.continue_()

        page.route("**/api/search*", respond)
        search(page, "backoff")
        expect(page.locator(".found-session").first).to_contain_text("December")
        assert len(asked) == 2, asked
        assert "q=december" in asked[1]

    def test_without_an_index_the_files_are_searched_and_it_says_so(self, tab: Tab, demo: str) -> None:
        page = tab(demo)

        def respond(route: Any) -> None:
            answer = route.fetch().json()
            answer |= {"note": "The search index cannot be used, so the files were searched.", "pending": 0}
            route.fulfill(body=json.dumps(answer), content_type="application/json")

        page.route("**/api/search*", respond)
        search(page, "backoff")
        expect(page.get_by_text("so the files were searched")).to_be_visible()

    def test_arrow_keys_and_enter_go_through_the_results(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        texts = search(page, "test_never_waits")
        expect(texts.first).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".search-results a").first).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".search-results a").nth(1)).to_be_focused()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**#/s/**")

    def test_back_returns_to_the_results_as_they_were(self, tab: Tab, serve: Serve, tmp_path: Path) -> None:
        for n in range(40):
            write_session(tmp_path, n, user(f"question {n}"), reply(f"The walrus answers {n}.", id="msg_1"))
        page = tab(serve("--root", tmp_path, "serve"))
        texts = search(page, "walrus in:text")
        page.get_by_role("button", name="More texts").click()
        expect(texts).to_have_count(40)
        with page.expect_response("**/api/search*order=newest*"):
            page.get_by_role("button", name="Newest").click()
        hit = texts.nth(33)
        page.evaluate(NOTE_CLICKS)
        hit.click()
        expect(page.locator(".message.selected")).to_be_in_viewport()
        page.go_back()
        is_where_it_was_clicked(page)
        shown = hit.inner_text()
        page.reload()
        expect(texts).to_have_count(40)
        expect(page.get_by_role("searchbox")).to_have_value("walrus in:text")
        expect(page.get_by_role("button", name="Newest")).to_have_attribute("aria-pressed", "true")
        is_where_it_was_clicked(page)
        assert hit.inner_text() == shown

    @pytest.mark.parametrize(
        ("address", "link"),
        [
            ("#/", ".session-row"),
            ("#/?sort=title", ".session-row"),
            ("#/?q=walrus", ".found-text"),
            ("#/usage?period=All+time", ".top-sessions a"),
            ("#/stats?period=All+time&open=Bash", ".counted-calls a"),
        ],
    )
    def test_back_returns_to_the_place_however_late_the_page_is_filled(
        self, tab: Tab, forty: str, address: str, link: str
    ) -> None:
        page = tab(f"{forty}{address}", viewport={"width": 1280, "height": 400})
        page.locator(link).first.wait_for()
        page.mouse.move(700, 200)
        page.mouse.wheel(0, 700)
        until(page, "scrollY > 100")
        page.evaluate(NOTE_CLICKS)
        page.locator(link).nth(8).click()
        expect(page.locator(".message").first).to_be_visible()
        answers = Late(page, "/api/(library|search|usage|stats)")
        page.go_back()
        answers.wait(500)
        answers.release()
        is_where_it_was_clicked(page)

    def test_what_is_written_appears_among_the_results(self, tab: Tab, serve: Serve, tmp_path: Path) -> None:
        path = write_session(tmp_path, 1, user("Where is the walrus?"), reply("On the ice.", id="msg_1"))
        page = tab(serve("--root", tmp_path, "serve"))
        texts = search(page, "walrus in:prompts,text")
        expect(texts).to_have_count(1)
        with path.open("ab") as file:
            file.write(jsonl(*told(user("x"), reply("The walrus swam away.", id="msg_2"))[1:]))
        expect(texts).to_have_count(2)
        write_session(tmp_path, 2, user("Is it a walrus?"))
        expect(texts).to_have_count(3)
        agent = path.with_suffix("") / "subagents/agent-a1.jsonl"
        agent.parent.mkdir(parents=True)
        agent.write_bytes(jsonl(*told(user("Follow the walrus.", isSidechain=True, agentId="a1"))))
        expect(texts).to_have_count(4)

    def test_a_search_that_nobody_changes_asks_nothing(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/api/search" in request.url else None)
        expect(search(page, "backoff").first).to_be_visible()
        page.wait_for_timeout(1000)
        before = len(asked)
        page.wait_for_timeout(4000)
        assert len(asked) == before

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_the_results_are_accessible(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(demo, color_scheme=scheme)
        expect(search(page, "backoff").first).to_be_visible()
        assert axe(page) == []

    def test_on_a_phone_nothing_scrolls_sideways(self, tab: Tab, demo: str) -> None:
        page = tab(demo, **PHONE)
        expect(search(page, "backoff").first).to_be_visible()
        assert not page.evaluate(SCROLLS_SIDEWAYS)

    def test_hostile_text_is_text(self, tab: Tab, serve: Serve, tmp_path: Path) -> None:
        hostile = "<img src=x onerror=alert(1)> walrus \u202eevil"
        write_session(
            tmp_path, 1, user(hostile), reply(use("a", "Bash", command=hostile), id="m"), answer(result("a", hostile))
        )
        page = tab(serve("--root", tmp_path, "serve"))
        expect(search(page, "walrus").first).to_contain_text("U+202E")
        expect(page.locator(".search-results img")).to_have_count(0)
        page.keyboard.press("Control+k")
        expect(page.locator(".palette-entry", has_text="<img src=x")).to_be_visible()


class TestPalette:
    def test_a_session_by_a_few_letters(self, tab: Tab, demo: str) -> None:
        page = tab(f"{demo}#/usage")
        page.get_by_role("heading", name="Insights").wait_for()
        page.keyboard.press("Control+k")
        page.keyboard.type("flaky")
        expect(page.locator(".palette-entry").first).to_contain_text("Fix the flaky ceiling test")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Fix the flaky ceiling test")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)

    def test_a_page(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.get_by_role("heading", name="Sessions").wait_for()
        page.keyboard.press("Meta+k")
        page.keyboard.type("usage")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Insights")).to_be_visible()

    def test_an_action_of_every_page_and_of_this_one(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters"))
        page.get_by_role("button", name="of thinking").first.wait_for()
        page.keyboard.press("Control+k")
        page.keyboard.type("hide all thinking")
        page.keyboard.press("Enter")
        expect(page.locator(".thinking .prose").first).to_be_visible()
        page.keyboard.press("Control+k")
        page.keyboard.type("shortcuts")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
        page.keyboard.press("Control+k")
        page.keyboard.type("search this")
        page.keyboard.press("Enter")
        expect(page.get_by_role("searchbox")).to_be_focused()

    def test_the_export_is_downloaded(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("Control+k")
        page.keyboard.type("export")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == f"{DEMO['flaky']}.html"

    def test_the_mouse(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.get_by_role("button", name="Go to").click()
        page.locator(".palette-entry", has_text="Captured sessions").click()
        expect(page.get_by_role("button", name="Captured")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="Go to").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.mouse.click(5, 700)
        expect(page.get_by_role("dialog")).to_have_count(0)

    def test_arrows_go_around_and_tab_stays_inside(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.get_by_role("heading", name="Sessions").wait_for()
        page.keyboard.press("Control+k")
        options, chosen = page.locator(".palette-entry"), page.locator("[role=option][aria-selected=true]")
        expect(options.filter(has_text="Dead-letter queue")).to_have_count(1)
        page.keyboard.press("ArrowUp")
        last = options.last.inner_text()
        expect(chosen).to_have_text(last.replace("\n", ""))
        page.keyboard.press("Tab")
        expect(chosen).to_have_attribute("id", options.first.get_attribute("id"))
        field = page.get_by_role("dialog").get_by_role("combobox")
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-activedescendant", chosen.get_attribute("id"))

    def test_escape_closes_it_and_the_focus_returns(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        field = page.get_by_role("searchbox")
        field.fill("backoff")
        for close in ("Escape", "Control+k"):
            page.keyboard.press("Control+k")
            expect(page.get_by_role("combobox")).to_be_focused()
            page.keyboard.press(close)
            expect(page.get_by_role("dialog")).to_have_count(0)
            expect(field).to_be_focused()
        expect(field).to_have_value("backoff")

    def test_what_has_no_name_is_searched(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "flaky"))
        page.locator(".message").first.wait_for()
        page.keyboard.press("Control+k")
        page.keyboard.type("uniform jitter")
        found = page.get_by_role("group", name="Search").get_by_role("option")
        expect(found.nth(1)).to_contain_text("jitter")
        expect(found.nth(1).locator("mark").first).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("searchbox")).to_have_value("uniform jitter")
        expect(page.locator(".found-text").first).to_be_visible()

    def test_a_text_that_is_found_leads_to_its_message(self, tab: Tab, demo: str) -> None:
        page = tab(demo)
        page.locator(".session-row").first.wait_for()
        page.keyboard.press("Control+k")
        page.keyboard.type("uniform jitter")
        page.get_by_role("group", name="Search").get_by_role("option").nth(1).click()
        expect(page).to_have_url(re.compile(r"#/s/.*q=uniform"))
        expect(page.locator("mark, .message.selected").first).to_be_visible()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_it_is_accessible(self, tab: Tab, demo: str, axe: Any, scheme: str) -> None:
        page = tab(demo, color_scheme=scheme)
        page.locator(".session-row").first.wait_for()
        page.keyboard.press("Control+k")
        page.locator(".palette-entry").first.wait_for()
        assert axe(page) == []

    def test_on_a_phone(self, tab: Tab, demo: str) -> None:
        page = tab(demo, **PHONE)
        page.get_by_role("button", name="Menu").tap()
        page.get_by_role("button", name="Go to").tap()
        page.locator(".palette-entry", has_text="Insights").tap()
        expect(page.get_by_role("heading", name="Insights")).to_be_visible()
        assert not page.evaluate(SCROLLS_SIDEWAYS)


class TestHits:
    LONG = "\n".join(f"line {n}" for n in range(300))

    @pytest.fixture
    def talk(self, serve: Serve, tmp_path: Path) -> str:
        """The address of a server with a long session that says “walrus” in several kinds of text."""
        talk = [user(f"question {n}") for n in range(30)]
        said = (
            user("Where is the walrus?"),
            reply(thinking("The walrus may be on the ice."), text("I'll look."), id="msg_1"),
            reply(use("a", "Bash", command="ls"), id="msg_2"),
            answer(result("a", f"{self.LONG}\nA walrus at the end.")),
            reply("There is the walrus.", id="msg_3"),
        )
        write_session(tmp_path, 1, *talk, *said, *talk)
        return serve("--root", tmp_path, "serve")

    def test_a_hit_leads_to_its_message_opened_and_marked(self, tab: Tab, talk: str) -> None:
        page = tab(talk)
        search(page, "walrus").filter(has_text="thinking").click()
        expect(page.locator(".message.selected .thinking .prose")).to_be_in_viewport()
        assert page.evaluate("CSS.highlights.get('search-hits').size") > 0
        page.go_back()
        page.locator(".found-text", has_text="Bash result").click()
        expect(page.locator(".call.current", has_text="A walrus at the end.")).to_be_visible()
        expect(page.locator(".call.current").get_by_text("A walrus at the end.")).to_be_in_viewport()
        page.go_back()
        expect(page.locator(".found-text").first).to_be_visible()
        expect(page.get_by_role("searchbox")).to_have_value("walrus")

    def test_buttons_go_through_the_hits_of_the_session(self, tab: Tab, talk: str) -> None:
        page = tab(talk)
        search(page, "walrus").filter(has_text="thinking").click()
        count = page.locator(".search-count")
        expect(count).to_have_text("2 of 4")
        page.get_by_role("button", name="Next hit").click()
        expect(count).to_have_text("3 of 4")
        expect(page.locator(".call.current")).to_be_in_viewport()
        page.get_by_role("button", name="Next hit").click()
        expect(page.locator(".message.selected", has_text="There is the walrus.")).to_be_in_viewport()
        page.get_by_role("button", name="Next hit").click()
        expect(count).to_have_text("1 of 4")
        expect(page.locator(".message.prompt.selected", has_text="Where is the walrus?")).to_be_in_viewport()
        page.get_by_role("button", name="Previous hit").click()
        expect(count).to_have_text("4 of 4")
        page.go_back()
        expect(page.locator(".found-text").first).to_be_visible()

    def test_the_way_leads_through_agents_and_back(self, tab: Tab, demo: str) -> None:
        page = tab(session_url(demo, "letters", "?q=dead"))
        count = page.locator(".search-count")
        expect(count).to_have_text(re.compile(r"^[1-9]\d*$"))
        page.get_by_role("button", name="Previous hit").click()  # the last
        page.wait_for_url("**/a/**")
        expect(count).to_contain_text(" of ")
        at = int(count.inner_text().split(" of ")[0])
        expect(page.locator(".message.selected").first).to_be_in_viewport()
        while "/a/" in page.url:
            assert at > 1, "hits of agents follow those of the main thread"
            at -= 1
            page.get_by_role("button", name="Previous hit").click()
            expect(count).to_contain_text(f"{at} of ")
        expect(page.locator(".message.selected").first).to_be_in_viewport()
        assert "/a/" not in page.url

    def test_a_session_is_searched_by_the_same_rules(self, tab: Tab, talk: str) -> None:
        page = tab(talk, ignored="400")
        search(page, "end walrus tool:bash -nowhere").click()
        expect(page.locator(".call.current").get_by_text("A walrus at the end.")).to_be_in_viewport()
        expect(page.locator(".search-count")).to_have_text("1 of 1")
        page.get_by_role("searchbox").fill("walrus in:nothing")
        expect(page.locator(".hits-summary")).to_contain_text("Unknown kind 'nothing'; use prompts")

    def test_an_exported_page_is_searched_by_the_same_rules(self, tab: Tab, tmp_path: Path) -> None:
        path = write_session(
            tmp_path,
            1,
            user("Where is the walrus?"),
            reply(thinking("On the ice, a walrus."), text("Walrus!"), id="msg_1"),
        )
        page_file = tmp_path / "page.html"
        page_file.write_bytes(b"".join(session_html(reread.open(path))))
        page = tab(page_file.as_uri())
        page.get_by_role("searchbox").fill("ice walrus in:thinking")
        expect(page.locator(".hit")).to_have_count(1)
        page.get_by_role("button", name="Next hit").click()
        expect(page.locator(".message.selected .thinking .prose")).to_be_in_viewport()
        page.get_by_role("searchbox").fill("walrus is:odd")
        expect(page.locator(".hits-summary")).to_contain_text("Unknown state is:odd; use is:error.")
        page.keyboard.press("Control+k")
        page.keyboard.type("print")
        expect(page.locator(".palette-entry", has_text="Print")).to_be_visible()
        page.get_by_role("combobox").fill("insights")
        expect(page.locator(".palette-entry", has_text="Print")).to_have_count(0)
        expect(page.locator(".palette-entry", has_text="Insights")).to_have_count(0)


def test_a_search_forgives_and_can_be_narrowed(tab: Tab, serve: Serve, tmp_path: Path) -> None:
    write_session(tmp_path, 1, user("where the walrus dives"), reply("A walrus dives deep.", id="msg_1"))
    write_session(tmp_path, 2, user("the walrus"), reply("It sleeps.", id="msg_1"))
    page = tab(serve("--root", tmp_path, "serve"))
    texts = search(page, "where does the warlus dives")
    expect(page.get_by_text("No “warlus”; showing “walrus”.")).to_be_visible()
    expect(texts.first.locator("mark")).to_have_count(2)
    expect(page.get_by_text("1 session with all words, 1 with some")).to_be_visible()
    page.get_by_label("Narrow by kind").select_option("answer")
    expect(page.get_by_role("searchbox")).to_have_value("where does the warlus dives kind:text")
    expect(texts).to_have_count(1)
