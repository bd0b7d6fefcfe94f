"""How the benchmarks measure (CPU time in rounds, quantiles, private memory), and where their data is."""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gen


class Row(NamedTuple):
    """One line of the report; `floor` says what `ratio` is against."""

    work: str
    measured: str
    floor: str = ""
    ratio: str = ""
    goal: str = ""


@dataclass(frozen=True)
class Data:
    """Generated sessions, made once and kept in a folder."""

    root: Path

    def session(self, mb: int) -> Path:
        return self.made(f"sessions/{mb}.jsonl", lambda path: gen.make_session(path, mb=mb))

    def large(self, *, quick: bool) -> Path:
        """The largest session that a run reads."""
        return self.session(100 if quick else 1000)

    def tree(self, files: int) -> Path:
        """A configuration folder with half a megabyte a file."""
        return self.made(f"tree-{files}", lambda path: gen.make_tree(path, files=files, mb=files * 0.512))

    def many(self, files: int) -> Path:
        return self.made(f"many-{files}", lambda path: gen.make_many(path, files=files))

    def folders(self, files: int) -> Path:
        return self.made(f"folders-{files}", lambda path: gen.make_folders(path, files=files))

    def turns(self, turns: int) -> Path:
        return self.made(f"turns/{turns}.jsonl", lambda path: gen.make_turns(path, turns=turns))

    def made(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return a file or folder of the data, made first if it is not there."""
        path = self.root / name
        if not path.exists():
            print(f"making {path}", file=sys.stderr)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Renamed when whole, so that an interrupted run leaves nothing that looks finished.
            with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
                make(Path(scratch) / path.name)
                (Path(scratch) / path.name).rename(path)
        return path


class Plan(argparse.Namespace):
    """What one run measures."""

    quick: bool
    only: list[str]

    @property
    def files(self) -> int:
        """The number of files in the tree."""
        return 200 if self.quick else 2000


def size_of(folder: Path, pattern: str = "*") -> int:
    """The bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def data() -> Data:
    """The data folder; the process's home becomes an empty folder in it, so that no real session is read."""
    root = Path(os.environ.get("REREAD_BENCH_DATA") or Path(tempfile.gettempdir()) / "reread-bench").resolve()
    home = root / "home"
    home.mkdir(parents=True, exist_ok=True)
    for name in (
        "HOME",
        "USERPROFILE",
        "CLAUDE_CONFIG_DIR",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "REREAD_HOME",
    ):
        os.environ[name] = str(home)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    return Data(root)


def rounds(works: Mapping[str, Callable[[], object]], count: int) -> dict[str, list[tuple[float, float]]]:
    """CPU and wall seconds of each work, the works taking turns so that noise falls on all of them."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(count):
        for name, work in works.items():
            gc.collect()
            cpu, wall = time.process_time(), time.perf_counter()
            work()
            times[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return times


def best_cpu(times: Iterable[tuple[float, float]]) -> float:
    return min(cpu for cpu, _ in times)


class Run(NamedTuple):
    """What a command took, its own children included: seconds, and bytes at the most."""

    cpu: float
    wall: float
    peak: int


def run(command: Sequence[str], *, watch: bool = False, accepted: Sequence[int] = (0,)) -> Run:
    """Run a command to its end; watched, its memory is looked at every few milliseconds (Linux)."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while watch and not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        peak = max(peak, sum(map(_proportional, family(process.pid))))
        time.sleep(0.003)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in accepted:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Run(used.ru_utime + used.ru_stime, time.perf_counter() - start, peak)


def family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                yield from family(int(child))


def _proportional(pid: int) -> int:
    """Bytes of a process, its share of what it shares."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return 0


def nanoseconds(work: Callable[[int], object], arguments: Iterable[int]) -> list[int]:
    """The wall time of each call, first calls included."""
    clock = time.perf_counter_ns
    times: list[int] = []
    for argument in arguments:
        start = clock()
        work(argument)
        times.append(clock() - start)
    return times


def quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def private_memory() -> dict[str, int]:
    """Bytes that only this process holds (Linux): `dirty` its own, `clean` file pages nobody else maps."""
    fields = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return {kind.lower(): int(fields[f"Private_{kind}"].split()[0]) * 1024 for kind in ("Dirty", "Clean")}


def report(rows: Iterable[Row]) -> None:
    """Print rows as they come, as a Markdown table."""
    print("| work | measured | floor | ratio | goal |", "|---|---|---|---|---|", sep="\n", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def report_chosen(
    rows: Mapping[str, Callable[[Any], Iterable[Row]]], parser: argparse.ArgumentParser, plan: argparse.Namespace
) -> None:
    """Print the rows that the command line names, or all."""
    parser.add_argument("only", nargs="*", metavar="ROW", help=f"of {', '.join(rows)}; all of them if none is named")
    parser.parse_args(namespace=plan)
    if unknown := set(plan.only) - set(rows):
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    report(row for name in plan.only or rows for row in rows[name](plan))
