"""A hostile session: nothing in it runs, loads or hides."""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from making import answer, attachment, image, jsonl, reply, result, system, thinking, told, use, user
from playwright.sync_api import expect
from poison import poisoned

Tab = Callable[..., Any]

REMOTE = "https://far.example/"
PAYLOAD = f"""<script>alert(1)</script><img src=x onerror=alert(1)><svg/onload=alert(1)><iframe src="{REMOTE}"></iframe>
<style>body {{ display: none }} @import "{REMOTE}";
<link rel=stylesheet href={REMOTE}><meta http-equiv=refresh content="0;url={REMOTE}"><base href={REMOTE}>

[click](javascript:alert(1)) [click](JaVaScRiPt:alert(1)) [click](data:text/html,<script>alert(1)</script>)
[click](vbscript:x) [click](//far.example/) [click](\x01javascript:alert(1)) <javascript:alert(1)>

![remote]({REMOTE}p.png) ![local](file:///etc/passwd) ![](javascript:alert(1))

```mermaid
graph TD; A[<img src=x onerror=alert(1)>] --> B; click A "javascript:alert(1)"
```

```html
</code></pre><script>alert(1)</script>
```

| a | b |
|---|---|
| <img src=x onerror=alert(1)> | [x](javascript:alert(1)) |

safe \u202etxt.exe\u202c and \u2066isolated\u2069, zero\u200bwidth, {"W" * 3000} {"😀" * 300}
"""
LINK = "\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07"
ESCAPES = LINK + " \x1b]0;title\x07 \x1b[2J\x1b[31mred\x1b[0m \x9b31mC1 \x1bPq\x1b\\ \x07"
SVG = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>').decode()
HTML = base64.b64encode(b"<script>alert(1)</script>").decode()
BIDI = "\u202egnp.exe\u2066"
INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e007f]"
)
QUOTES = """"><script>alert(1)</script>'"`${alert(1)}</script><!--"""


def records() -> list[Any]:
    """Records with the payload in every place that has text."""
    return told(
        user(PAYLOAD, cwd=f"/home/{QUOTES}", gitBranch=QUOTES, version=QUOTES),
        user(
            [{"type": "text", "text": QUOTES}, _picture("image/svg+xml", SVG), _picture("image/png", HTML), image("!!")]
        ),
        reply(thinking(PAYLOAD), PAYLOAD, QUOTES, id=f"msg_{QUOTES}"),
        reply(
            use("t1", "Bash", command=PAYLOAD + ESCAPES, description=QUOTES),
            use("t2", "Edit", file_path=f"/{QUOTES}", old_string=PAYLOAD, new_string=QUOTES),
            use("t3", "WebFetch", url="javascript:alert(1)", prompt=PAYLOAD),
            use("t4", "WebSearch", query=QUOTES),
            use("t5", f"mcp__{QUOTES}__x", a={"b": [PAYLOAD, QUOTES, {"__proto__": 1}]}),
            use("t6", "TodoWrite", todos=[{"content": PAYLOAD, "status": QUOTES, "activeForm": QUOTES}]),
            use("t7", "Read", file_path="/a.html"),
            use(
                "t8",
                "AskUserQuestion",
                questions=[{"question": PAYLOAD, "header": QUOTES, "options": [{"label": QUOTES}]}],
            ),
            id="msg_2",
        ),
        answer(result("t1", ESCAPES + PAYLOAD, is_error=True)),
        answer(result("t2", QUOTES)),
        answer(result("t3", [{"type": "text", "text": PAYLOAD}, _picture("image/svg+xml", SVG)])),
        answer(result("t4", f'Links: [{{"title":"{REMOTE}","url":"javascript:alert(1)"}}]')),
        answer(result("t7", PAYLOAD)),
        system("informational", PAYLOAD, level=QUOTES),
        attachment(
            "file", {"filename": QUOTES, "content": {"type": "text", "file": {"content": PAYLOAD, "filePath": QUOTES}}}
        ),
        {"type": QUOTES, "content": PAYLOAD},
        user("> " * 4000 + "deep"),
        user("[" * 20_000 + "a" + "](" * 5_000),
        user(f"<command-name>{PAYLOAD}</command-name>"),
    )


