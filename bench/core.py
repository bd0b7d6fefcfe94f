"""The core's speed and size as ratios, each against a floor measured in the same run."""

import argparse
import json
import os
import queue
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import attrgetter
from pathlib import Path

import measure
import orjson
from measure import Row

DATA = measure.data()
import reread  # noqa: E402  (after the home folder is set)

HEADER = attrgetter("type", "line", "offset")
CHUNK = 1 << 18
EDGE = 1 << 14
"""What the listing's floor reads of a file at each end."""
FLOOR = "`orjson.loads` of each line"
LINE = {
    "type": "user",
    "isSidechain": False,
    "userType": "external",
    "cwd": "/home/dev/proj",
    "version": "2.1.9",
}


class Plan(measure.Plan):
    """And how often."""

    rounds: int
    samples: int
    idle: float

    @property
    def session(self) -> Path:
        return DATA.large(quick=self.quick)


def load_lines(path: Path) -> None:
    """The floor: read with a large buffer, cut at newlines, decode everything, keep nothing."""
    loads = orjson.loads
    with path.open("rb", buffering=CHUNK) as file:
        for line in file:
            loads(line)


def decode(path: Path) -> None:
    decoder = reread.Decoder()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            deque(map(HEADER, decoder.feed(chunk)), maxlen=0)
    decoder.flush()


def fold(path: Path) -> None:
    session = reread.open(path)
    touch(len(session.turns), len(session.calls), len(session.branches), len(session.ledger))


def touch(*values: object) -> None:
    """Take values, so that what is decoded when asked has been asked for."""


def headers(plan: Plan) -> Iterator[Row]:
    yield against_orjson("headers and positions", decode, plan, goal=0.6)


def conversation(plan: Plan) -> Iterator[Row]:
    yield against_orjson("whole fold", fold, plan, goal=1.2)


def against_orjson(name: str, work: Callable[[Path], None], plan: Plan, *, goal: float) -> Row:
    path = plan.session
    times = measure.rounds({"floor": lambda: load_lines(path), "work": lambda: work(path)}, plan.rounds)
    floor, ours = measure.best_cpu(times["floor"]), measure.best_cpu(times["work"])
    pairs = zip(times["work"], times["floor"], strict=True)
    median = statistics.median(work[0] / floor[0] for work, floor in pairs)
    ratio = f"{ours / floor:.2f} × (median of pairs {median:.2f})"
    return Row(name, f"{ours:.2f} s CPU", f"{FLOOR}: {floor:.2f} s", ratio, f"≤ {goal} ×")


def memory(plan: Plan) -> Iterator[Row]:
    size = plan.session.stat().st_size
    held = json.loads(subprocess.check_output(child("hold", plan.session), text=True))
    private = held["dirty"] + held["clean"]
    measured = f"{private / 1e6:.0f} MB private ({held['dirty'] / 1e6:.0f} dirty), peak {held['peak'] / 1e6:.0f} MB"
    goal = "≤ 320 MB" if not plan.quick else "≤ 320 MB at 1 GB"
    yield Row("memory of the open session", measured, f"file: {size / 1e6:.0f} MB", f"{private / size:.2f} ×", goal)


def bodies(plan: Plan) -> Iterator[Row]:
    chance = random.Random(1)
    ours = body_times(plan.session, chance, plan.samples)
    floor = load_times(plan.session, chance, plan.samples)
    ratio = f"{measure.quantile(ours, 0.95) / measure.quantile(floor, 0.95):.2f} ×"
    named = f"`pread` and `orjson.loads`: {spread(floor, 1e3, 'µs')}"
    yield Row("body by position", spread(ours, 1e3, "µs"), named, ratio, "p95 ≤ 50 µs")


def body_times(path: Path, chance: random.Random, samples: int) -> list[int]:
    session = reread.open(path)
    touch(len(session.turns))
    records = session.records
    return measure.nanoseconds(lambda index: records[index].value, picks(chance, len(records), samples))


def load_times(path: Path, chance: random.Random, samples: int) -> list[int]:
    with path.open("rb", buffering=CHUNK) as file:
        starts = array("Q", accumulate(map(len, file), initial=0))

        def load(index: int) -> object:
            return orjson.loads(os.pread(file.fileno(), starts[index + 1] - starts[index], starts[index]))

        return measure.nanoseconds(load, picks(chance, len(starts) - 1, samples))


def picks(chance: random.Random, count: int, samples: int) -> list[int]:
    return [chance.randrange(count) for _ in range(samples)]


