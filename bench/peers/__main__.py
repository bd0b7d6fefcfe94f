"""What reread and its peers take for the same work, and what each loses: `python bench/peers`."""

import argparse
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

import dirt
import leaks
import measure
import needles
import truth
from manners import alive, loaded, write_hostile
from programs import PROGRAMS, Case, Failed, Program, Run, run

import reread

DATA = measure.data()
ROOT = DATA.root / "peers"
REPOSITORY = Path(__file__).parents[2]
SAMPLES = REPOSITORY / "src" / "reread" / "samples"
DAMAGED = "8c1f0b52-6d3e-4a77-9b0e-52f1c4a9d310"
"""The sample session that is damaged."""
ENOUGH = 60
"""Seconds of one task after which it is not repeated."""


class Plan(argparse.Namespace):
    """What one run measures."""

    quick: bool
    rounds: int
    only: list[str]
    work: list[str]


class Work(NamedTuple):
    """Something several programs can do: its name, what it is done to, and what the table calls it."""

    name: str
    data: Callable[[Plan], Path]
    title: str


def one_session(plan: Plan) -> Path:
    """A configuration folder that holds one large session."""
    mb = 10 if plan.quick else 50
    tree = ROOT / f"one-{mb}"
    if not tree.exists():
        made = DATA.session(mb)
        with made.open("rb") as file:
            id = next(row["sessionId"] for row in map(json.loads, file) if "sessionId" in row)
        path = tree / "projects" / "-home-dev-proj" / f"{id}.jsonl"
        path.parent.mkdir(parents=True)
        shutil.copyfile(made, path)
    return tree


def many_sessions(plan: Plan) -> Path:
    return DATA.many(1000 if plan.quick else 10_000)


def large_tree(plan: Plan) -> Path:
    return DATA.tree(200 if plan.quick else 2000)


def small_tree(plan: Plan) -> Path:
    """A tree that some of the programs write into: a copy."""
    files = 200 if plan.quick else 1000
    copy = ROOT / f"many-{files}"
    if not copy.exists():
        shutil.copytree(DATA.many(files), copy)
    return copy


WORKS = (
    Work("list", many_sessions, "list the sessions of a tree"),
    Work("html", one_session, "one large session → HTML"),
    Work("markdown", one_session, "one large session → Markdown"),
    Work("messages", one_session, "all messages of one large session, in Python"),
    Work("usage", large_tree, "usage of a large tree, the first time"),
    Work("usage_again", large_tree, "usage of a large tree, again"),
    Work("search", large_tree, "search in a large tree, the first time, with the index"),
    Work("search_again", large_tree, "search in a large tree, again"),
    Work("keep", large_tree, "keep a large tree, the first time"),
    Work("keep_again", large_tree, "keep a large tree, again"),
    Work("secrets", small_tree, "look for secrets in a tree, the first time"),
    Work("browse", small_tree, "a tree → something to browse, the first time"),
    Work("browse_again", small_tree, "a tree → something to browse, again"),
)


def main() -> None:
    tables = {
        "speed": speed,
        "content": content,
        "search": search,
        "secrets": secrets,
        "tokens": tokens,
        "damage": damage,
        "manners": manners,
    }
    parser = argparse.ArgumentParser(prog="bench/peers", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="TABLE", help=f"of {', '.join(tables)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, one round")
    parser.add_argument("--rounds", type=int, default=3, help="how often each task runs; the best counts")
    works = [work.name for work in WORKS]
    parser.add_argument("--work", action="append", default=[], choices=works, help="only this work's speed; repeatable")
    plan = parser.parse_args(namespace=Plan())
    if unknown := set(plan.only) - set(tables):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    if plan.quick:
        plan.rounds = 1
    programs = [make(ROOT) for make in PROGRAMS]
    for program in programs:
        program.install()
    print(", ".join(f"{program.name} {program.version}" for program in programs), flush=True)
    for name in plan.only or tables:
        print(f"\n### {name.capitalize()}\n")
        tables[name](plan, programs)


