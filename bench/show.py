"""The speed of the text views: a session as Markdown, and the first screen of a large session."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import measure
from measure import Row

DATA = measure.data()
from reread.reader.export_formats import export  # noqa: E402  (after the home folder is set)

SCREEN = 40
"""Lines of output that fill the first screen."""


def parse_lines(path: Path) -> None:
    """The baseline: `json.loads` of each line."""
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            json.loads(line)


def markdown_row(mb: int) -> Row:
    path = DATA.session(mb)
    works = {"floor": lambda: parse_lines(path), "own": lambda: export(path, "markdown")}
    floor, own = (measure.best_cpu(times) for times in measure.rounds(works, 3).values())
    measured = f"{own:.2f} s CPU for {mb} MB"
    return Row("session → Markdown", measured, f"`json.loads` {floor:.2f} s", f"{own / floor:.2f} ×", "≤ 6 ×")


def screen_row(mb: int, *options: str) -> Row:
    """The CPU time of `reread show` until the first screen is printed."""
    path = DATA.session(mb)
    before = os.times()
    command = [sys.executable, "-m", "reread", "show", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for _, _ in zip(process.stdout, range(SCREEN), strict=False):
            pass
        process.stdout.close()
        process.wait()
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    command_line = " ".join(["show", *options])
    return Row(f"first screen, `{command_line}`", f"{seconds:.2f} s CPU for {mb} MB", goal="≤ 4 s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB instead of 1 GB for the screens")
    large = 100 if parser.parse_args().quick else 1000
    measure.report([markdown_row(50), screen_row(large), screen_row(large, "--turns", "-2")])


if __name__ == "__main__":
    main()
