"""Measure keeping: speed, size and unchanged runs beside restic and borg on the same tree, and reading in place."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
from measure import Plan, Row, size_of

DATA = measure.data()
KEPT = DATA.root / "kept"
OURS = [sys.executable, "-m", "reread", "keep", "--quiet", "--to", str(KEPT)]
SECRET = {"RESTIC_PASSWORD": "bench", "BORG_PASSPHRASE": "bench", "BORG_BASE_DIR": str(DATA.root / "borg-base")}
REAL = os.environ.get("REREAD_REAL_CLIENT")


def peers(tree: Path) -> dict[str, tuple[Path, list[str], list[str]]]:
    """The other programs that are installed: their repository, how it is made, and how a tree is saved in it."""
    restic, borg = DATA.root / "restic", DATA.root / "borg"
    known = {
        "restic": (
            restic,
            ["restic", "-q", "-r", str(restic), "init"],
            ["restic", "-q", "-r", str(restic), "backup", str(tree)],
        ),
        "borg": (
            borg,
            ["borg", "init", "-e", "none", str(borg)],
            ["borg", "create", "-C", "zstd,3", f"{borg}::{{utcnow}}-{{pid}}", str(tree)],
        ),
    }
    return {name: known[name] for name in known if shutil.which(name)}


def sync(plan: Plan) -> Iterator[Row]:
    """Keep a tree, and keep it again; the others do the same."""
    tree = DATA.tree(plan.files)
    raw = size_of(tree)
    os.environ |= {"CLAUDE_CONFIG_DIR": str(tree), **SECRET}
    shutil.rmtree(KEPT, ignore_errors=True)
    first, again = measure.run(OURS), min(measure.run(OURS).cpu for _ in range(3))
    figures: dict[str, tuple[float, float, int]] = {}
    for name, (folder, make, save) in peers(tree).items():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(make, check=True, capture_output=True)
        cost = measure.run(save).cpu
        figures[name] = cost, min(measure.run(save).cpu for _ in range(2)), size_of(folder)

    def beside(which: int, form: str) -> str:
        return ", ".join(f"{name} {form.format(values[which])}" for name, values in figures.items())

    speed = raw / first.cpu / 1e6
    yield Row(f"keep {raw / 1e6:.0f} MB in {plan.files:,} files", f"{first.cpu:.2f} s CPU", beside(0, "{:.2f} s"))
    yield Row("speed on one core", f"{speed:.0f} MB/s", goal="≥ 200 MB/s")
    yield Row("keep it again, unchanged", f"{again:.2f} s CPU", beside(1, "{:.2f} s"), goal="≤ 0.2 s for 2,000 files")
    packed = size_of(KEPT)
    sizes = ", ".join(f"{name} {values[2] / raw:.1%}" for name, values in figures.items())
    yield Row("size", f"{packed / 1e6:.1f} MB", sizes, f"{packed / raw:.1%}", "≤ 14 %")


def real(plan: Plan) -> Iterator[Row]:
    """Sessions that the real client wrote: as they are, most of them small, and joined to the usual size."""
    if REAL is None:
        return
    found = sorted(Path(REAL).glob("data/*/*/projects/**/*.jsonl"))
    raw, packed = _kept_size(found, DATA.root / "real-small")
    yield Row(
        f"{len(found):,} real transcripts of {raw / len(found) / 1e3:.0f} kB",
        f"{packed / 1e6:.1f} MB",
        "",
        f"{packed / raw:.1%}",
    )
    joined, pool = DATA.root / "real-joined", random.Random(1)
    if not joined.exists():
        for number in range(75 if plan.quick else 755):
            content = b""
            while len(content) < 660_000:
                content += pool.choice(found).read_bytes()
            path = joined / f"projects/-p/{number:08}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    shutil.rmtree(KEPT, ignore_errors=True)
    cost = measure.run([*OURS, str(joined)]).cpu
    raw, packed = size_of(joined), size_of(KEPT)
    yield Row(
        f"joined to {raw / 1e6:.0f} MB in files of 0.66 MB",
        f"{packed / 1e6:.1f} MB",
        "",
        f"{packed / raw:.1%}",
        "≤ 14 %",
    )
    yield Row("speed on one core", f"{raw / cost / 1e6:.0f} MB/s", goal="≥ 200 MB/s")


def _kept_size(found: list[Path], folder: Path) -> tuple[int, int]:
    """Keep copies of some files; return their size, and the size of what is kept."""
    for number, path in enumerate(found):
        target = folder / f"projects/-p/{number:08}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    shutil.rmtree(KEPT, ignore_errors=True)
    measure.run([*OURS, str(folder)])
    return size_of(folder), size_of(KEPT, "*.zst")


def body(plan: Plan) -> Iterator[Row]:
    """Read bodies of a kept session, anywhere in it."""
    path = DATA.large(quick=plan.quick)
    shutil.rmtree(KEPT, ignore_errors=True)
    cost = measure.run([*OURS, str(path)])
    import reread

    size = path.stat().st_size
    session = reread.open(next(KEPT.rglob("*.jsonl.zst")))
    count = len(session.records)
    chosen = random.Random(1).sample(range(count), min(count, 2000))
    times = [_cpu(session, index) for index in chosen]
    p50, p95 = (measure.quantile(times, share) / 1e6 for share in (0.5, 0.95))
    yield Row(
        f"keep a session of {size / 1e6:.0f} MB", f"{cost.cpu:.2f} s CPU", "", f"{size / cost.cpu / 1e6:.0f} MB/s"
    )
    yield Row("a body from it, kept", f"p50 {p50:.2f} ms, p95 {p95:.2f} ms CPU", goal="p95 ≤ 5 ms")
    with path.open("ab") as file:
        file.write(b'{"type":"user"}\n')
    try:
        yield Row("one line was appended to it", f"{measure.run([*OURS, str(path)]).cpu:.2f} s CPU")
    finally:
        os.truncate(path, size)


def _cpu(session: Any, index: int) -> int:
    """Nanoseconds of CPU that a body takes."""
    start = time.process_time_ns()
    _ = session.records[index].value
    return time.process_time_ns() - start


ROWS = {"sync": sync, "real": real, "body": body}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    measure.report_chosen(ROWS, parser, Plan())