def speed(plan: Plan, programs: Sequence[Program]) -> None:
    """What each work takes each program that can do it."""
    head("work", "program", "CPU", "wall", "memory", "output")
    for work in WORKS:
        if plan.work and work.name not in plan.work:
            continue
        tree = work.data(plan)
        print(f"{work.title}: {describe(tree)}", file=sys.stderr)
        for program, best in timed(plan, work, tree, programs):
            row(f"{work.title} ({describe(tree)})", program.name, *cells(best))


def timed(plan: Plan, work: Work, tree: Path, programs: Sequence[Program]) -> Iterator[tuple[Program, Run | str]]:
    """The best round of each program, the programs taking turns."""
    able = [program for program in programs if hasattr(program, work.name)]
    runs: dict[Program, list[Run]] = {program: [] for program in able}
    said: dict[Program, str] = {}
    for _ in range(plan.rounds):
        for program in able:
            if program not in said and not any(past.wall > ENOUGH for past in runs[program]):
                try:
                    runs[program] += once(work, tree, program)
                except Failed as error:
                    said[program] = f"failed: {error}"
    for program in able:
        past = runs[program]
        yield program, said.get(program) or best_of(past)


def once(work: Work, tree: Path, program: Program) -> list[Run]:
    first = work.name.removesuffix("_again")
    case = case_of(tree, f"{program.name}-{first}", fresh=first == work.name)
    task = getattr(program, work.name)(case)
    return [run(case, task)]


def best_of(runs: Iterable[Run]) -> Run:
    return Run(*(min(column) for column in zip(*runs, strict=True)))


def cells(best: Run | str) -> Sequence[str]:
    if isinstance(best, str):
        return best, "", "", ""
    return f"{best.cpu:.2f} s", f"{best.wall:.2f} s", f"{best.peak / 1e6:.0f} MB", bytes_of(best.made)


def case_of(tree: Path, name: str, *, fresh: bool = True) -> Case:
    """A case with a folder for output; its session is the largest one."""
    out = ROOT / "out" / name
    if fresh:
        shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    files = list(tree.glob("projects/*/*.jsonl"))
    return Case(tree, max(files, key=lambda path: path.stat().st_size), out)


def describe(tree: Path) -> str:
    files = list(tree.rglob("*.jsonl"))
    return f"{len(files):,} files, {bytes_of(sum(file.stat().st_size for file in files))}"


