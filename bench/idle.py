"""What watching costs while nothing happens, with 2,000 sessions on disk: `reread now`, and a reader that is open.

Needs Linux; the reader's row needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import measure
from measure import Row

DATA = measure.data()
SESSIONS = 2000
SETTLED_SECONDS, BUSY = 10, 0.05
"""A start is over once the share of a core was below this for so long: the reader first counts what is new."""
LONGEST_START = 600
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a process and what it started have used."""
    spent = 0.0
    for one in measure.family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        spent += sum(map(int, fields[11:15])) / TICKS
    return spent


def idle_share(pid: int, seconds: float) -> str:
    """Return the share of a core that a process uses once its start is over."""
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end:
        before = cpu_of(pid)
        time.sleep(SETTLED_SECONDS)
        if cpu_of(pid) - before < BUSY * SETTLED_SECONDS:
            break
    before, start = cpu_of(pid), time.monotonic()
    time.sleep(seconds)
    return f"{(cpu_of(pid) - before) / (time.monotonic() - start):.2%} of a core"


@contextmanager
def running(*words: str, root: Path) -> Iterator[tuple[int, int]]:
    """Run reread on a terminal of its own, and yield its id and its end of the terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reread", "--root", str(root), *words]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        try:
            yield process.pid, ours
        finally:
            process.terminate()
            os.close(ours)


def idle_rows(seconds: float) -> Iterator[Row]:
    root = DATA.many(SESSIONS)
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"REREAD_CACHE": cache, "TERM": "xterm"}
        with running("now", root=root) as (pid, _):
            yield Row(f"`reread now`, {SESSIONS:,} sessions", idle_share(pid, seconds), goal="≤ 1 %")
        measure.run([sys.executable, "-m", "reread", "--root", str(root), "search", "nothing"], accepted=(0, 1))
        with running("serve", "--no-token", "--no-open", "--port", "0", root=root) as (pid, terminal):
            said = ""
            while not (found := re.search(r"http://[^#\s]+", said)):
                said += os.read(terminal, 1000).decode()
            from playwright.sync_api import sync_playwright
            from reader import CHROMIUM

            with sync_playwright() as playwright:
                page = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
                page.goto(found[0])
                page.wait_for_load_state()
                yield Row(
                    f"the reader's server, its library open, {SESSIONS:,} sessions",
                    idle_share(pid, seconds),
                    goal="≤ 1 %",
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for how long each is watched")
    measure.report(idle_rows(parser.parse_args().seconds))
