"""Measure `reread usage` against ccusage on the same tree in the same run, and compare their totals."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure
from measure import Row

DATA = measure.data()
PEER = "20.0.20"
"""The newest version with a native build for every platform."""
CACHE = DATA.root / "usage-cache"
OURS = [sys.executable, "-m", "reread", "usage", "--json", "--tz", "UTC"]
CLASSES = {
    "inputTokens": ("input_tokens",),
    "outputTokens": ("output_tokens",),
    "cacheCreationTokens": ("cache_write_5m_tokens", "cache_write_1h_tokens"),
    "cacheReadTokens": ("cache_read_tokens",),
}
"""The figures of ccusage, and those of reread whose sum they are."""
SMALL = 10
"""How many times smaller the other tree is with which growth is measured."""


class Plan(measure.Plan):
    """The plan of a run, with the number of rounds."""

    rounds: int


def ccusage() -> list[str]:
    """Return the command of ccusage, installing it first if needed."""
    folder = DATA.root / f"ccusage-{PEER}"
    if not folder.exists():
        print(f"installing ccusage {PEER}", file=sys.stderr)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), f"ccusage@{PEER}"]
        subprocess.run(command, check=True)
    return [str(folder / "node_modules/.bin/ccusage"), "daily", "--json", "--offline", "--timezone", "UTC"]


def use(tree: Path, *, cached: bool) -> None:
    """Set up a tree to be counted, with a full cache or an empty one."""
    os.environ |= {"CLAUDE_CONFIG_DIR": str(tree), "REREAD_CACHE": str(CACHE)}
    shutil.rmtree(CACHE, ignore_errors=True)
    if cached:
        measure.run(OURS)


def first(plan: Plan) -> Iterator[Row]:
    yield against_peer("1 GB tree, nothing cached", plan, lambda: use(tree(plan), cached=False), goal=0.4)


def bare(plan: Plan) -> Iterator[Row]:
    """Compare with a minimal loop in Python, and that loop with ccusage."""
    name, loop = "a bare loop in Python", [sys.executable, str(Path(__file__).with_name("bare.py")), str(tree(plan))]
    use(tree(plan), cached=False)
    yield compared(name, plan, lambda: None, loop, f"ccusage {PEER}", ccusage())
    yield compared("the same, nothing cached", plan, lambda: use(tree(plan), cached=False), OURS, name, loop)


def again(plan: Plan) -> Iterator[Row]:
    yield against_peer("the same, unchanged", plan, lambda: use(tree(plan), cached=True), goal=0.1)


def appended(plan: Plan) -> Iterator[Row]:
    """Append one line to the largest file."""
    largest = max(tree(plan).rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    size, times = largest.stat().st_size, (largest.stat().st_atime_ns, largest.stat().st_mtime_ns)
    line = next(line for line in largest.open("rb") if b'"usage"' in line)

    def prepare() -> None:
        use(tree(plan), cached=True)
        with largest.open("ab") as file:
            file.write(line)

    try:
        yield against_peer(f"one line appended to a file of {size / 1e6:.0f} MB", plan, prepare)
    finally:
        os.truncate(largest, size)
        os.utime(largest, ns=times)


def against_peer(name: str, plan: Plan, prepare: Callable[[], None], *, goal: float | None = None) -> Row:
    return compared(name, plan, prepare, OURS, f"ccusage {PEER}", ccusage(), f"≤ {goal} ×" if goal else "")


def compared(
    name: str, plan: Plan, prepare: Callable[[], None], ours: list[str], peer: str, theirs: list[str], goal: str = ""
) -> Row:
    """Run two commands in turns, and return the least CPU and wall time of each."""
    own, other = [], []
    for _ in range(plan.rounds):
        prepare()
        other.append(measure.run(theirs))
        own.append(measure.run(ours))
    mine, floor = (f"{min(run.cpu for run in runs):.2f} s" for runs in (own, other))
    my_wall, floor_wall = (f"{min(run.wall for run in runs):.2f} s wall" for runs in (own, other))
    best = min(run.cpu for run in own) / min(run.cpu for run in other)
    median = statistics.median(run.cpu / against.cpu for run, against in zip(own, other, strict=True))
    ratio = f"{best:.3f} × (median of pairs {median:.3f})"
    return Row(name, f"{mine} CPU ({my_wall})", f"{peer}: {floor} ({floor_wall})", ratio, goal)


def memory(plan: Plan) -> Iterator[Row]:
    for name, cached in (("nothing cached", False), ("unchanged", True)):
        use(tree(plan), cached=cached)
        floor, ours = (measure.run(command, watch=True).peak / 1e6 for command in (ccusage(), OURS))
        named = f"ccusage {PEER}: {floor:.0f} MB"
        yield Row(f"memory, {name}", f"{ours:.0f} MB", named, f"{ours / floor:.2f} ×", "less")


def growth(plan: Plan) -> Iterator[Row]:
    """Measure a tree ten times as large, without the start of the program."""
    empty = DATA.root / "empty.jsonl"
    empty.touch()
    start = min(measure.run([*OURS, str(empty)]).cpu for _ in range(plan.rounds))
    seconds: list[float] = []
    sizes: list[float] = []
    for files in (plan.files // SMALL, plan.files):
        runs: list[float] = []
        for _ in range(plan.rounds):
            use(DATA.tree(files), cached=False)
            runs.append(measure.run(OURS).cpu)
        seconds.append(min(runs) - start)
        sizes.append(sum(path.stat().st_size for path in DATA.tree(files).rglob("*.jsonl")) / 1e6)
    measured = f"{seconds[0]:.2f} s for {sizes[0]:.0f} MB, {seconds[1]:.2f} s for {sizes[1]:.0f} MB"
    yield Row(
        "growth", measured, ratio=f"{seconds[1] / seconds[0] / (sizes[1] / sizes[0]):.2f} × linear", goal="linear"
    )


def tokens(plan: Plan) -> Iterator[Row]:
    """Compare the totals; only reread counts agents of which just the result of their call is left."""
    use(tree(plan), cached=False)
    theirs, report = answer(ccusage())["totals"], answer([*OURS, "--by", "model"])
    second_hand = [row for row in report["rows"] if row["model"] is None]
    agents = sum(row["responses"] for row in second_hand)
    for name, ours in CLASSES.items():
        ours_total, theirs_total = sum(report["totals"][part] for part in ours), theirs[name]
        known = sum(row[part] for row in second_hand for part in ours)
        difference = f"{ours_total - theirs_total:+,}; of {agents} agents without a file: {known:,}"
        ratio = difference if ours_total != theirs_total else "equal"
        yield Row(", ".join(ours), f"{ours_total:,}", f"ccusage {PEER}: {theirs_total:,}", ratio)
    cost, other = report["totals"]["cost_usd"], theirs["totalCost"]
    yield Row("cost_usd", f"{cost:.6f}", f"ccusage {PEER}: {other:.6f}", f"{cost - other:+.6f}")


def answer(command: list[str]) -> Any:
    return json.loads(subprocess.check_output(command))


def tree(plan: Plan) -> Path:
    return DATA.tree(plan.files)


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "first": first,
    "bare": bare,
    "again": again,
    "appended": appended,
    "memory": memory,
    "growth": growth,
    "tokens": tokens,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB in 200 files instead of 1 GB in 2,000")
    parser.add_argument("--rounds", type=int, default=5, help="how many times to measure each ratio")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
