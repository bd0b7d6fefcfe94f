"""The settings: what they change at once, what outlives the browser, and what they say."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

Tab = Callable[..., Any]


def test_settings_apply_at_once_and_are_remembered(tab: Tab, demo: str, axe: Any) -> None:
    page = tab(demo)
    page.get_by_role("link", name="Settings").click()
    expect(page).to_have_title("Settings · reread")
    page.get_by_role("button", name="Dark", exact=True).click()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(23, 24, 27)"
    page.get_by_role("button", name="Sunday").click()
    page.get_by_role("button", name="Conversation").click()
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    for name in ("Dark", "Sunday", "Conversation"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("List prices of ")).to_be_visible()
    assert axe(page) == []
    page.goto(f"{demo}#/usage?period=All+time")
    expect(page.locator(".heatmap g text").first).to_have_text("Sun")
    with page.expect_request(re.compile(r"api/reports/usage.*tz=Asia%2FTokyo")):
        page.reload()
    page.goto(f"{demo}#/s/8c1f0b52-6d3e-4a77-9b0e-52f1c4a9d310")
    expect(page.get_by_role("button", name="Conversation")).to_have_attribute("aria-pressed", "true")


def test_a_budget_is_stored_and_says_what_is_spent(tab: Tab, serve: Callable[..., str], tmp_path: Path) -> None:
    page = tab(f"{serve('--demo', 'serve')}#/settings")
    expect(page.get_by_text("No budgets are set.")).to_be_visible()
    page.get_by_label("Budget per month").fill("25")
    page.keyboard.press("Enter")
    expect(page.locator(".budget-states")).to_contain_text(re.compile(r"This month\$\d+\.\d\d of \$25\.00"))
    assert '"month": 25' in (tmp_path / "home/reread/config.json").read_text().replace('":25', '": 25')
    expect(page.get_by_text(str(tmp_path / "home/reread"), exact=True)).to_be_visible()
