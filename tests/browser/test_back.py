"""Back restores what was shown: also what no address names, in panels, the timeline, a review and a team's page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from committing import Rig
from playwright.sync_api import expect

from browser.conftest import DEMO, until
from browser.test_reading import requested_session

Tab = Callable[..., Any]
LOW = {"width": 1280, "height": 420}
STATE = """(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const panel = document.querySelector(".side-panel");
  return [
    location.hash,
    Math.round(scrollY),
    panel && [panel.className, Math.round(panel.scrollTop), panel.innerText],
    all(":is(main, .side-panel) :is([aria-pressed], [aria-expanded])").map(
      (it) => [it.textContent, it.getAttribute("aria-pressed"), it.getAttribute("aria-expanded")],
    ),
    all("main details").map(({ open }) => open),
    all(".side-panel input, main select").map(({ value }) => value),
    all(".waterfall-bar").map(({ innerText }) => innerText),
  ];
})()"""
"""What is shown and chosen, and where it is scrolled to."""


def is_restored(page: Any, ready: str) -> None:
    """Leave a page that has been scrolled and go back, and wait until all is as it was."""
    page.evaluate("scrollTo(0, 90)")
    page.evaluate("document.querySelector('.side-panel')?.scrollTo(0, 70)")
    left = json.dumps(steady(page), separators=(",", ":"), ensure_ascii=False)
    page.get_by_role("link", name="Insights", exact=True).first.click()
    page.get_by_role("heading", name="Insights", exact=True).wait_for()
    page.go_back()
    page.locator(ready).first.wait_for()
    until(page, f"JSON.stringify({STATE}) === {json.dumps(left)}")


def steady(page: Any) -> Any:
    """What is shown, as soon as it no longer changes."""
    before, now = None, page.evaluate(STATE)
    while before != now:
        page.wait_for_timeout(400)
        before, now = now, page.evaluate(STATE)
    return now


def click(*names: str, within: str = "body", role: str = "button") -> Callable[[Any], None]:
    def act(page: Any) -> None:
        for name in names:
            page.locator(within).first.get_by_role(role, name=name).first.click()

    return act


def files(page: Any) -> None:
    first, second = page.locator(".file-section").all()
    click("Wide")(page)
    second.get_by_role("button", name="Blame").click()
    second.locator(".blame").wait_for()
    first.get_by_role("button", name="Versions").click()
    first.get_by_role("slider").fill("1")
    first.get_by_role("button", name="Whole file").click()
    first.locator("text=class Backoff:").first.wait_for()


def timeline(page: Any) -> None:
    click("True length")(page)
    page.locator(".waterfall canvas").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "+", "+"):
        page.keyboard.press(key)
    page.locator(".waterfall-bar", has_text="turn 1").wait_for()


def conversation(page: Any) -> None:
    page.locator(".call [aria-expanded=false]").first.click()
    page.get_by_label("Tool calls").select_option("Edit")
    page.locator(".message.prompt").first.wait_for(state="detached")
    page.locator(".call [aria-expanded=false]").first.click()


def share(page: Any) -> None:
    images = page.locator(".share-tab").get_by_role("button", name="Images")
    before = images.get_attribute("aria-pressed")
    click("Markdown", "Images")(page)
    expect(images).not_to_have_attribute("aria-pressed", before)  # the server has said so


PAGES: dict[str, tuple[str, str, Callable[[Any], None] | None]] = {
    "files": (f"#/s/{DEMO['flaky']}?panel=files", ".file-section", files),
    "a file": (f"#/s/{DEMO['flaky']}?panel=files&show=tests%2Ftest_backoff.py", ".file-section .diff", None),
    "context": (f"#/s/{DEMO['letters']}?panel=context&show=turn4", ".context-parts tr", click("Calls")),
    "about": (f"#/s/{DEMO['letters']}?panel=about", ".about-tab .figures", click("Wide")),
    "share": (f"#/s/{DEMO['letters']}?panel=share", ".share-actions", share),
    "timeline": (f"#/s/{DEMO['letters']}?view=timeline", ".waterfall canvas", timeline),
    "filters": (f"#/s/{DEMO['letters']}", ".message", conversation),
    "captured": ("#/?captured=1&sort=cost", ".session-row", None),
    "insights": ("#/insights?period=All+time&by=tool", ".top-sessions a", click("Figures of each tool")),
}


@pytest.mark.parametrize("name", PAGES)
def test_back_restores_what_is_chosen_and_scrolled(tab: Tab, demo: str, name: str) -> None:
    address, ready, act = PAGES[name]
    page = tab(demo + address, viewport=LOW)
    page.locator(ready).first.wait_for()
    if act is not None:
        act(page)
    is_restored(page, ready)
    page.reload()
    page.locator(ready).first.wait_for()


def test_another_branch_begins_with_its_whole_timeline(tab: Tab, demo: str) -> None:
    page = tab(f"{demo}#/s/{DEMO['letters']}?view=timeline", viewport=LOW)
    page.locator(".waterfall canvas").wait_for()
    timeline(page)
    until(page, "history.state.kept?.bar")
    page.evaluate("location.hash += '&branch=0'")
    page.locator(".waterfall-bar", has_text="Point at a bar").wait_for()
    assert page.get_by_role("button", name="Short waits").get_attribute("aria-pressed") == "true"
    page.go_back()
    page.locator(".waterfall-bar", has_text="turn 1").wait_for()


def test_one_of_two_warnings_about_a_line_is_opened_alone(tab: Tab, serve: Any, tmp_path: Path) -> None:
    path = tmp_path / "projects/p/s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"type": "user", "message": {"role": "user", "content": "\\ud800"}, "odd": 1}\n')
    page = tab(f"{serve('serve', '--root', tmp_path)}#/s/s?panel=about")
    warnings = page.locator(".problems li")
    warnings.first.wait_for()
    assert {text[:11] for text in warnings.all_text_contents()} == {"info line 1"}
    warnings.first.get_by_role("button").click()
    page.locator(".problems .raw").first.wait_for()
    assert page.locator(".problems .raw").count() == 1


def test_a_choice_counts_that_is_made_before_the_one_before_is_answered(tab: Tab, demo: str) -> None:
    page = tab(f"{demo}#/s/{DEMO['flaky']}?panel=share")
    chips = [page.locator(".share-choices").get_by_role("button", name=name) for name in ("Images", "Agents")]
    before = [chip.get_attribute("aria-pressed") for chip in chips]
    held: list[Any] = []
    page.route("**/share", lambda route: held.append(route))
    for chip in chips:
        chip.click()
    while any(chip.get_attribute("aria-pressed") == pressed for chip, pressed in zip(chips, before, strict=True)):
        if held:
            held.pop(0).continue_()
        page.wait_for_timeout(20)


def test_back_restores_a_request_and_the_list_of_all(tab: Tab, serve: Any, tmp_path: Path) -> None:
    page = tab(f"{requested_session(serve, tmp_path)}?panel=context", viewport=LOW)
    click("All 11 requests")(page)
    page.locator(".requests tbody tr").nth(9).wait_for()
    is_restored(page, ".requests tbody tr")
    page.get_by_role("link", name="10", exact=True).click()
    click("What request 10 sent", "All of it", "System 1")(page)
    page.get_by_text("You are a helper.").first.wait_for()
    is_restored(page, ".one-request .chips")


def test_back_restores_a_review(tab: Tab, serve: Any, tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    session = rig.session()
    rig.prompt(session, "Write both\n" + "and explain each\n" * 40)
    for name in ("src/a.py", "src/b.py"):
        rig.write(session, name, 0, 0, ["alpha_value = 1", "beta_value = 2"])
    rig.commit(session, "Add two parts")
    rig.finish()
    page = tab(f"{serve('serve', '--root', rig.claude)}#/s/{rig.id(session)}", viewport=LOW)
    page.get_by_role("link", name="Review", exact=True).click()
    page.locator(".changed-file", has_text="src/b.py").click()
    is_restored(page, "main.review h1")


def test_back_restores_a_page_of_a_team(tab: Tab, serve: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from team_machines import Machine, write_all

    bucket = tmp_path / "bucket"
    write_all([Machine(tmp_path, n) for n in range(6)], bucket)
    (tmp_path / "empty").mkdir()
    address = serve("serve", "--root", tmp_path / "empty", "--team", bucket).partition("#")[0]
    page = tab(f"{address}#/team?quarter=2026-Q1", viewport=LOW)
    page.get_by_role("button", name="Figures of each week").click()
    page.get_by_role("row", name="5 Jan – 8 Feb").wait_for()
    group = page.get_by_role("group", name="Group").get_by_role("button").last
    group.click()
    expect(group).to_have_attribute("aria-pressed", "true")
    is_restored(page, "main table")
