"""Ask questions as people remember things, and see where the session comes that they mean.

The sessions are the samples, without their titles, among generated ones and, with REREAD_REAL_CLIENT, real ones. Each
question names the sample that it is about. A session's own title is one; others have wrong words among the remembered
ones, typos, other words for the same thing, code with its punctuation, or another script.
"""

import argparse
import atexit
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import measure
import search
from measure import Row

from reread.cli._options import SAMPLES

DATA = measure.data()
TITLES = ("ai-title", "custom-title", "summary")
KINDS = ("title", "remembered", "typo", "code")
QUESTIONS: dict[str, list[tuple[str, str]]] = {
    "title": [
        ("monthly.ipynb draws eleven bars. Where did December go?", "6a0f8d43"),
        ("Skip missing readings in the rain report", "f27b5c90"),
        ("Fix the flaky ceiling test", "8c1f0b52"),
        ("Add a dead-letter queue", "d2a94e17"),
        ("Why is the bundle 1.2 MB?", "4e7d31aa"),
        ("Make the time axis readable", "b90c6f28"),
        ("A panel for retries", "c3e81f6d"),
        ("Missing December in the monthly chart", "6a0f8d43"),
        ("Randomness in backoff breaks the limit test", "8c1f0b52"),
        ("Bundle size caused by syntax highlighting languages", "4e7d31aa"),
        ("Labels of a chart overlap over several days", "b90c6f28"),
        ("Failed webhook events listed and put back", "d2a94e17"),
    ],
    "remembered": [
        ("where did the december bar go", "6a0f8d43"),
        ("notebook filter december drier mm", "6a0f8d43"),
        ("gauge dash reading crash report skipped", "f27b5c90"),
        ("frost downpour float alerts", "f27b5c90"),
        ("the jitter after the clamp, herd of retries", "8c1f0b52"),
        ("flaky CI test waits longer backoff seeds", "8c1f0b52"),
        ("what did we do about events that die unseen", "d2a94e17"),
        ("billing endpoint 503 dead letters migration", "d2a94e17"),
        ("prefix match underscore wildcard reviewer", "d2a94e17"),
        ("highlight.js all grammars bundle json viewer", "4e7d31aa"),
        ("which import made index.js so large", "4e7d31aa"),
        ("ladder of steps for axis labels utc midnight", "b90c6f28"),
        ("getHours local time buckets", "b90c6f28"),
        ("staging keys panel longest wait minutes seconds", "c3e81f6d"),
        ("three agents looked at harbor and panels in parallel", "c3e81f6d"),
    ],
    "typo": [
        ("jiter", "8c1f0b52"),
        ("decmeber bars", "6a0f8d43"),
        ("hihglight grammars", "4e7d31aa"),
        ("dead lettre queue endpoints", "d2a94e17"),
        ("unreadble axis", "b90c6f28"),
        ("downpuor frost", "f27b5c90"),
        ("backof ceilling", "8c1f0b52"),
        ("migraton dead letters", "d2a94e17"),
        ("retires panel stagging", "c3e81f6d"),
        ("guage reading skiped", "f27b5c90"),
    ],
    "code": [
        ('"harbor dead retry --all"', "d2a94e17"),
        ('"self.base * self.factor ** (attempt - 1)"', "8c1f0b52"),
        ('import hljs from "highlight.js"', "4e7d31aa"),
        ("axis.ts getHours()", "b90c6f28"),
        ("test_never_waits_longer_than_the_ceiling", "8c1f0b52"),
        ('"2025-12-01"', "6a0f8d43"),
        ("almanac/alerts.py:5", "f27b5c90"),
        ("src/panels/retries.ts", "c3e81f6d"),
    ],
}
Ask = Callable[[str], list[str]]


