"""A session that is being written while it is open in the browser."""

import json
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, told, use, user
from playwright.sync_api import expect

from browser.conftest import serving
from reread.server.run import private_page

Tab = Callable[..., Any]


class LiveSession:
    """A session file that a test appends to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "projects/-home-dev/11111111-2222-4333-8444-555555555555.jsonl"
        self.path.parent.mkdir(parents=True)
        self.records: list[Any] = []

    @property
    def key(self) -> str:
        """Its key in addresses."""
        return self.path.stem

    def write(self, *records: Any) -> None:
        """Append records."""
        before = len(self.records)
        self.records += records
        with self.path.open("ab") as file:
            file.write(jsonl(*told(*self.records)[before:]))


@pytest.fixture
def session(tmp_path: Path) -> LiveSession:
    """A session with a few turns."""
    live = LiveSession(tmp_path)
    for turn in range(12):
        live.write(user(f"question {turn}", cwd="/home/dev"), reply(f"answer {turn}\n\n" * 4, id=f"msg_{turn}"))
    return live


def test_new_messages_appear_and_the_page_follows(tab: Tab, serve: Callable[..., str], session: LiveSession) -> None:
    page = tab(f"{serve('--root', session.path.parents[1], 'serve')}#/s/{session.key}")
    page.get_by_role("button", name="Live: follow").click()
    expect(page.locator(".message", has_text="answer 11")).to_be_in_viewport()
    session.write(user("one more question"))
    expect(page.locator(".message.prompt", has_text="one more question")).to_be_in_viewport()
    session.write(reply("Looking.", use("toolu_1", command="sleep 5", description="Wait a little"), id="msg_20"))
    expect(page.locator(".call.running")).to_be_in_viewport()
    session.write(answer({"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}))
    expect(page.locator(".call.done")).to_be_in_viewport()
    expect(page.locator(".turn", has_text="one more question")).to_be_visible()


def test_a_button_offers_new_messages_without_scrolling(
    tab: Tab, serve: Callable[..., str], session: LiveSession
) -> None:
    page = tab(f"{serve('--root', session.path.parents[1], 'serve')}#/s/{session.key}")
    expect(page.locator(".message", has_text="question 0")).to_be_in_viewport()
    session.write(user("something new"))
    new_messages = page.get_by_role("button", name="1 new message")
    expect(new_messages).to_be_visible()
    assert page.evaluate("scrollY") == 0
    new_messages.click()
    expect(page.locator(".message.prompt", has_text="something new")).to_be_in_viewport()
    expect(new_messages).to_have_count(0)


def test_new_sessions_appear_in_the_library(tab: Tab, serve: Callable[..., str], session: LiveSession) -> None:
    page = tab(serve("--root", session.path.parents[1], "serve"))
    row = page.locator(".session-row", has_text="question 0")
    expect(row).to_be_visible()
    other = session.path.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    other.write_bytes(jsonl(*told(user("a session of its own", cwd="/home/dev"))))
    expect(page.locator(".session-row", has_text="a session of its own")).to_be_visible()


def test_a_server_that_is_gone_is_said_until_it_is_back(browser: Any, tmp_path: Path, session: LiveSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ("--root", str(session.path.parents[1]), "serve")
    with serving(tmp_path / "home", *arguments, port=port) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}#/s/{session.key}")
        expect(page.locator(".message", has_text="question 0").first).to_be_visible()
        report = context.new_page()
        report.goto(f"{address}#/usage")
        expect(report.get_by_role("heading", name="Insights", exact=True)).to_be_visible()
    expect(page.locator(".connection")).to_contain_text("No connection to the server")
    report.evaluate("location.hash = '#/insights?period=7+days'")
    expect(report.get_by_text("Couldn’t load this").first).to_be_visible()
    expect(report.get_by_text("is reread still running?")).to_have_count(1)
    session.write(user("a question in the pause"))
    with serving(tmp_path / "home", *arguments, port=port) as address:
        expect(page.locator(".connection")).to_contain_text("open the address that it printed")
        other = context.new_page()
        other.goto(address)
        other.close()
        expect(page.locator(".connection")).to_be_empty()
        expect(report.get_by_text("Couldn’t load this")).to_have_count(0)
        page.keyboard.press("G")
        expect(page.locator(".message", has_text="a question in the pause")).to_be_visible()
        session.write(user("a question after the pause"))
        page.keyboard.press("G")
        expect(page.locator(".message", has_text="a question after the pause")).to_be_visible()
    context.close()


def test_a_page_opens_from_a_private_file_and_survives_a_reload(
    browser: Any, serve: Callable[..., str], session: LiveSession
) -> None:
    address = serve("--root", session.path.parents[1], "serve")
    context = browser.new_context()
    page = context.new_page()
    with private_page(f"{address}#/s/{session.key}") as leading:
        page.goto(leading.as_uri())
        expect(page.locator(".message", has_text="question 0").first).to_be_visible()
    assert "token" not in page.url
    page.reload()
    expect(page.locator(".message", has_text="question 0").first).to_be_visible()
    other = context.new_page()
    other.goto(address.split("?")[0] + f"#/s/{session.key}")
    expect(other.locator(".message", has_text="question 0").first).to_be_visible()
    context.close()


def test_a_page_without_the_token_says_where_to_find_it(browser: Any, serve: Callable[..., str]) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(serve("--demo", "serve").split("?")[0])
    expect(page.locator("main")).to_contain_text("Open the address that `reread serve` printed")
    context.close()


def test_agents_appear_as_they_start(tab: Tab, serve: Callable[..., str], session: LiveSession) -> None:
    page = tab(f"{serve('--root', session.path.parents[1], 'serve')}#/s/{session.key}")
    page.get_by_role("button", name="Live: follow").click()
    session.write(reply(use("toolu_a", "Agent", description="look around", prompt="Look."), id="msg_30"))
    folder = session.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    inner = told(user("Look.", isSidechain=True, agentId="a1"), reply("I look.", isSidechain=True, agentId="a1"))
    (folder / "agent-a1.jsonl").write_bytes(jsonl(*inner))
    (folder / "agent-a1.meta.json").write_text(json.dumps({"toolUseId": "toolu_a", "agentType": "scout"}))
    agents = page.get_by_label(re.compile("^Agents of turn"))
    expect(agents.get_by_role("link")).to_contain_text("scout look around")
    expect(agents.get_by_label("Running")).to_be_visible()


def test_a_deleted_file_is_reported_and_still_shown(tab: Tab, serve: Callable[..., str], session: LiveSession) -> None:
    page = tab(f"{serve('--root', session.path.parents[1], 'serve')}#/s/{session.key}")
    page.locator(".message").first.wait_for()
    shutil.move(session.path, session.path.with_suffix(".gone"))
    expect(page.locator(".session-notices")).to_contain_text("no longer exists")
    expect(page.locator(".message", has_text="question 0")).to_be_visible()
