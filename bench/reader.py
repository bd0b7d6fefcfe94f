"""The web UI in a browser: first paint, appended lines, script time per frame, memory, exported pages, first load.

Needs playwright and Chromium.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import measure
from measure import Plan, Row
from playwright.sync_api import Browser, Page, sync_playwright

DATA = measure.data()
STATIC = Path(__file__).parents[1] / "src/reread/reader/static"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
KEY = "11111111-0000-4000-8000-000000000001"
MESSAGES = 100_000
LONG, EXPORTED = 60, 100
"""Sizes in megabytes of a long session of real work, and of the exported one."""
ROUNDS, APPENDS = 5, 60
FRAMES, PLACES = 400, 40
SETTLED_SECONDS = 5
"""How long to wait after a page has opened before lines are appended."""
SCROLL = """steps => new Promise(done => {
  const step = left => {
    if (!left) return done();
    scrollBy(0, 300);
    requestAnimationFrame(() => step(left - 1));
  };
  step(steps);
})"""
NOTE_FIRST_PAINT = """addEventListener("DOMContentLoaded", () => {
  const look = () => {
    if (!document.querySelector(".message:not(.loading)")) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
})"""
"""Records when the frame with the first messages is done, in milliseconds since the navigation began."""
NOTE_APPENDED = """() => {
  const look = () => {
    for (const row of document.querySelectorAll(".message-list .row")) {
      const name = row.textContent.match(/appended \\d+/)?.[0];
      if (!name || name in window) continue;
      window[name] = 0;
      requestAnimationFrame(() => setTimeout(() => { window[name] = performance.timeOrigin + performance.now(); }));
    }
  };
  new MutationObserver(look).observe(document.querySelector(".message-list"), { childList: true, subtree: true });
}"""
"""Records when the frame with each appended line is done."""
CATEGORIES = ["devtools.timeline", "devtools.timeline.frame", "disabled-by-default-devtools.timeline"]
SCRIPT = {"FunctionCall", "EvaluateScript", "TimerFire", "FireAnimationFrame", "EventDispatch", "RunMicrotasks"}
"""The trace events during which script runs."""


def long_session(path: Path) -> None:
    """Write prompts, answers and calls in about the mix of real sessions."""
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
def served(path: Path, cache: Path | None = None) -> Iterator[str]:
    """Serve the folder of a session and yield the URL of its page; nothing is read before the first request."""
    command = [
        sys.executable,
        "-m",
        "reread",
        "--root",
        str(path.parents[1]),
        "serve",
        "--no-token",
        "--no-open",
        "--port",
        "0",
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **({"REREAD_CACHE": str(cache)} if cache else {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        found = re.search(r"http://[^#\s]+", server.stdout.readline())
        assert found is not None
        try:
            yield f"{found[0]}#/s/{path.stem}"
        finally:
            server.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as api:
        browser = api.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def alone(path: Path, *, copied: bool = False) -> Iterator[Path]:
    """A session alone in a folder; copied if it will be appended to."""
    with tempfile.TemporaryDirectory(dir=DATA.root) as scratch:
        own = Path(scratch) / "projects/p" / f"{KEY}.jsonl"
        own.parent.mkdir(parents=True)
        (shutil.copyfile if copied else os.link)(path, own)
        yield own


def new_tab(browser: Browser, **options: Any) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, **options)
    page.add_init_script(NOTE_FIRST_PAINT)
    return page


def first_paint(page: Page, address: str) -> float:
    """Seconds from the start of the navigation to the end of the frame with the first messages."""
    page.goto(address, wait_until="commit")
    page.locator(".message:not(.loading)").first.wait_for(timeout=60_000)
    return recorded_time(page, "painted") / 1000


def recorded_time(page: Page, name: str) -> float:
    """Wait for the time that the page records under a name."""
    for _ in range(200):
        if found := page.evaluate("name => window[name]", name):
            return found
        page.wait_for_timeout(50)
    raise TimeoutError(name)


def summary(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s, best {min(seconds):.2f} s of {len(seconds)}"


def paint(plan: Plan) -> Iterator[Row]:
    """The first paint of a file that the server has not read yet, and again; the browser is already running."""
    yield from paint_rows(DATA.session(LONG), "≤ 1.5 s", "≤ 1 s")
    yield from paint_rows(DATA.large(quick=plan.quick), "≤ 4 s", "≤ 1 s")


def paint_rows(session: Path, *goals: str) -> Iterator[Row]:
    times: dict[str, list[float]] = {"the first time": [], "again": []}
    for _ in range(ROUNDS):
        with alone(session) as path, served(path, path.parent) as address, chromium() as browser:
            for found in times.values():
                page = new_tab(browser)
                found.append(first_paint(page, address))
                page.close()
    size = session.stat().st_size / 1e6
    for (words, found), goal in zip(times.items(), goals, strict=True):
        yield Row(f"first paint of {size:.0f} MB, {words}", summary(found), goal=goal)


def append(plan: Plan) -> Iterator[Row]:
    """The time from appending a line to the end of the frame that shows it."""
    with (
        alone(DATA.large(quick=plan.quick), copied=True) as path,
        served(path, path.parent) as address,
        chromium() as browser,
    ):
        page = new_tab(browser)
        first_paint(page, address)
        page.wait_for_timeout(SETTLED_SECONDS * 1000)
        page.keyboard.press("Shift+G")
        page.wait_for_timeout(1000)
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.wait_for_timeout(500)
        page.evaluate(NOTE_APPENDED)
        parent, delays = last_uuid(path), list[float]()
        for number in range(APPENDS):
            parent, delay = append_line(page, path, number, parent)
            delays.append(delay)
    size = DATA.large(quick=plan.quick).stat().st_size / 1e6
    measured = f"p50 {statistics.median(delays):.0f} ms, p95 {measure.quantile(delays, 0.95):.0f} ms"
    measured += f", the first {delays[0]:.0f} ms, the slowest {max(delays):.0f} ms"
    yield Row(f"append to the screen, {size:.0f} MB session", measured, goal="p95 ≤ 100 ms")


def append_line(page: Page, path: Path, number: int, parent: str) -> tuple[str, float]:
    """Append a line; return its uuid and the milliseconds until the frame that shows it is done."""
    uuid, name = f"22222222-0000-4000-8000-{number:012d}", f"appended {number}"
    content = [{"type": "text", "text": f"{name}."}]
    message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-x", "content": content}
    line = {"type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": KEY, "message": message}
    began = time.time() * 1000
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")
    seen = recorded_time(page, name)
    page.wait_for_timeout(300)
    return uuid, seen - began


def last_uuid(path: Path) -> str:
    """The uuid of the last record."""
    with path.open("rb") as file:
        file.seek(-(8 << 20), os.SEEK_END)
        lines = file.read().splitlines()[1:]
    return next(uuid for line in reversed(lines) if (uuid := json.loads(line).get("uuid")))


def script_per_frame(trace: bytes) -> list[float]:
    """Milliseconds of script CPU time in each frame."""
    events = json.loads(trace)["traceEvents"]
    frames = sorted((e["ts"], e["pid"], e["tid"]) for e in events if e["name"] == "BeginCommitCompositorFrame")
    threads = Counter(frame[1:] for frame in frames)
    main = threads.most_common(1)[0][0]
    ends = [end for end, *thread in frames if tuple(thread) == main]
    spent = [0.0] * (len(ends) + 1)
    reached = 0.0
    for event in sorted(events, key=lambda e: e.get("ts", 0)):
        inner = event.get("ts", 0) < reached
        if event["name"] in SCRIPT and (event["pid"], event["tid"]) == main and not inner:
            spent[bisect_left(ends, event["ts"])] += event.get("tdur", event.get("dur", 0))
            reached = event["ts"] + event.get("dur", 0)
    return [microseconds / 1000 for microseconds in spent]


def heap_and_elements(page: Page) -> tuple[float, int]:
    """Megabytes of heap after a garbage collection, and the number of elements."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6, page.locator("*").count()


def scroll(plan: Plan) -> Iterator[Row]:
    """Scroll through a long session."""
    path = DATA.root / f"messages-{MESSAGES}.jsonl"
    if not path.exists():
        long_session(path)
    with alone(path) as own, served(own) as address, chromium() as browser:
        page = new_tab(browser)
        first_paint(page, address)
        yield from scroll_rows(browser, page, f"{MESSAGES:,} messages")


def export(plan: Plan) -> Iterator[Row]:
    """Open an exported page from disk with the network off."""
    with tempfile.TemporaryDirectory(dir=DATA.root) as scratch:
        path = Path(scratch) / "session.html"
        command = [sys.executable, "-m", "reread", "export", str(DATA.session(EXPORTED)), "-o", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        what = f"{EXPORTED} MB, exported"
        with chromium() as browser:
            tabs = [new_tab(browser, offline=True) for _ in range(ROUNDS)]
            times = [first_paint(page, path.as_uri()) for page in tabs]
            for page in tabs[1:]:
                page.close()
            yield Row(f"first paint of {what}, {path.stat().st_size / 1e6:.0f} MB", summary(times))
            yield from scroll_rows(browser, tabs[0], what)
            yield Row(f"a search through {what}", f"{search_seconds(tabs[0]):.1f} s")


def search_seconds(page: Page) -> float:
    """Seconds to search a whole exported session for a text that it does not contain."""
    began = time.perf_counter()
    page.get_by_role("searchbox").fill("no such words in it")
    page.locator(".hits-summary", has_text="No matches").wait_for(timeout=120_000)
    return time.perf_counter() - began


def scroll_rows(browser: Browser, page: Page, what: str) -> Iterator[Row]:
    heap, _ = heap_and_elements(page)
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.evaluate(SCROLL, FRAMES)
    page.wait_for_timeout(200)
    frames = script_per_frame(browser.stop_tracing())
    middle, most = measure.quantile(frames, 0.5), measure.quantile(frames, 0.95)
    measured = f"p50 {middle:.1f} ms, p95 {most:.1f} ms of {len(frames)} frames"
    yield Row(f"script per frame, scrolling {what}", measured, goal="p95 ≤ 16 ms")
    drawn = 0
    for place in range(PLACES):
        page.evaluate("share => scrollTo(0, document.documentElement.scrollHeight * share)", place * 0.37 % 1)
        page.wait_for_timeout(50)
        drawn = max(drawn, page.locator("*").count())
    after, elements = heap_and_elements(page)
    yield Row(
        f"heap after {PLACES} places all over, {what}", f"{after:.0f} MB", f"{heap:.0f} MB at first", goal="bounded"
    )
    yield Row(f"elements at most, {what}", f"{max(drawn, elements):,}", goal="bounded")


def load(plan: Plan) -> Iterator[Row]:
    """The compressed size of the files that the first page loads."""
    first = [STATIC / "index.html", *STATIC.glob("assets/index-*")]
    size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in first)
    yield Row("first load, compressed", f"{size / 1000:.0f} kB", goal="≤ 250 kB")


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "load": load,
    "paint": paint,
    "append": append,
    "scroll": scroll,
    "export": export,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB instead of 1 GB")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
