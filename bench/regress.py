"""Measure what each verb takes today beside the last two releases, in one run; fail if something got slower.

Slower is what took more than a tenth longer than the last release in every round, unless "Slower, and why" in
CHANGELOG.md names the work.
"""

import argparse
import io
import os
import re
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
RELEASES = ("db5bb465", "b8018e0")
"""The commits of 0.3.0 and 0.2.0; tags come first."""
TODAY = ROOT / "src"
SLOWER = 1.1
"""More than this, compared with the release, is slower: less can be chance."""
EXPLAINED = re.compile(r"^\*\*Slower, and why\*\*\n(.*?)(?=^\*\*|^## |\Z)", re.MULTILINE | re.DOTALL)


class Work(NamedTuple):
    """A command of which the CPU time is measured."""

    name: str
    words: tuple[str, ...]
    home: Path
    before: tuple[str, ...] | None = None
    """What runs once before; None if everything that was derived is dropped before each round."""


class Plan(measure.Plan):
    """The plan of a run."""

    rounds: int
    against: list[str]


def last_releases() -> list[str]:
    """Return the two newest tags, or the commits of the last releases that have none; only those that are here."""
    told = subprocess.run(["git", "tag", "--sort=-creatordate"], cwd=ROOT, capture_output=True, text=True)
    return [ref for ref in [*told.stdout.split(), *RELEASES][:2] if is_here(ref)]


def is_here(ref: str) -> bool:
    return not subprocess.run(["git", "cat-file", "-e", f"{ref}^{{commit}}"], cwd=ROOT, capture_output=True).returncode


def source_of(ref: str) -> Path:
    """Return the folder with the code of a commit, taken from the repository once."""
    folder = DATA.root / f"release-{ref}"
    if not folder.exists():
        packed = subprocess.run(["git", "archive", ref, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder.with_suffix(".new"), filter="data")
        folder.with_suffix(".new").rename(folder)
    return folder / "src"


def works(plan: Plan) -> Iterator[Work]:
    """Yield what is measured: a tree of all sizes, many projects, one long session, one of short turns."""
    session = str(DATA.session(5 if plan.quick else 50))
    turns = str(DATA.turns(400))
    tree, many = DATA.tree(20 if plan.quick else 200), DATA.folders(250 if plan.quick else 1000)
    small = str(min(tree.rglob("*.jsonl"), key=lambda path: path.stat().st_size))
    search = ("search", "return value")
    yield Work("`--help`", ("--help",), tree, ())
    for name, home in (("", tree), (" of many projects", many)):
        yield Work(f"`ls`{name}, the first time", ("ls",), home)
        yield Work(f"`ls`{name}", ("ls",), home, ("ls",))
    yield Work("`show` of a small session", ("show", small), tree, ("show", small))
    yield Work("`show --turns -1` of the session, again", ("show", session, "--turns", "-1"), tree, ("show", session))
    for name, path in (("", session), (" of short turns", turns)):
        for words in (("html",), ("html", "--full"), ("markdown",), ("markdown", "--full")):
            yield Work(
                f"`export -f {' '.join(words)}`{name}", ("export", path, "-o", os.devnull, "-f", *words), tree, ()
            )
    for name, words in (("usage", ("usage",)), ("stats", ("stats",)), ("search", search)):
        yield Work(f"`{name}`, the first time", words, tree)
        yield Work(f"`{name}`, again", words, tree, words)
        yield Work(f"`{name} --json`, again", (*words, "--json"), tree, words)
    yield Work("`search` for a quote", ("search", '"for line in"'), tree, search)
    yield Work("`search` in many projects, the first time", search, many)
    yield Work("`check`", ("check", session), tree, ())
    yield Work("`keep`", ("keep", "--json"), tree)


def run(words: Sequence[str]) -> float:
    """Return the CPU seconds of the program; findings, or nothing found, are no failure."""
    return measure.run([sys.executable, "-m", "reread", *words], accepted=(0, 1)).cpu


def rounds(work: Work, sources: dict[str, Path], count: int) -> Iterator[dict[str, float]]:
    """Yield the seconds that each source takes in a round, in turns."""
    os.environ["CLAUDE_CONFIG_DIR"] = str(work.home)
    for number in range(count):
        taken: dict[str, float] = {}
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
            taken[name] = run(work.words)
        yield taken


def compared(plan: Plan, releases: list[str], slower: list[str]) -> Iterator[Row]:
    """Measure each work with all, and note what is slower than the last release in every round."""
    sources = {"today": TODAY, **{ref: source_of(ref) for ref in releases}}
    for work in works(plan):
        if plan.only and not any(word in work.words for word in plan.only):
            continue
        taken = list(rounds(work, sources, plan.rounds))
        best = {name: min(one[name] for one in taken) for name in sources}
        if all(one["today"] > one[releases[0]] * SLOWER for one in taken):
            slower.append(work.name)
        floor = ", ".join(f"{ref}: {best[ref] * 1000:.0f} ms" for ref in releases)
        ratios = " · ".join(f"{best['today'] / best[ref]:.2f}" for ref in releases)
        yield Row(work.name, f"{best['today'] * 1000:.0f} ms CPU", floor, f"{ratios} ×", f"≤ {SLOWER} ×")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 MB, 20 files, 250 projects; not 50 MB, 200, 1,000")
    parser.add_argument("--rounds", type=int, default=3, help="how often each command runs; the best counts")
    parser.add_argument("--against", action="append", help="a commit or tag (default: the last two releases)")
    parser.add_argument("only", nargs="*", metavar="VERB", help="only commands with these words")
    plan = parser.parse_args(namespace=Plan())
    releases = plan.against or last_releases()
    if not releases:
        print("No earlier release is in this checkout: there is nothing to compare with.")
        return 0
    slower: list[str] = []
    measure.report(compared(plan, releases, slower))
    told = EXPLAINED.search((ROOT / "CHANGELOG.md").read_text())
    unexplained = [name for name in slower if told is None or name not in told[1]]
    print(f"\nSlower than {releases[0]}: {', '.join(slower) or 'nothing'}.", file=sys.stderr)
    if unexplained:
        print(f"CHANGELOG.md does not say why: {', '.join(unexplained)}.", file=sys.stderr)
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
