"""From a commit of a session to its review, and from there to a turn."""

from pathlib import Path
from typing import Any

from committing import Rig

from .conftest import playwright, serving


def test_a_commit_leads_to_the_turns_behind_it_and_these_to_the_session(browser: Any, axe: Any, tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    session = rig.session()
    rig.prompt(session, "Write the <b>first</b> part")
    rig.write(session, "src/a.py", 0, 0, ["alpha_value = 1", "beta_value = 2"])
    rig.hand("src/a.py", 1, 0, ["by_hand = 3"])
    rig.hand("notes.txt", 0, 0, ["a note"])
    rig.commit(session, "Add a part")
    rig.finish()
    with serving(tmp_path, "serve", "--root", str(rig.claude), "--no-token") as address:
        page = browser.new_page()
        page.goto(f"{address}#/s/{rig.id(session)}")
        page.get_by_role("link", name="Review", exact=True).click()
        review = page.locator("main.review")
        playwright.expect(review.locator("h1")).to_contain_text("Add a part")
        playwright.expect(review).to_contain_text("4 added lines: 2 by 1 turn, 2 by hand or unknown")
        playwright.expect(review.locator("blockquote")).to_have_text("Write the <b>first</b> part")
        review.locator(".changed-tree").get_by_role("button", name="notes.txt").click()
        for _ in range(2):  # a chosen file is folded like any other
            review.locator(".changed-file", has_text="notes.txt").click()
        playwright.expect(review.locator(".diff .line")).to_have_count(4)
        review.locator(".changed-file", has_text="notes.txt").click()
        lines = review.locator(".diff .line")
        playwright.expect(lines).to_have_count(3)
        assert [line.locator(".turn-mark").count() for line in lines.all()] == [1, 0, 1]
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert axe(page) == [], scheme
        for link in (".review-turns a", ".line-margin a"):
            page.goto(f"{address}#/review/{rig.id(session)}")
            playwright.expect(review.locator("h1")).to_contain_text("Add a part")
            review.locator(link).first.click()
            playwright.expect(page).to_have_url(f"{address}#/s/{rig.id(session)}?turn=1")
        page.close()
