"""The review before a session is shared, in the reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import planted
from playwright.sync_api import expect

Tab = Callable[..., Any]


def test_findings_are_decided_previewed_and_downloaded(
    tab: Tab, serve: Callable[..., str], axe: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    made = planted.Planting()
    records = [
        made.prompt(f'use password = "hunter2!x" and {made("prompt")} for Project Harbor'),
        made.answer(planted.text("I used hunter2!x for Project Harbor in /home/wilhelmina/shop.")),
    ]
    path = tmp_path / f"{planted.ID}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    page = tab(serve("serve", path), ignored="preview=1$")
    page.locator(".message").first.wait_for()
    page.locator(".session-head").get_by_role("link", name="Share").click()
    pane = page.get_by_role("region", name="Share")
    summary = pane.locator(".share-summary")
    expect(summary).to_have_text(
        "1 to decide before it can be shared · 1 secret and 1 personal detail will be replaced"
    )
    expect(pane).to_contain_text("Decide 1 to share")
    expect(pane.get_by_role("link", name="Download")).to_have_count(0)
    assert "hunter2" not in pane.inner_text() and made.needles["prompt"] not in pane.inner_text()
    assert axe(page) == []
    beside = page.frame_locator("iframe")
    expect(beside.locator(".message").last).to_contain_text("I used [undecided-password-1] for Project Harbor")
    assert not [frame for frame in page.frames[1:] if "hunter2" in frame.content()]
    likely = pane.get_by_role("region", name="To decide")
    expect(likely).to_contain_text("To decide 1")
    likely.get_by_role("link", name="line 1").click()  # it leads to the message, in place of the preview
    expect(page.locator(".message").first).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
    expect(summary).to_be_visible()
    pane.get_by_role("region", name="Secrets").get_by_role("button", name="Replace", exact=True).focus()
    page.keyboard.press("n")  # a key decides only what is to be decided
    expect(pane.get_by_role("region", name="Secrets").locator("[aria-pressed=true]")).to_have_text("Replace")
    pane.get_by_role("link", name="Show the preview").click()
    pane.get_by_role("button", name="Decide 1 to share").click()
    page.keyboard.press("y")
    expect(pane.get_by_role("region", name="Decided")).to_contain_text("[redacted-password-1]")
    expect(likely).to_have_count(0)
    expect(pane.get_by_role("link", name="Download")).to_be_visible()
    expect(beside.locator(".message").last).to_contain_text("I used [redacted-password-1] for Project Harbor")
    pane.get_by_role("link", name="Show the messages").click()
    page.locator(".message").first.wait_for()
    pane.get_by_label("Also replace").fill("Project Harbor")
    pane.locator("form").get_by_role("button", name="Replace").click()
    expect(pane.get_by_role("region", name="Secrets")).to_contain_text("Secrets 2")
    expect(summary).to_have_text("Nothing left to decide · 3 secrets and 1 personal detail will be replaced")
    pane.get_by_role("link", name="Show the preview").click()
    expect(beside.locator(".message").last).to_contain_text("I used [redacted-password-1] for [redacted-text-1]")
    assert page.frames[1].evaluate("origin") == "null"
    pane.get_by_role("region", name="Secrets").get_by_role("button", name="Keep", exact=True).last.click()
    expect(beside.locator(".message").last).to_contain_text("for Project Harbor")
    pane.get_by_role("region", name="Secrets").get_by_role("button", name="Replace", exact=True).last.click()
    expect(beside.locator(".message").last).to_contain_text("for [redacted-text-1]")
    pane.get_by_role("link", name="Show the messages").click()
    expect(page.locator("iframe")).to_have_count(0)
    with page.expect_download() as download:
        pane.get_by_role("link", name="Download").click()
    document = Path(download.value.path()).read_text()
    assert "hunter2" not in document and "reread-index" in document
    with page.expect_popup() as opened:
        page.set_viewport_size({"width": 1000, "height": 800})  # the panel covers the messages
        pane.get_by_role("link", name="Preview", exact=True).click()
    preview = opened.value
    expect(preview.locator(".message").last).to_contain_text("I used [redacted-password-1] for [redacted-text-1]")
    assert "wilhelmina" not in preview.locator("body").inner_text()
    assert preview.evaluate("origin") == "null"


def test_findings_are_those_in_what_is_chosen(
    tab: Tab, serve: Callable[..., str], axe: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    made = planted.Planting()
    thinking = {"type": "thinking", "thinking": 'the password = "m4rigold!x"', "signature": "s"}
    records = [
        made.prompt(f"use {made('first')}"),
        made.answer(thinking, planted.text("done")),
        made.prompt('password = "hunter2!x"'),
        made.answer(planted.text("well")),
    ]
    path = tmp_path / f"{planted.ID}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    page = tab(serve("serve", path), ignored="400|preview=1$")
    page.locator(".message").first.wait_for()
    page.locator(".session-head").get_by_role("link", name="Share").click()
    pane = page.get_by_role("region", name="Share")
    expect(pane).to_contain_text("Decide 2 to share")
    pane.get_by_role("button", name="Thinking").click()
    expect(pane).to_contain_text("Decide 1 to share")
    pane.get_by_label("Turns").fill("1")
    pane.get_by_label("Turns").press("Enter")
    expect(pane.get_by_role("region", name="Secrets")).to_contain_text("GitHub token")
    assert axe(page) == []
    pane.get_by_role("button", name="Session file").click()
    expect(pane).to_contain_text("choose another format")
    pane.get_by_role("button", name="Markdown").click()
    with page.expect_download() as download:
        pane.get_by_role("link", name="Download").click()
    document = Path(download.value.path()).read_text()
    assert "[redacted-github-token-1]" in document and "password" not in document
    with page.expect_popup() as opened:
        page.set_viewport_size({"width": 1000, "height": 800})  # the panel covers the messages
        pane.get_by_role("link", name="Preview", exact=True).click()
    expect(opened.value.locator(".message").last).to_contain_text("done")
    assert "password" not in opened.value.locator("body").inner_text()
    pane.get_by_label("Turns").fill("9")
    pane.get_by_label("Turns").press("Enter")
    expect(pane.get_by_role("alert")).to_contain_text("No turn 9")


def test_values_of_one_name_get_one_decision(
    tab: Tab, serve: Callable[..., str], axe: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    made = planted.Planting()
    path = tmp_path / f"{planted.ID}.jsonl"
    prompts = [made.prompt(f"confirm_token: Qx7mP2kLw9ZtR4v{letter}") for letter in "abc"]
    path.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    page = tab(serve("serve", path))
    page.locator(".message").first.wait_for()
    page.locator(".session-head").get_by_role("link", name="Share").click()
    pane = page.get_by_role("region", name="Share")
    expect(pane).to_contain_text("confirm_token 3 values in 3 places")
    pane.get_by_role("button", name="Replace").first.click()
    expect(pane.get_by_role("link", name="Download")).to_be_visible()
    pane.get_by_role("button", name="Each of the 3 values").click()
    pane.locator("li li").nth(1).get_by_role("button", name="Keep", exact=True).click()
    expect(pane.locator("li li [aria-pressed=true]")).to_have_text(["Replace", "Keep", "Replace"])
    assert axe(page) == []
    pane.get_by_role("button", name="Markdown").click()
    with page.expect_download() as download:
        pane.get_by_role("link", name="Download").click()
    document = Path(download.value.path()).read_text()
    assert "Qx7mP2kLw9ZtR4vb" in document and "Qx7mP2kLw9ZtR4va" not in document


def test_what_is_to_be_decided_follows_each_decision_before_the_server_answers(
    tab: Tab, serve: Callable[..., str], tmp_path: Path
) -> None:
    made = planted.Planting()
    path = tmp_path / f"{planted.ID}.jsonl"
    path.write_text(json.dumps(made.prompt('password = "hunter2!x" and db_password: "s3cr3t-99z"')) + "\n")
    page = tab(serve("serve", path))
    page.locator(".message").first.wait_for()
    page.locator(".session-head").get_by_role("link", name="Share").click()
    pane = page.get_by_role("region", name="Share")
    level, todo = pane.locator(".share-level").first, pane.locator(".share-summary strong")
    expect(level.locator("h2")).to_have_text("To decide 2")
    held: list[Any] = []
    page.route("**/share", lambda route: held.append(route), times=1)
    level.get_by_role("button", name="Replace").first.click()
    expect(level.locator("h2")).to_have_text("To decide 1 of 2")
    expect(todo).to_have_text("1 to decide before it can be shared")
    level.get_by_role("button", name="Keep", exact=True).last.click()
    expect(level.locator("h2")).to_have_text("Decided 2")
    expect(todo).to_have_text("Nothing left to decide")
    download = pane.get_by_role("link", name="Download")
    expect(download).to_have_count(0)
    held[0].continue_()
    expect(download).to_be_visible()
    expect(level.locator("[aria-pressed=true]")).to_have_text(["Replace", "Keep"])
