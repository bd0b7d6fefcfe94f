"""Long sessions: few elements on the page, and links scroll to the exact place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import one_in
from playwright.sync_api import expect

from browser.test_jumps import in_place

pytestmark = one_in(0)

Tab = Callable[..., Any]
TURNS = 3000
CALLS, FAILED = 1100, 500
"""How many turns have a call, and which of them fails."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of thousands of turns of uneven height."""
    path = tmp_path_factory.mktemp("long") / "long.jsonl"
    with path.open("w") as file:
        for number in range(TURNS):
            base = {
                "sessionId": "s",
                "timestamp": f"2026-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
            }
            prompt = {"role": "user", "content": f"prompt {number} " + "word " * (number * 7 % 90)}
            block = {"type": "text", "text": f"answer {number}\n\n" + "- a line of it\n" * (number * 13 % 17)}
            lines = [
                {
                    "type": "user",
                    "uuid": f"p{number}",
                    "parentUuid": f"a{number - 1}" if number else None,
                    "message": prompt,
                },
                {
                    "type": "assistant",
                    "uuid": f"a{number}",
                    "parentUuid": f"p{number}",
                    "message": {"id": f"m{number}", "role": "assistant", "model": "claude-x", "content": [block]},
                },
            ]
            if number < CALLS:
                lines[1]["message"]["content"].append(
                    {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
                )
                answer = {
                    "type": "tool_result",
                    "tool_use_id": f"t{number}",
                    "is_error": number == FAILED,
                    "content": "x",
                }
                message = {"role": "user", "content": [answer]}
                lines.append({"type": "user", "uuid": f"r{number}", "parentUuid": f"a{number}", "message": message})
            file.writelines(json.dumps(line | base) + "\n" for line in lines)
    return path


def test_links_in_a_long_session_are_exact_and_the_page_stays_small(
    tab: Tab, serve: Callable[..., str], long: Path
) -> None:
    address = serve("serve", long)
    page = tab(f"{address.split('#')[0]}#/s/long?at=p1777")
    selected = page.locator(".message.selected")
    expect(selected).to_contain_text("prompt 1777 ")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.get_by_role("button", name="1 error")).to_be_visible()
    in_place(page, ".message.selected")
    page.mouse.move(700, 400)
    for _ in range(40):
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(30)
    assert page.locator("*").count() < 2500
    page.keyboard.press("Shift+G")
    expect(page.locator(".message.response", has_text=f"answer {TURNS - 1}")).to_be_in_viewport()
    expect(page.locator(".outline [aria-current]")).to_be_in_viewport(ratio=1)
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.locator(".message.prompt", has_text="prompt 0 ")).to_be_in_viewport()
    page.get_by_role("searchbox").fill("prompt 2345 ")
    page.locator(".hit").first.click()
    expect(page.locator(".message.selected", has_text="prompt 2345 ")).to_be_in_viewport()
