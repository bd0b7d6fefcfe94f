"""Sessions written by the real client: each opens, scrolls to its end, and every call opens."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.test_reading import CLICK_ALL

ROOT = os.environ.get("REREAD_REAL_CLIENT")
SHOWN = ("tui_compact", "tui_rewind", "agent_bg", "bash_img", "hooks", "tasks", "lsp_etc", "bash_big")
"""Scenarios with many kinds of content; one version of each is enough."""


def test_each_session_opens(tab: Callable[..., Any], serve: Callable[..., str]) -> None:
    if not ROOT:
        pytest.skip("REREAD_REAL_CLIENT is not set: sessions of the real client are not tested")
    found = {name: sorted(Path(ROOT).glob(f"data/*/{name}/projects/*/*.jsonl")) for name in SHOWN}
    paths = [paths[0] for paths in found.values() if paths]
    assert paths
    page = tab(serve("serve", *paths), viewport={"width": 1280, "height": 3000})
    expect(page.locator(".session-row")).to_have_count(len(paths))
    for href in page.locator(".session-row").evaluate_all("rows => rows.map(row => row.hash)"):
        page.evaluate("hash => { location.hash = hash }", href)
        expect(page.locator(".message").first).to_be_visible()
        page.keyboard.press("Shift+G")
        page.evaluate(CLICK_ALL, ".call > .collapsible > .collapsible-header > .disclosure[aria-expanded=false]")
        expect(page.locator("p.loading")).to_have_count(0)
        expect(page.locator(".note.error", has_text="Could not display")).to_have_count(0)
