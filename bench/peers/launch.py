"""Runs one program, all its children included, and tells what it took: an order on stdin, `Run` as JSON on stdout.

A process of its own and a small one, because Linux counts the peak of whoever starts a program as the program's own.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GLANCE = 0.05
"""Seconds between two looks at the memory of the whole family."""
PATIENCE = 1200
"""Seconds after which a server that does not answer is given up."""


def main() -> None:
    order = json.load(sys.stdin)
    family = Family()
    start = time.perf_counter()
    with Path(order["output"]).open("wb") as output, Path(order["errors"]).open("wb") as errors:
        process = subprocess.Popen(
            order["argv"], env=os.environ | order["env"], cwd=order["cwd"], stdout=output, stderr=errors
        )
        watcher = threading.Thread(target=family.watch, args=(process.pid,))
        watcher.start()
        if order["get"]:
            fetch(order["get"], process)
            process.send_signal(signal.SIGTERM)
    watcher.join()
    _, status, used = os.wait4(process.pid, 0)
    code = 0 if order["get"] else os.waitstatus_to_exitcode(status)
    peak = max(family.peak, used.ru_maxrss * 1024)
    wall = time.perf_counter() - start
    print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak": peak, "code": code}))


def fetch(pages: list[list[str]], process: "subprocess.Popen[bytes]") -> None:
    """Get each address into its file, as soon as the server answers."""
    from urllib.request import ProxyHandler, build_opener

    get = build_opener(ProxyHandler({})).open
    deadline = time.monotonic() + PATIENCE
    for url, path in pages:
        while True:
            try:
                Path(path).write_bytes(get(url, timeout=PATIENCE).read())
                break
            except OSError as error:
                gone = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if gone or time.monotonic() > deadline or getattr(error, "code", 0) >= 400:
                    Path(path).write_text(f"no answer: {error}")
                    break
                time.sleep(0.02)


class Family:
    """The memory of a process and all that it started, at its highest."""

    peak = 0

    def watch(self, pid: int) -> None:
        while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self.peak = max(self.peak, sum(map(proportional, members(pid))))
            time.sleep(GLANCE)


def members(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                yield from members(int(child))


def proportional(pid: int) -> int:
    """Bytes of a process, with its share of what it shares."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return 0


if __name__ == "__main__":
    main()
