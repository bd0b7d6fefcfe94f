"""Measure a review: 1,000 commits over 500 MB of sessions, the first time and again; needs PYTHONPATH=tests."""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import measure
from committing import Rig, work
from measure import Row

DATA = measure.data()
PROGRAM = """
import os, sys, time
from reread.attribution.reviewing import find_review
from reread.reader.redacted_review import ReviewRedaction
before = os.times()
sessions = []
found = find_review(sys.argv[1], repository=sys.argv[2], root=sys.argv[3], sessions=sessions)
redaction = ReviewRedaction(found, sessions)
redaction.replace_undecided()
redaction.redacted_review()
after = os.times()
print(sum(after[:4]) - sum(before[:4]), len(found.commits), found.lines)
"""


class Plan(measure.Plan):
    """The plan of a run."""

    rounds: int

    @property
    def commits(self) -> int:
        return 100 if self.quick else 1000

    @property
    def megabytes(self) -> int:
        return 50 if self.quick else 500


def reviewed(plan: Plan) -> Iterator[Row]:
    """Review all commits with nothing in the catalogue, then again; processes of git are counted, too."""
    folder = DATA.root / f"review-{plan.commits}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        make(folder, plan)
    rig_first = (folder / "done").read_text()
    cache = DATA.root / "review-cache"
    shutil.rmtree(cache, ignore_errors=True)
    words = [sys.executable, "-c", PROGRAM, f"{rig_first}..HEAD", folder / "shop", folder / "claude"]
    env = os.environ | {"REREAD_CACHE": str(cache), "REREAD_HOME": str(cache)}
    seconds: list[float] = []
    for _ in range(1 + plan.rounds):
        done = subprocess.run(words, env=env, check=True, capture_output=True, text=True)
        seconds.append(float(done.stdout.split()[0]))
    _, commits, lines = done.stdout.split()
    work_text = f"`review` of {int(commits):,} commits, {int(lines):,} lines, over {plan.megabytes} MB of sessions"
    yield Row(work_text, f"{seconds[0]:.1f} s CPU; again {min(seconds[1:]):.2f} s", goal="≤ 20 s; again ≤ 2 s")


def make(folder: Path, plan: Plan) -> None:
    """Make the commits, and sessions that also read and ran much else."""
    rig = Rig(folder, 1)
    work(rig, plan.commits)
    text = "".join(sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[n].read_text() for n in range(40))
    share = plan.megabytes * 1_000_000 // len(rig.records)
    for session in range(len(rig.records)):
        written = 0
        while written < share:
            piece = text[rig.chance.randrange(len(text) - 20_000) :][:12_000]
            rig.call(session, "Bash", {"command": "make all"}, {"stdout": piece, "stderr": ""})
            written += len(piece) + 800
    rig.finish()
    (folder / "done").write_text(rig.first)


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {"review": reviewed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 commits over 50 MB")
    parser.add_argument("--rounds", type=int, default=2, help="how many times to measure it again")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
