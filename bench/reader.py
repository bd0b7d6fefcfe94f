"""What the reader costs the browser: script in each frame, elements and heap over 100,000 messages; the first load.

`python bench/reader.py [MESSAGES]`; needs playwright and Chromium.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import measure
from measure import Row
from playwright.sync_api import Browser, Page, sync_playwright

DATA = measure.data()
STATIC = Path(__file__).parents[1] / "src/reread/web/static"
MESSAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FRAMES, PLACES = 400, 40
SCROLL = """steps => new Promise(done => {
  const step = left => {
    if (!left) return done();
    scrollBy(0, 300);
    requestAnimationFrame(() => step(left - 1));
  };
  step(steps);
})"""
CATEGORIES = ["devtools.timeline", "devtools.timeline.frame", "disabled-by-default-devtools.timeline"]
SCRIPT = {"FunctionCall", "EvaluateScript", "TimerFire", "FireAnimationFrame", "EventDispatch", "RunMicrotasks"}
"""The trace's names for time in which script runs."""


def long_session(path: Path) -> None:
    """Prompts, answers and calls, about as they are mixed in real sessions."""
    with path.open("w") as file:
        for number in range(MESSAGES // 2):
            for record in turn(number):
                file.write(json.dumps(record) + "\n")


def turn(number: int) -> Iterator[dict[str, Any]]:
    stamp = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}
    prompt = {"role": "user", "content": f"prompt {number} " + "and so on " * (number * 7 % 40)}
    said = f"Answer {number}. It has `code`, **weight** and a list:\n\n" + "- a line of it\n" * (number * 13 % 12)
    content: list[dict[str, Any]] = [{"type": "text", "text": said}]
    if number % 2:
        content += [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make {number}"}}]
    answer = {"id": f"m{number}", "role": "assistant", "model": "claude-x", "content": content}
    before = f"a{number - 1}" if number else None
    yield {"type": "user", "uuid": f"p{number}", "parentUuid": before, "message": prompt, **stamp}
    yield {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"p{number}", "message": answer, **stamp}


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of the session's page."""
    command = [sys.executable, "-m", "reread", "serve", str(path), "--no-open", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            server.terminate()


def script_per_frame(trace: bytes) -> list[float]:
    """Milliseconds of CPU that script took in each frame of the page."""
    events = json.loads(trace)["traceEvents"]
    frames = sorted((e["ts"], e["pid"], e["tid"]) for e in events if e["name"] == "BeginCommitCompositorFrame")
    threads = Counter(frame[1:] for frame in frames)
    main = threads.most_common(1)[0][0]
    ends = [when for when, *thread in frames if tuple(thread) == main]
    spent = [0.0] * (len(ends) + 1)
    reached = 0.0
    for event in sorted(events, key=lambda e: e.get("ts", 0)):
        inner = event.get("ts", 0) < reached
        if event["name"] in SCRIPT and (event["pid"], event["tid"]) == main and not inner:
            spent[bisect_left(ends, event["ts"])] += event.get("tdur", event.get("dur", 0))
            reached = event["ts"] + event.get("dur", 0)
    return [microseconds / 1000 for microseconds in spent]


def heap_and_elements(page: Page) -> tuple[float, int]:
    """Megabytes that are in use after a collection, and how many elements the page has."""
    wire = page.context.new_cdp_session(page)
    wire.send("HeapProfiler.collectGarbage")
    wire.send("Performance.enable")
    metrics = {m["name"]: m["value"] for m in wire.send("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6, page.locator("*").count()


def scroll_rows(browser: Browser, address: str) -> Iterator[Row]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.locator(".message").first.wait_for(timeout=60_000)
    heap, _ = heap_and_elements(page)
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.evaluate(SCROLL, FRAMES)
    page.wait_for_timeout(200)
    frames = script_per_frame(browser.stop_tracing())
    middle, most = measure.quantile(frames, 0.5), measure.quantile(frames, 0.95)
    measured = f"p50 {middle:.1f} ms, p95 {most:.1f} ms of {len(frames)} frames"
    yield Row(f"script per frame, scrolling {MESSAGES:,} messages", measured, goal="p95 ≤ 16 ms")
    drawn = 0
    for place in range(PLACES):
        page.evaluate("share => scrollTo(0, document.documentElement.scrollHeight * share)", place * 0.37 % 1)
        page.wait_for_timeout(50)
        drawn = max(drawn, page.locator("*").count())
    after, elements = heap_and_elements(page)
    yield Row(f"heap after {PLACES} places all over", f"{after:.0f} MB", f"{heap:.0f} MB at first", goal="bounded")
    yield Row("elements, at most", f"{max(drawn, elements):,}", goal="bounded")
    page.close()


def load_rows() -> Iterator[Row]:
    """What the browser fetches before the first session is on the screen, compressed."""
    first = [STATIC / "index.html", *STATIC.glob("assets/index-*")]
    size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in first)
    yield Row("first load, compressed", f"{size / 1000:.0f} kB", goal="≤ 250 kB")


def main() -> None:
    path = DATA.root / f"messages-{MESSAGES}.jsonl"
    if not path.exists():
        long_session(path)
    rows = list(load_rows())
    with sync_playwright() as api, served(path) as address:
        browser = api.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        rows += scroll_rows(browser, address)
        browser.close()
    measure.report(rows)


if __name__ == "__main__":
    main()