def bytes_of(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"


def content(plan: Plan, programs: Sequence[Program]) -> None:
    """How much of what sessions hold stands in what each program makes of them."""
    head("data", "program", "sessions", *truth.KINDS, "all")
    for name, trees in {"samples": [SAMPLES], "a stream": [stream_tree()], "real client": real_trees(plan)}.items():
        files = [truth.main_files(tree) for tree in trees]
        items = [{id: truth.held(path) for id, path in found.items()} for found in files]
        everything = [item for held in items for of in held.values() for item in of]
        row(name, "**there is**", str(sum(map(len, files))), *counts(everything), str(len(everything)))
        for program in programs:
            listed = [attempt(program.listed, copied(tree, program)) for tree in trees]
            for form, make in program.forms.items():
                made = [texts_of(attempt(make, copied(tree, program))) for tree in trees]
                found = [item for texts, held in zip(made, items, strict=True) for item in found_in(texts, held)]
                known = sessions_cell(listed if listed[0] is not None else made, files)
                row(name, f"{program.name} {form}", known, *counts(found), str(len(found)))
            if not program.forms:
                row(name, program.name, sessions_cell(listed, files), *[""] * (len(truth.KINDS) + 1))


def texts_of(answer: dict[str, str] | str) -> dict[str, str]:
    """The texts that a program made; none where it failed, which is said aside."""
    if isinstance(answer, dict):
        return answer
    print(answer, file=sys.stderr)
    return {}


def found_in(texts: Mapping[str, str], held: Mapping[str, Sequence[truth.Item]]) -> list[truth.Item]:
    return [item for id, items in held.items() for item in items if truth.is_in(item, texts.get(id, ""))]


def sessions_cell(known: Sequence[Iterable[str]], files: Sequence[Mapping[str, Path]]) -> str:
    """How many of the sessions that there are a program knows."""
    return str(sum(len(set(there) & set(found)) for there, found in zip(files, known, strict=True)))


def counts(items: Iterable[truth.Item]) -> list[str]:
    kinds = [item.kind for item in items]
    return [str(kinds.count(kind)) for kind in truth.KINDS]


def search(plan: Plan, programs: Sequence[Program]) -> None:
    """Which of the texts planted in every place each program's search finds."""
    planted = needles.plant(tree := ROOT / "needles")
    sought = list(planted.values())
    head("program", f"found, of {len(planted)}", "missed")
    for program in programs:
        found = attempt(lambda case, program=program: program.found(case, sought), copied(tree, program))
        if isinstance(found, str):
            row(program.name, f"failed: {found}", "")
        elif found is not None:
            missed = [place for place, word in planted.items() if word not in found]
            row(program.name, str(len(planted) - len(missed)), ", ".join(missed) or "none")


def secrets(plan: Plan, programs: Sequence[Program]) -> None:
    """Which of the secrets each program reports, and which harmless texts it takes for one."""
    planted = leaks.plant(tree := ROOT / "leaks")
    head("program", f"found, of {len(leaks.SECRETS)}", "missed", f"harmless, of {len(leaks.HARMLESS)}")
    for program in programs:
        found = attempt(program.leaking, copied(tree, program))
        if isinstance(found, str):
            row(program.name, f"failed: {found}", "", "")
        elif found is not None:
            names = {planted[id] for id in found}
            missed = [name for name in leaks.SECRETS if name not in names]
            wrong = [name for name in leaks.HARMLESS if name in names]
            right = len(leaks.SECRETS) - len(missed)
            row(program.name, str(right), ", ".join(missed) or "none", ", ".join(wrong) or "none")


def tokens(plan: Plan, programs: Sequence[Program]) -> None:
    """The tokens that each program counts, against those in the files and those that the API answered."""
    able = [program for program in programs if type(program).spent is not Program.spent]
    head("data", "tokens", "the API's word", "in the files", *(program.name for program in able))
    for tree in [SAMPLES, *real_trees(plan)]:
        answered, written = truth.total(truth.answered(tree).values()), truth.total(truth.written(tree).values())
        counted = [attempt(program.spent, copied(tree, program)) for program in able]
        name = "samples" if tree == SAMPLES else f"real client {tree.name}"
        for field, said, right in zip(truth.Tokens._fields, answered, written, strict=True):
            found = [c if isinstance(c, str) else against(getattr(c, field), right) for c in counted]
            row(name, field.replace("_", " "), f"{said:,}" if said else "", f"{right:,}", *found)


def against(count: int, right: int) -> str:
    return "exact" if count == right else f"{count:,} ({(count - right) / max(right, 1):+.1%})"


def damage(plan: Plan, programs: Sequence[Program]) -> None:
    """What each program makes of a damaged file, against what it makes of the clean one."""
    session = next(SAMPLES.glob(f"projects/*/{DAMAGED}.jsonl"))
    root = ROOT / "damaged"
    shutil.rmtree(root, ignore_errors=True)
    trees = dirt.write_trees(session, root)
    readers = {f"{p.name} {form}": (p, make) for p in programs for form, make in p.forms.items()}
    counters = {f"{p.name} tokens": p for p in programs if type(p).spent is not Program.spent}
    head("damage", *readers, *counters)
    clean, _ = trees["none"]
    texts = {name: attempt(make, copied(clean, program)) for name, (program, make) in readers.items()}
    sums = {name: attempt(program.spent, copied(clean, program)) for name, program in counters.items()}
    for name, (tree, damaged) in trees.items():
        items = dirt.items(damaged)
        read = [
            lost(attempt(make, copied(tree, program)), texts[reader], items, session.stem)
            for reader, (program, make) in readers.items()
        ]
        right = {key: value if damaged.whole else truth.Tokens() for key, value in sums.items()}
        counted = [
            miscounted(attempt(program.spent, copied(tree, program)), right[key]) for key, program in counters.items()
        ]
        row(name, *read, *counted)


def lost(texts: dict[str, str] | str, clean: dict[str, str] | str, items: Sequence[truth.Item], id: str) -> str:
    if isinstance(texts, str) or isinstance(clean, str):
        return f"fails: {str(texts).split(':')[0]}"
    shown = [item for item in items if truth.is_in(item, clean.get(id, ""))]
    if items and not shown:
        return "shows nothing"
    missing = sum(1 for item in shown if not truth.is_in(item, texts.get(id, "")))
    return f"loses {missing} of {len(shown)}" if missing else "fine"


def miscounted(count: truth.Tokens | str | None, right: Any) -> str:
    if not isinstance(count, truth.Tokens):
        return f"fails: {count}"
    return "fine" if count == right else f"{count.output:,} of {right.output:,}"


def manners(plan: Plan, programs: Sequence[Program]) -> None:
    """What a hostile session does in each program's page, from where the page loads, and what is left in the folder."""
    head("program", "comes to life in its page", "its page loads from", "writes into Claude's folder")
    tree = ROOT / "hostile"
    shutil.rmtree(tree, ignore_errors=True)
    write_hostile(tree)
    for program in programs:
        pages: list[str] = []
        left: set[str] = set()
        for work in ("html", "browse", "usage", "list"):
            case = copied(tree, program)
            before = files_in(case.tree)
            task = getattr(program, work, lambda case: None)(case)
            if task:
                run(case, task)
                left |= files_in(case.tree) - before
            if task and work == "html":
                made = [task.made] if task.made.is_file() else sorted(task.made.rglob("*.html"))
                pages = [path.read_text("utf-8") for path in made]
        said = (words(alive(pages)), words(loaded(pages))) if pages else ("no page", "no page")
        row(program.name, *said, words(left))


def files_in(tree: Path) -> set[str]:
    return {path.name for path in tree.rglob("*")}


def words(found: set[str]) -> str:
    return ", ".join(sorted(found)) or "nothing"


def attempt(work: Callable[[Case], Any], case: Case) -> Any:
    """What a program answers, or its last words where it fails."""
    try:
        return work(case)
    except Failed as error:
        return str(error) or "no word"


def copied(tree: Path, program: Program) -> Case:
    """A tree of its own for a program, so that none finds what another left; what only reread reads is left out."""
    copy = ROOT / "out" / f"{program.name}-tree"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("conversations", "*.zst", "*.map"))
    return case_of(copy, program.name)


