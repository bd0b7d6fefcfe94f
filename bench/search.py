"""Measure search over all sessions: the build of the index against agentsview's, queries, refreshes and appends."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import measure
from measure import Row, size_of

DATA = measure.data()
PEER = "0.46.1"
CACHE = DATA.root / "search-cache"
OURS = [sys.executable, "-m", "reread", "search"]
BUILD = """
from reread.disk.file_set import find_files
from reread.index.update import refresh
refresh(find_files(prompts=True), wait=9)
"""
WHOLE_PASS = """
from reread.dataset.whole_pass import make_pass
from reread.session.pass_process import PassJob
make_pass(iter([PassJob()]))
"""
PATTERNS = (r"\w+Handler\(", r"def \w+_test", r"raise \w+Error", r"import (os|sys)\b", r"TODO:? \w+")
QUERIES = (
    "self",
    "return value",
    "import os path",
    '"for line in"',
    "parse_args",
    "unittest.mock",
    "hand*",
    "tool:bash error",
    "in:thinking file",
    "socket -server",
    "class OR def",
    "where did i parse the arguments of the socket",
    "retrun vlaue",
    '"self.assertEqual("',
)


class Plan(measure.Plan):
    """The plan of a run, with the number of rounds."""

    rounds: int


def agentsview() -> Path:
    """Return agentsview's program, installing it first if needed."""
    folder = DATA.root / f"agentsview-{PEER}"
    if not folder.exists():
        print(f"installing agentsview {PEER}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", f"agentsview=={PEER}"], check=True)
    return next(folder.glob("lib/*/site-packages/agentsview/bin/agentsview"))


def set_up_peer(tree: Path, data: Path) -> None:
    """Have agentsview read a tree into a database of its own, and send nothing."""
    os.environ |= {
        "AGENTSVIEW_DATA_DIR": str(data),
        "CLAUDE_PROJECTS_DIR": str(tree / "projects"),
        "AGENTSVIEW_NO_DAEMON": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
    }


def use(plan: Plan, *, built: bool) -> Path:
    """Set up the tree to be searched, with an index or without, and return it."""
    tree = DATA.tree(plan.files)
    os.environ |= {"CLAUDE_CONFIG_DIR": str(tree), "REREAD_CACHE": str(CACHE)}
    if not built:
        shutil.rmtree(CACHE, ignore_errors=True)
    else:
        measure.run([sys.executable, "-c", BUILD])
    return tree


def build(plan: Plan) -> Iterator[Row]:
    """Build the index of a tree, and import the same tree into agentsview's database."""
    tree = use(plan, built=False)
    own, other = [], []
    for _ in range(plan.rounds):
        use(plan, built=False)
        own.append(measure.run([sys.executable, "-c", BUILD], watch=True))
        data = DATA.root / "agentsview-data"
        shutil.rmtree(data, ignore_errors=True)
        set_up_peer(tree, data)
        other.append(measure.run([str(agentsview()), "sync"]))
    ours, theirs = min(run.cpu for run in own), min(run.cpu for run in other)
    raw, index = size_of(tree, "*.jsonl"), sum(map(size_of, CACHE.glob("search-*/")))
    peer = f"agentsview {PEER}: {theirs:.1f} s, {size_of(DATA.root / 'agentsview-data') / raw:.1%}"
    yield Row(f"index of {raw / 1e6:.0f} MB", f"{ours:.1f} s CPU", peer, f"{ours / theirs:.2f} ×", "≤ 0.5 ×")
    yield Row("its size", f"{index / 1e6:.1f} MB", f"the JSONL: {raw / 1e6:.0f} MB", f"{index / raw:.1%}", "≤ 8.5 %")
    yield Row("memory while building", f"{max(run.peak for run in own) / 1e6:.0f} MB", goal="≤ 150 MB")


def query(plan: Plan) -> Iterator[Row]:
    """Ask in one process, without reading the hits, and then with them."""
    use(plan, built=True)
    from reread.disk.file_set import find_files
    from reread.index.find import find
    from reread.index.update import refresh

    files = find_files(prompts=True)
    index = refresh(files)

    def ranked(number: int) -> object:
        found = find(QUERIES[number % len(QUERIES)], files=files, limit=20, refresh=lambda _, **options: index)
        return found.total, found.with_all

    times = [value / 1e6 for value in measure.nanoseconds(ranked, range(30 * len(QUERIES)))]
    yield Row("ranked query, with what has only some words", quantiles(times), goal="p95 ≤ 15 ms")

    def whole(number: int) -> object:
        return list(find(QUERIES[number % len(QUERIES)], limit=20))

    times = [value / 1e6 for value in measure.nanoseconds(whole, range(3 * len(QUERIES)))]
    yield Row("refresh, query and 20 hits with their turns", quantiles(times))


