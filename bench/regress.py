"""Measure what each verb takes today beside the last release, in one run, and say what got slower."""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import measure
from measure import Row

DATA = measure.data()
ROOT = Path(__file__).parent.parent
RELEASE = "b8018e0"
"""The commit of 0.2.0; a tag that is newer comes first."""
TODAY = ROOT / "src"
SLOWER = 1.1
"""More than this, compared with the release, is slower: less can be chance."""


class Work(NamedTuple):
    """A command of which the CPU time is measured."""

    name: str
    words: tuple[str, ...]
    before: tuple[str, ...] | None = None
    """What runs once before; None if everything that was derived is dropped before each round."""


class Plan(measure.Plan):
    """The plan of a run."""

    rounds: int
    against: str | None


def last_release() -> str:
    """Return the newest tag, or the commit of the last release that has none."""
    found = subprocess.run(["git", "describe", "--tags", "--abbrev=0"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or RELEASE


def source_of(ref: str) -> Path:
    """Return the folder with the code of a commit, taken from the repository once."""
    folder = DATA.root / f"release-{ref}"
    if not folder.exists():
        packed = subprocess.run(["git", "archive", ref, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder.with_suffix(".new"), filter="data")
        folder.with_suffix(".new").rename(folder)
    return folder / "src"


def works(plan: Plan) -> list[Work]:
    """Return what is measured, on a tree and on one session."""
    session = str(DATA.session(5 if plan.quick else 50))
    small = str(min(DATA.tree(files(plan)).rglob("*.jsonl"), key=lambda path: path.stat().st_size))
    search = ("search", "return value")
    return [
        Work("`--help`", ("--help",), ()),
        Work("`ls`, the first time", ("ls",)),
        Work("`ls`", ("ls",), ("ls",)),
        Work("`show` of a small session", ("show", small), ("show", small)),
        Work("`show --turns -1` of the session, again", ("show", session, "--turns", "-1"), ("show", session)),
        Work("`export -f html`", ("export", session, "-f", "html", "-o", os.devnull), ()),
        Work("`export -f html --full`", ("export", session, "-f", "html", "--full", "-o", os.devnull), ()),
        Work("`export -f markdown`", ("export", session, "-f", "markdown", "-o", os.devnull), ()),
        Work("`export -f markdown --full`", ("export", session, "-f", "markdown", "--full", "-o", os.devnull), ()),
        Work("`usage`, nothing cached", ("usage", "--json")),
        Work("`usage`, again", ("usage", "--json"), ("usage", "--json")),
        Work("`search`, with its index to build", search),
        Work("`search`", search, search),
        Work("`search` for a quote", ("search", '"for line in"'), search),
        Work("`stats`, nothing counted", ("stats", "--json")),
        Work("`check`", ("check", session), ()),
        Work("`keep`", ("keep", "--json")),
    ]


def files(plan: Plan) -> int:
    return 20 if plan.quick else 200


def run(words: Sequence[str]) -> float:
    """Return the CPU seconds of the program; findings, or nothing found, are no failure."""
    return measure.run([sys.executable, "-m", "reread", *words], accepted=(0, 1)).cpu


def compared(plan: Plan) -> Iterator[Row]:
    """Measure each work with both, in turns, and the best of several rounds."""
    ref = plan.against or last_release()
    sources = {"release": source_of(ref), "today": TODAY}
    os.environ["CLAUDE_CONFIG_DIR"] = str(DATA.tree(files(plan)))
    slower: list[str] = []
    for work in works(plan):
        if plan.only and not any(word in work.words for word in plan.only):
            continue
        best = dict.fromkeys(sources, float("inf"))
        for number in range(plan.rounds):
            for name, source in sources.items():
                own = DATA.root / f"regress-{name}"
                os.environ |= {
                    "PYTHONPATH": str(source),
                    "REREAD_CACHE": str(own / "cache"),
                    "REREAD_HOME": str(own / "home"),
                }
                if work.before is None or number == 0:
                    shutil.rmtree(own, ignore_errors=True)
                    own.mkdir()
                    if work.before:
                        run(work.before)
                best[name] = min(best[name], run(work.words))
        ratio = best["today"] / best["release"]
        if ratio > SLOWER:
            slower.append(f"{work.name} ({ratio:.2f} ×)")
        measured, floor = (f"{best[name] * 1000:.0f} ms CPU" for name in ("today", "release"))
        yield Row(work.name, measured, f"{ref}: {floor}", f"{ratio:.2f} ×", f"≤ {SLOWER} ×")
    print(f"\nSlower than {ref}: {', '.join(slower) or 'nothing'}.", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 MB and 20 files instead of 50 MB and 200")
    parser.add_argument("--rounds", type=int, default=5, help="how often each command runs; the best counts")
    parser.add_argument("--against", help="a commit or tag (default: the last release)")
    parser.add_argument("only", nargs="*", metavar="VERB", help="only commands with these words")
    plan = parser.parse_args(namespace=Plan())
    measure.report(compared(plan))


if __name__ == "__main__":
    main()