def stream_tree() -> Path:
    """What `claude -p --output-format stream-json` printed, put where a session would be."""
    kept = next(SAMPLES.glob("conversations/*/*/*.jsonl"))
    printed = b"".join(entry.raw + entry.end for entry in reread.replay(kept, speed=math.inf))
    id = next(row["session_id"] for row in truth.rows(printed))
    path = ROOT / "stream" / "projects" / "-home-sam-code-harbor" / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(printed)
    return ROOT / "stream"


def real_trees(plan: Plan) -> list[Path]:
    """What the real client wrote, a configuration folder for each version, a project for each scenario."""
    larger = os.environ.get("REREAD_REAL_CLIENT")
    source = Path(larger) / "data" if larger and not plan.quick else REPOSITORY / "tests" / "real"
    root = ROOT / ("real-all" if source.name == "data" else "real")
    if not root.exists():
        for scenario in sorted(path.parent for path in source.glob("*/*/truth.jsonl")):
            gather(scenario, root / scenario.parent.name)
    return sorted(root.iterdir())


def gather(scenario: Path, tree: Path) -> None:
    (tree / "truth").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(scenario / "truth.jsonl", tree / "truth" / f"{scenario.name}.jsonl")
    for project in scenario.glob("projects/*"):
        name = truth.squash(f"{scenario.name}{project.name if project.name != '-home-dev-proj' else ''}")
        shutil.copytree(project, tree / "projects" / f"-home-dev-{name}", copy_function=shutil.copyfile)


def head(*names: str) -> None:
    row(*names)
    row(*["---"] * len(names))


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
