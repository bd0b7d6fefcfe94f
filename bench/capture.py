"""Measure what a capture costs: CPU, the delay of a line, ten at once, memory; compared with `cat`.

python bench/capture.py [--seconds 10] [--gigabytes 1]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

RATE = 50_000
LINE = 1_000
WARM = 2.0
"""Seconds for the programs to start, in which no delay is measured."""

FEEDER = """
import json, os, sys, time
rate, seconds = int(sys.argv[1]), float(sys.argv[2])
pad = "x" * (1000 - 75)
step = max(1, rate // 1000)
begun = time.monotonic()
for n in range(int(seconds * 1000)):
    late = begun + n / 1000 - time.monotonic()
    if late > 0:
        time.sleep(late)
    now = time.monotonic_ns()
    line = '{"type":"assistant","sent":%d,"pad":"%s"}\\n' % (now, pad)
    data = (line * step).encode()
    while data:
        data = data[os.write(1, data):]
"""


def measure(command: list[str], rate: int, seconds: float) -> dict[str, float]:
    """Send lines through a program at a rate, and measure its CPU, memory and the delay of lines."""
    begun = time.monotonic()
    feeder = subprocess.Popen([sys.executable, "-c", FEEDER, str(rate), str(seconds)], stdout=subprocess.PIPE)
    program = subprocess.Popen(command, stdin=feeder.stdout, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert feeder.stdout is not None and program.stdout is not None
    feeder.stdout.close()
    delays: list[float] = []
    lines = 0
    pending = b""
    while chunk := os.read(program.stdout.fileno(), 1 << 16):
        now = time.monotonic_ns()
        lines += chunk.count(b"\n")
        whole, _, rest = (pending + chunk).rpartition(b"\n")
        if whole and time.monotonic() - begun > WARM:
            last = whole[whole.rfind(b'{"type"') :]
            delays.append((now - int(last[27 : last.index(b",", 27)])) / 1e6)
        pending = rest
    took = time.monotonic() - begun
    program.stdout.close()
    _, _, used = os.wait4(program.pid, 0)
    program.returncode = 0
    feeder.wait()
    delays.sort()
    return {
        "lines/s": lines / took,
        "cpu": (used.ru_utime + used.ru_stime) / took,
        "p50 ms": statistics.median(delays),
        "p99 ms": delays[int(len(delays) * 0.99)],
        "MB": used.ru_maxrss / 1024,
    }


def capture(root: str, name: str) -> list[str]:
    return [sys.executable, "-m", "reread", "capture", "-q", "--root", root, "--conversation", name, "-"]


def show(what: str, figures: dict[str, float]) -> None:
    print(f"{what:34}", "  ".join(f"{name} {value:10,.2f}" for name, value in figures.items()), flush=True)


def ten_at_once(what: str, command: Callable[[int], list[str]], seconds: float) -> None:
    """Measure ten programs at once, each at a tenth of the rate."""
    found: list[dict[str, float]] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(measure(command(n), RATE // 10, seconds))) for n in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = {name: max(figures[name] for figures in found) for name in ("p50 ms", "p99 ms", "MB")}
    show(what, {"cpu": sum(figures["cpu"] for figures in found), **total})


def whole_stream(root: str, gigabytes: float) -> None:
    """Capture a long stream as fast as possible."""
    line = json.dumps({"type": "assistant", "pad": "x" * (LINE - 40)}).encode() + b"\n"
    block = line * 1000
    begun = time.monotonic()
    program = subprocess.Popen(capture(root, "long"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert program.stdin is not None
    for _ in range(int(gigabytes * 1e9 / len(block))):
        program.stdin.write(block)
    program.stdin.close()
    _, _, used = os.wait4(program.pid, 0)
    program.returncode = 0
    took = time.monotonic() - begun
    size = gigabytes * 1e3
    show(f"{gigabytes:g} GB at once", {"MB/s": size / took, "cpu": (used.ru_utime + used.ru_stime) / took})
    print(f"{'':34} peak memory {used.ru_maxrss / 1024:,.0f} MB")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--gigabytes", type=float, default=1)
    given = options.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory(prefix="reread-bench-") as root:
        show("cat, 50,000 lines/s of 1 KB", measure(["cat"], RATE, given.seconds))
        show("capture, the same", measure(capture(root, "one"), RATE, given.seconds))
        ten_at_once("ten cats, 5,000 lines/s each", lambda n: ["cat"], given.seconds)
        ten_at_once("ten captures into one store", lambda n: capture(root, f"ten-{n}"), given.seconds)
        files = sorted(Path(root).glob("conversations/*/*/ten-*.jsonl"))
        recorded = [sum(1 for _ in path.open("rb")) - 2 for path in files]
        print(f"{'':34} lines recorded by each: {min(recorded):,} to {max(recorded):,}")
        whole_stream(root, given.gigabytes)


if __name__ == "__main__":
    main()
