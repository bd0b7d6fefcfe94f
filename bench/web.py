"""The speed of HTML export against two other tools, of the first page of a large session, and of live updates."""

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import measure
from measure import Plan, Row

DATA = measure.data()
PEERS = {
    "claude-code-transcripts": ("json", "{session}", "-o", "{out}"),
    "claude-code-log": ("{session}", "-o", "{out}/session.html", "--no-cache"),
}
"""Other tools on PyPI that export sessions as HTML, with their arguments."""
EXPORTS = {
    "HTML": ((), "≤ 0.4 ×, ≤ 150 MB"),
    "HTML, --full": (("--full",), "≤ 0.7 ×"),
    "Markdown": ((), "≤ 0.4 ×"),
    "Markdown, --full": (("--full",), "≤ 0.7 ×"),
}
"""The documents that reread writes, with their options and goals."""
APPENDS = 20
ROUNDS = 3
SLOW = 15
"""A program that takes more CPU seconds than this runs only once."""


def html(plan: Plan) -> Iterator[Row]:
    """Export a session as HTML with each program in turn."""
    session = DATA.session(50)
    with tempfile.TemporaryDirectory(dir=DATA.root) as scratch:
        program = [sys.executable, "-m", "reread", "export", str(session)]
        commands = {
            name: [*program, "-o", f"{scratch}/{number}.{'md' if 'Markdown' in name else 'html'}", *options]
            for number, (name, (options, _)) in enumerate(EXPORTS.items())
        }
        for name, arguments in PEERS.items():
            out = Path(scratch) / name
            out.mkdir()
            commands[name] = [installed(name), *(a.format(session=session, out=out) for a in arguments)]
        runs = best_runs(commands)
    peer = runs["claude-code-transcripts"]
    for name, run in runs.items():
        ratio = f"{run.cpu / peer.cpu:.2f} × claude-code-transcripts" if name in EXPORTS else ""
        goal = EXPORTS[name][1] if name in EXPORTS else ""
        yield Row(f"50 MB → {name}", f"{run.cpu:.1f} s CPU, {run.peak / 1e6:.0f} MB", ratio=ratio, goal=goal)


def best_runs(commands: dict[str, list[str]]) -> dict[str, measure.Run]:
    """The run of each command with the least CPU time."""
    best: dict[str, measure.Run] = {}
    for number in range(ROUNDS):
        for name, command in commands.items():
            if number == 0 or best[name].cpu < SLOW:
                run = measure.run(command, watch=True)
                best[name] = min(best.get(name, run), run, key=lambda run: run.cpu)
    return best


def installed(name: str) -> str:
    """The path of a program from PyPI, installed into an environment of its own the first time."""
    home = DATA.root / "environments" / name
    scripts = home / Path(sysconfig.get_path("scripts")).name
    if not (scripts / name).exists():
        venv.create(home, with_pip=True)
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run([str(scripts / "python"), "-m", "pip", "install", *quiet, name], check=True)
    return str(scripts / name)


def first_page(plan: Plan) -> Iterator[Row]:
    """The time from the first request for a session to its overview, first items and outline."""
    size = DATA.large(quick=plan.quick).stat().st_size / 1e6
    with serving(DATA.large(quick=plan.quick)) as site:
        for words, goal in (("the first time", "≤ 4 s"), ("again", "≤ 1 s")):
            began, cpu = time.perf_counter(), site.cpu()
            site.get("")
            site.get("/items?count=50")
            site.get("/outline?count=200")
            seconds, cpu = time.perf_counter() - began, site.cpu() - cpu
            yield Row(f"first page of {size:.0f} MB, {words}", f"{seconds:.2f} s, {cpu:.2f} s CPU", goal=goal)


def appended(plan: Plan) -> Iterator[Row]:
    """The time from appending a line to the event that announces it."""
    size = DATA.large(quick=plan.quick).stat().st_size / 1e6
    with tempfile.TemporaryDirectory(dir=DATA.root) as scratch:
        path = Path(shutil.copy(DATA.large(quick=plan.quick), Path(scratch) / "large.jsonl"))
        with serving(path) as site, site.events() as next_event:
            while next_event()[0] != "open":
                pass
            delays = [delay(path, number, next_event) for number in range(APPENDS)]
    slow = statistics.quantiles(delays, n=20)[-1]
    measured = f"p50 {statistics.median(delays):.0f} ms, p95 {slow:.0f} ms"
    yield Row(f"append to `update` event, {size:.0f} MB session", measured, goal="p95 ≤ 100 ms")


def delay(path: Path, number: int, next_event: Callable[[], tuple[str, Any]]) -> float:
    """Append a line and return the milliseconds until its event."""
    time.sleep(0.2)
    uuid = f"00000000-0000-4000-a000-{number:012d}"
    line = {"type": "user", "uuid": uuid, "message": {"role": "user", "content": f"appended {number}"}}
    began = time.perf_counter()
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")
    while next_event()[0] != "update":
        pass
    return (time.perf_counter() - began) * 1000


class Site:
    """A running server with one session."""

    def __init__(self, port: int, key: str, process: int) -> None:
        self.port = port
        self.address = f"/api/sessions/{key}"
        self.process = process

    def get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", self.address + path)
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        return json.loads(answer.read())

    def cpu(self) -> float:
        """The CPU seconds that the server has used (Linux only)."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def events(self) -> Iterator[Callable[[], tuple[str, Any]]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"{self.address}/events")
        answer = connection.getresponse()

        def next_event() -> tuple[str, Any]:
            name = ""
            while line := answer.readline():
                if line.startswith(b"event: "):
                    name = line[7:].strip().decode()
                elif line.startswith(b"data: "):
                    return name, json.loads(line[6:])
            raise EOFError

        yield next_event
        connection.close()


@contextmanager
def serving(path: Path) -> Iterator[Site]:
    command = [sys.executable, "-m", "reread", "serve", str(path), "--no-token", "--no-open", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        assert server.stdout is not None
        found = re.search(r":(\d+)/#/s/(\S+)", server.stdout.readline())
        assert found
        try:
            yield Site(int(found[1]), found[2], server.pid)
        finally:
            server.terminate()


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {"html": html, "page": first_page, "append": appended}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB instead of 1 GB")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
