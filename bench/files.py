"""Measure what happened to files: the files of a large session against its fold, and blame over many sessions."""

import argparse
import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import measure
from measure import Row

from reread.disk.sources import FileSource
from reread.history.file_histories import file_histories
from reread.reports.blame_report import blame
from reread.session.session import Session, threads_of

DATA = measure.data()
CACHE = DATA.root / "files-cache"


class Plan(measure.Plan):
    """The plan of a run, with the number of rounds."""

    rounds: int


def opened(path: Path) -> Session:
    """Read a session without what was saved of it."""
    session = Session(FileSource(path))
    threads_of(session).restart()
    threads_of(session).load_rest()
    return session


def large(plan: Plan) -> Iterator[Row]:
    path = DATA.session(20 if plan.quick else 100)
    session = opened(path)
    main, agents = session.conversation, session.agents
    works = {"fold": lambda: opened(path), "files": lambda: file_histories(main, agents, lambda _: None)}
    times = measure.rounds(works, plan.rounds)
    fold, own = (measure.best_cpu(times[name]) for name in ("fold", "files"))
    versions = [version for history in session.files.values() for version in history.versions]
    known = sum(version.whole for version in versions) / len(versions)
    work = f"`session.files`, {path.stem} MB: {len(versions):,} versions, {known:.0%} known"
    yield Row(work, f"{own:.2f} s CPU", f"the fold, {fold:.2f} s", f"{own / fold:.2f} ×", "≤ 1.5 ×")


def blamed(plan: Plan) -> Iterator[Row]:
    """Blame a file of 2,000 lines that each of 2,000 sessions changed, a tenth of them after a change by hand."""
    root = DATA.root / f"blame-{plan.files}"
    file = root / "project" / "big.py"
    if not file.exists():
        make_sessions(root, file, plan.files)
    os.environ["REREAD_CACHE"] = str(CACHE)
    shutil.rmtree(CACHE, ignore_errors=True)
    start = time.process_time()
    blame(file, root=root / "claude")
    first = time.process_time() - start
    times = measure.rounds({"blame": lambda: blame(file, root=root / "claude")}, plan.rounds)
    best = measure.best_cpu(times["blame"])
    wall = min(wall for _, wall in times["blame"])
    found = sum(line.session is not None for line in blame(file, root=root / "claude"))
    work = f"`blame`, 2,000 lines, {found:,} of them by {plan.files:,} sessions"
    yield Row(work, f"{best:.2f} s CPU, {wall:.2f} s; the first time {first:.1f} s CPU", goal="≤ 1 s")


def make_sessions(root: Path, file: Path, count: int) -> None:
    """Write sessions that change one file one after the other."""
    chance = random.Random(1)
    lines = [f"value_{n} = {chance.random()}  # line {n}" for n in range(2000)]
    folder = root / "claude" / "projects" / "-project"
    folder.mkdir(parents=True)
    file.parent.mkdir(parents=True)
    for number in range(count):
        if number % 10 == 0:
            lines[chance.randrange(2000)] = f"by_hand_{number} = 1"
        place = chance.randrange(2000)
        old, new = lines[place], f"edited_{number} = {chance.random()}"
        before = "".join(f"{line}\n" for line in lines)
        lines[place] = new
        id = f"{number:08}-0000-4000-8000-000000000000"
        stamp = f"2026-{1 + number // 672 % 12:02}-{1 + number // 24 % 28:02}T{number % 24:02}:00:00.000Z"
        common = {"sessionId": id, "timestamp": stamp, "cwd": str(file.parent), "version": "2.1.300"}
        edit = {"file_path": str(file), "old_string": old, "new_string": new}
        data = {"filePath": str(file), "oldString": old, "newString": new, "originalFile": before}
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": edit}
        done = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "The file has been updated."}
        records = [
            {"type": "user", "uuid": "a", "message": {"role": "user", "content": f"Change line {place}"}},
            {"type": "assistant", "uuid": "b", "parentUuid": "a", "message": {"role": "assistant", "content": [use]}},
            {"type": "user", "uuid": "c", "message": {"role": "user", "content": [done]}, "toolUseResult": data},
        ]
        text = "".join(json.dumps({**common, **record}) + "\n" for record in records)
        (folder / f"{id}.jsonl").write_text(text)
    file.write_text("".join(f"{line}\n" for line in lines))


ROWS: dict[str, Callable[[Plan], Iterator[Row]]] = {"session": large, "blame": blamed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 MB and 200 sessions instead of 100 MB and 2,000")
    parser.add_argument("--rounds", type=int, default=3, help="how many times to measure each work")
    measure.report_chosen(ROWS, parser, Plan())


if __name__ == "__main__":
    main()