def listing(plan: Plan) -> Iterator[Row]:
    root = DATA.many(1000 if plan.quick else 10_000)
    os.environ["CLAUDE_CONFIG_DIR"] = str(root)
    works = {"floor": lambda: read_edges(root), "work": lambda: touch(len(list(reread.sessions())))}
    found = len(list(reread.sessions()))
    times = measure.rounds(works, max(3, plan.rounds // 2))
    cpu, wall = (statistics.median(column) for column in zip(*times["work"], strict=True))
    floor_cpu, floor_wall = (statistics.median(column) for column in zip(*times["floor"], strict=True))
    files = sum(1 for _ in root.rglob("*.jsonl"))
    yield Row(
        f"`sessions()`: {found} in {files} files",
        f"{wall:.2f} s wall, {cpu:.2f} s CPU",
        f"reading both ends of each file: {floor_wall:.2f} s, {floor_cpu:.2f} s",
        f"{wall / floor_wall:.1f} ×",
        "about 1 s for 10,000",
    )
    runs = [measure.run([sys.executable, "-m", "reread", "ls"]) for _ in range(3)]
    yield Row("`reread ls` of them, again", f"{min(run.cpu for run in runs):.2f} s CPU", goal="≤ 0.6 s for 10,000")


def read_edges(root: Path) -> None:
    """The floor of a listing: every file's name, size and times, and its first and last bytes."""
    for folder, _, names in os.walk(root):
        for name in names:
            file = os.open(f"{folder}/{name}", os.O_RDONLY)
            size = os.fstat(file).st_size
            os.pread(file, EDGE, 0)
            os.pread(file, EDGE, max(EDGE, size - EDGE))
            os.close(file)


def following(plan: Plan) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(dir=DATA.root) as scratch:
        path = Path(shutil.copy(DATA.session(50), scratch))
        with Follower(path) as follower:
            delays = [follower.delay(n) for n in range(plan.samples // 100)]
            yield Row("append to visible, 50 MB session", spread(delays, 1e6, "ms"), goal="p95 ≤ 100 ms")
            share = follower.idle_share(plan.idle)
            yield Row(f"CPU of an idle follow, {plan.idle:.0f} s", f"{share:.2%} of a core", goal="< 1 %")


class Follower:
    """A process that follows a session while this one writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.full_text: queue.Queue[tuple[str, int]] = queue.Queue()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(child("follow", path), text=True, stdin=pipe, stdout=pipe)

    def __enter__(self) -> "Follower":
        threading.Thread(target=self._listen, daemon=True).start()
        self.hear("cpu", after=self._ask_cpu)
        self.settle(2)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def delay(self, number: int) -> int:
        """Nanoseconds from just before a line is appended until the follower has a change."""
        uuid = f"00000000-0000-4000-a000-{number:012d}"
        message = {"role": "user", "content": f"appended {number}"}
        line = orjson.dumps({**LINE, "sessionId": self.path.stem, "uuid": uuid, "message": message}) + b"\n"
        start = time.monotonic_ns()
        with self.path.open("ab", buffering=0) as file:
            file.write(line)
        seen = self.hear("change")
        self.settle(0.05 + random.random() * 0.1)
        return seen - start

    def idle_share(self, seconds: float) -> float:
        """The part of a core that following takes while nothing happens."""
        self.settle(1)
        before = self.hear("cpu", after=self._ask_cpu)
        time.sleep(seconds)
        return (self.hear("cpu", after=self._ask_cpu) - before) / 1e9 / seconds

    def settle(self, seconds: float) -> None:
        """Wait until nothing has been heard for so long."""
        while True:
            try:
                self.full_text.get(timeout=seconds)
            except queue.Empty:
                return

    def hear(self, word: str, after: Callable[[], None] = lambda: None) -> int:
        after()
        while True:
            said, number = self.full_text.get(timeout=60)
            if said == word:
                return number

    def _ask_cpu(self) -> None:
        assert self.process.stdin
        print("cpu", file=self.process.stdin, flush=True)

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            word, number = line.split()
            self.full_text.put((word, int(number)))


def child(verb: str, path: Path) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("child.py")), verb, str(path)]


def spread(values: list[int], unit: float, name: str) -> str:
    middle, high = (measure.quantile(values, share) / unit for share in (0.5, 0.95))
    return f"p50 {middle:.1f} {name}, p95 {high:.1f} {name}"


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "headers": headers,
    "fold": conversation,
    "memory": memory,
    "bodies": bodies,
    "ls": listing,
    "follow": following,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB instead of 1 GB, 1,000 files instead of 10,000")
    parser.add_argument("--rounds", type=int, default=5, help="how often each ratio is measured")
    parser.add_argument("--samples", type=int, default=10_000, help="how many bodies; a hundredth as many appends")
    parser.add_argument("--idle", type=float, default=20, help="seconds of idle following")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