def start(plan: Plan) -> Iterator[Row]:
    """Run the whole program, for queries that nobody asked before; the index is there."""
    raw = size_of(use(plan, built=True), "*.jsonl")
    runs = [min(measure.run([*OURS, query]).cpu * 1000 for _ in range(plan.rounds)) for query in QUERIES]
    yield Row(f"`reread search` over {raw / 1e6:.0f} MB", f"{quantiles(runs)} CPU", goal="≤ 250 ms")


def day(plan: Plan) -> Iterator[Row]:
    """Ask everything once with nothing derived, verb by verb; then derive all at once, as the reader does."""
    tree = use(plan, built=False)
    raw, program = size_of(tree, "*.jsonl"), OURS[:-1]
    verbs = (
        ["ls"],
        ["usage"],
        ["search", "socket"],
        ["stats"],
        ["blame", "--as", "sre_parse.py", __file__],
        ["sql", "select 1"],
    )
    alone = [measure.run([*program, *verb]).cpu for verb in verbs]
    said = ", ".join(f"{verb[0]} {cpu:.1f}" for verb, cpu in zip(verbs, alone, strict=True))
    yield Row(f"the first day over {raw / 1e6:.0f} MB, one verb after another", f"{sum(alone):.1f} s CPU: {said}")
    use(plan, built=False)
    build = measure.run([sys.executable, "-c", WHOLE_PASS]).cpu
    again = [measure.run([*program, *verb]).cpu for verb in verbs]
    yield Row(
        "all parts in one pass, as the reader and a first verb in a terminal do",
        f"{build:.1f} s CPU",
        goal=f"≤ {raw / 476e6 * 30:.1f} s",
    )
    yield Row("each of these verbs after it", f"at most {max(again):.2f} s CPU")


def regex(plan: Plan) -> Iterator[Row]:
    use(plan, built=True)
    from reread.index.find import find

    times = [
        value / 1e6
        for value in measure.nanoseconds(
            lambda number: list(find(PATTERNS[number % len(PATTERNS)], limit=20, regex=True)),
            range(3 * len(PATTERNS)),
        )
    ]
    yield Row("regular expression", quantiles(times), goal="p95 ≤ 1 s over 500 MB")


def append(plan: Plan) -> Iterator[Row]:
    """Append a line to a session and search for it."""
    tree = use(plan, built=True)
    from reread.index.find import find

    path = sorted(tree.rglob("*.jsonl"))[0]
    before, times = path.read_bytes(), []
    chance = random.Random(1)
    try:
        for _ in range(30):
            word = f"needle{chance.getrandbits(40):x}"
            record = (
                f'{{"type":"user","sessionId":"x","uuid":"{word}","message":{{"role":"user","content":"{word}"}}}}\n'
            )
            with path.open("ab") as file:
                file.write(record.encode())
            began = time.perf_counter()
            assert find(word).total == 1
            times.append((time.perf_counter() - began) * 1000)
    finally:
        path.write_bytes(before)
    yield Row("append → found", quantiles(times), goal="≤ 100 ms")


def unchanged(plan: Plan) -> Iterator[Row]:
    """Find out that nothing has changed."""
    use(plan, built=True)
    from reread.disk.file_set import find_files
    from reread.index.update import refresh

    times = [value / 1e6 for value in measure.nanoseconds(lambda _: refresh(find_files(prompts=True)), range(20))]
    count = len(find_files(prompts=True).states)
    yield Row(f"refresh of {count:,} unchanged files", quantiles(times), goal="≤ 100 ms")


def quantiles(times: list[float]) -> str:
    return f"p50 {measure.quantile(times, 0.5):.1f} ms, p95 {measure.quantile(times, 0.95):.1f} ms"


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "build": build,
    "query": query,
    "day": day,
    "start": start,
    "regex": regex,
    "append": append,
    "unchanged": unchanged,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB in 200 files instead of 1 GB in 2,000")
    parser.add_argument("--rounds", type=int, default=3, help="how many times to build")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