def _picture(kind: str, data: str) -> Any:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A file with the hostile session."""
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(jsonl(*records()))
    return path


def open_everything(page: Any) -> None:
    """Expand everything, a few levels deep."""
    for _ in range(3):
        page.evaluate("document.querySelectorAll('main [aria-expanded=false]').forEach(button => button.click())")
        page.wait_for_timeout(300)


INJECTED = "script, iframe, style, link, meta, base, object, embed, [onerror], [onload]"
PANELS = {"About": "table.figures", "Files": ".files-tab", "Context": ".context-parts", "Share": ".share-actions"}
"""The tabs beside a session, and what each waits for."""


def assert_harmless(page: Any) -> None:
    """Check that the page has nothing that a transcript could have injected."""
    page.locator(".message").first.wait_for()
    open_everything(page)
    expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
    assert page.locator(f"main :is({INJECTED}, form)").count() == 0
    hrefs = page.locator("main a[target=_blank]").evaluate_all("links => links.map(link => link.href)")
    assert hrefs and all(href.startswith(("https://", "http://", "mailto:")) for href in hrefs)
    assert page.locator("main img").evaluate_all("images => images.every(image => !image.src.includes('far.example'))")
    text = page.locator("main").inner_text()
    assert "\u202e" not in text and "\u2066" not in text and "U+202E" in text
    assert "\x1b" not in text
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


PLACES = {"insights": "table", "?q=start": ".found"}
"""Pages besides the session's, and what they show."""


def invisible_attributes(page: Any) -> list[str]:
    """Return the attributes that the browser shows or reads out, and the page's title, with an invisible character."""
    found = page.evaluate(
        """() => [
          document.title,
          ...[...document.querySelectorAll("*")].flatMap((element) =>
            ["title", "aria-label", "aria-description", "alt", "placeholder", "label"].flatMap((name) =>
              element.hasAttribute(name) ? [`${name}=${element.getAttribute(name)}`] : [],
            ),
          ),
        ]"""
    )
    assert len(found) > 10
    return [text for text in found if INVISIBLE.search(text)]


def test_tooltips_and_labels_show_what_is_invisible(tab: Tab, serve: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / "home/.claude/projects/-a"
    folder.mkdir(parents=True)
    lines = [poisoned(record) for record in records()]
    response = reply(use("t20", "Read", file_path=f"/{BIDI}"), use("t21", "Write", file_path=f"/{BIDI}"), id="msg_20")
    response["message"] |= {"model": BIDI, "usage": {"output_tokens": 5, "input_tokens": 3}}
    named = user("start", cwd=f"/{BIDI}", version=BIDI, gitBranch=BIDI)
    (folder / "a.jsonl").write_bytes(jsonl(*told(named, response, answer(result("t20", "a")), *lines)))
    address = serve("serve")
    page = tab(address, viewport={"width": 1280, "height": 6000}, ignored="404")
    page.locator(".session-row").first.wait_for()
    assert invisible_attributes(page) == []
    page.locator(".session-row").first.click()
    page.locator(".message").first.wait_for()
    open_everything(page)
    page.locator(".session-head").get_by_role("link", name="Details").click()
    for name, ready in PANELS.items():
        page.goto(re.sub("panel=[a-z]+", f"panel={name.lower()}", page.url))
        page.locator(ready).first.wait_for()
        assert invisible_attributes(page) == []
        assert page.locator(f".side-panel :is({INJECTED})").count() == 0
        assert "\u202e" not in page.locator(".side-panel").inner_text()
    for place in PLACES:
        page.goto(f"{address.partition('?')[0]}#/{place}")
        if place == "insights":
            page.get_by_role("button", name="All time").click()
        page.locator(PLACES[place]).first.wait_for()
        assert invisible_attributes(page) == []


def test_a_hostile_session_is_harmless_in_the_served_reader(
    browser: Any, tab: Tab, serve: Callable[..., str], hostile: Path
) -> None:
    page = tab(serve("serve", hostile), viewport={"width": 1280, "height": 6000}, ignored="404")
    assert_harmless(page)
    page.keyboard.press("Home")
    page.get_by_role("searchbox").fill("alert(1)")
    page.locator(".hit").first.wait_for()
    page.locator(".brand").click()
    expect(page.locator(".session-row")).to_have_count(1)


def test_names_show_what_is_invisible_and_links_say_where_they_lead(
    tab: Tab, serve: Callable[..., str], tmp_path: Path
) -> None:
    response = reply("[https://good.example/](https://far.example/)", use("t1", BIDI, a=1), id="msg_1")
    response["message"] |= {"model": BIDI, "usage": {"output_tokens": 5}}
    boundary = system("compact_boundary", "Compacted", compactMetadata={"trigger": BIDI, "preTokens": 9})
    path = tmp_path / "names.jsonl"
    path.write_bytes(jsonl(*told(user("start", version=BIDI, gitBranch=BIDI), response, boundary, user("end"))))
    page = tab(serve("serve", path))
    page.locator(".session-head").get_by_role("link", name="Details").click()
    page.locator(".panel-tab", has_text="About").click()
    expect(page.locator(".link-host")).to_have_text("→ far.example")
    for place in (".compaction", ".call", ".response-figures", ".totals", ".session-location", "table.figures"):
        expect(page.locator(place).first).to_contain_text("U+202E")
    assert all("\u202e" not in name for name in page.locator("option").all_inner_texts())
    assert "\u202e" not in page.locator("body").inner_text()
    page.locator(".brand").click()
    expect(page.locator(".session-row")).to_contain_text("U+202E")
    assert "\u202e" not in page.locator("body").inner_text()