def corpus(plan: measure.Plan) -> Path:
    """Make the sessions: samples without titles, generated ones, and real ones if they are there."""
    root = DATA.root / "questions"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(DATA.tree(60 if plan.quick else 600) / "projects", root / "projects")
    for path in SAMPLES.glob("projects/*/**/*.jsonl"):
        new = root / path.relative_to(SAMPLES)
        new.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True)
        new.write_bytes(b"".join(line for line in lines if _type(line) not in TITLES))
    real = Path(os.environ.get("REREAD_REAL_CLIENT", "/nonexistent"))
    for number, path in enumerate(sorted(real.glob("data/*/*/projects/*/*.jsonl"))):
        new = root / "projects" / f"-real-{number}" / path.name
        new.parent.mkdir(parents=True)
        new.write_bytes(path.read_bytes())
    return root


def _type(line: bytes) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    return value.get("type", "") if isinstance(value, dict) else ""


def ours(root: Path, *, strict: bool) -> Ask:
    """Ask reread; if strict, every word has to be in one text, as it had to until 0.2."""
    os.environ |= {"CLAUDE_CONFIG_DIR": str(root), "REREAD_CACHE": str(DATA.root / "questions-cache")}
    import reread

    def ask(question: str) -> list[str]:
        hits = reread.search(question, root=root, limit=100, strict=strict)
        return list(dict.fromkeys(hit.session for hit in hits))

    return ask


def agentsview(root: Path) -> Ask:
    """Ask agentsview's full text search."""
    data = DATA.root / "questions-agentsview"
    shutil.rmtree(data, ignore_errors=True)
    search.set_up_peer(root, data)
    program = str(search.agentsview())
    subprocess.run([program, "sync"], check=True, capture_output=True)
    del os.environ["AGENTSVIEW_NO_DAEMON"]  # its search asks a server
    subprocess.run([program, "daemon", "start"], check=True, capture_output=True)
    atexit.register(subprocess.run, [program, "daemon", "stop"], check=False, capture_output=True)

    def ask(question: str) -> list[str]:
        options = [
            "--fts",
            "--json",
            "--limit",
            "100",
            "--include-children",
            "--include-one-shot",
            "--include-automated",
        ]
        done = subprocess.run([program, "session", "search", question, *options], capture_output=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return []
        return list(dict.fromkeys(_ids(found)))

    return ask


def _ids(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("session_id"), str):
            yield value["session_id"].rpartition(":")[2]
        for inner in value.values():
            yield from _ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner)


def score(ask: Ask, kind: str) -> tuple[float, float, float]:
    """Return the mean reciprocal rank, the share within the first ten, and the share of empty answers."""
    ranks: list[int] = []
    empty = 0
    for question, session in QUESTIONS[kind]:
        found = ask(question)
        empty += not found
        ranks.append(next((n for n, id in enumerate(found, 1) if id.startswith(session)), 0))
    count = len(ranks)
    return sum(1 / rank for rank in ranks if rank) / count, sum(0 < rank <= 10 for rank in ranks) / count, empty / count


GOALS = {"title": "hit@10 ≥ 0.75", "remembered": "MRR ≥ 0.95", "typo": "hit@10 ≥ 0.95", "code": ""}


def questions(plan: measure.Plan) -> Iterator[Row]:
    """Ask all questions of reread, of reread with every word required, and of agentsview."""
    root = corpus(plan)
    peers = {"reread": ours(root, strict=False), "every word": ours(root, strict=True), "agentsview": agentsview(root)}
    for kind in KINDS:
        (own, *others) = ((name, score(ask, kind)) for name, ask in peers.items())
        beside = "; ".join(f"{name}: {_text(found)}" for name, found in others)
        yield Row(f"{len(QUESTIONS[kind])} questions: {kind}", _text(own[1]), beside, goal=GOALS[kind])


def _text(found: tuple[float, float, float]) -> str:
    rank, ten, empty = found
    return f"MRR {rank:.2f}, hit@10 {ten:.2f}, empty {empty:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 generated sessions instead of 600")
    measure.report_chosen({"questions": questions}, parser, measure.Plan())


if __name__ == "__main__":
    main()
