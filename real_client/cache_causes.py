"""Force each cause of a cache break in the real client: `python real_client/cache_causes.py [VERSION] [--to DIR]`.

Each session is one cause: it is taken up again later, with other options, by another program (which only a line tells
that the client does not note), after a compaction, from an earlier answer, or starts an agent. Its clock, and that of
the stub's prompt cache, is set ahead with libfaketime, so that nothing waits for an hour. What the API would report
decides what was lost; reread must name the cause that was forced, and no other. `--to` keeps the sessions, without the
client's own prose.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import reread

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "real"))

from box import clock_library, in_box, install, reason_not_to
from cost_sample import PROJECT, READ, SYSTEM, run
from scenarios import AGENT, text, turn, use
from take import cut_line

ID = "cac4eb4e-0000-4000-8000-{:012d}"
ASK, MORE, LAST = "When is the highest water in March and April?", "And in May?", "Put the months into one list."
AGAIN, FORK, TASK = "And in June?", "Let someone look at July.", "Look at July."
COMPACT = "/compact Keep the heights. [[SCN:summary]]"
ANSWERS: dict[str, list[Any]] = {
    ASK: [turn(use(READ, month=3), use(READ, month=4)), turn(text("7.17 m and 7.18 m."))],
    MORE: [turn(use(READ, month=5)), turn(text("7.17 m."))],
    AGAIN: [turn(use(READ, month=6)), turn(text("7.16 m."))],
    LAST: [turn(text("March 7.17 m, April 7.18 m."))],
    FORK: [turn(use(AGENT, description="Look", prompt=TASK, subagent_type="fork")), turn(text("They look."))],
    TASK: [turn(use(READ, month=7)), turn(text("7.15 m."))],
    "summary": [turn(text("March has 7.17 m, April 7.18 m. " + "The tables give a height for each hour. " * 250))],
}
HOUR = {"ENABLE_PROMPT_CACHING_1H": "1"}
FORKS = {"own": ["--tools", "Agent"], "environment": {"CLAUDE_CODE_FORK_SUBAGENT": "1"}}


class Forced(NamedTuple):
    """A session: its prompts and how the client is started for each, and the causes of the breaks, in order."""

    steps: list[tuple[str, dict[str, Any]]]
    causes: list[str]
    is_cut: bool = False
    """True if the client's own prose is left out of what is kept, so that its digests are not right any more."""


SESSIONS = {
    "warm": Forced([(ASK, {}), (MORE, {"clock": 240}), (LAST, {"clock": 480})], []),
    "idle_over_5m": Forced([(ASK, {}), (LAST, {"clock": 400})], ["idle_over_5m"]),
    "idle_over_1h": Forced(
        [
            (ASK, {"environment": HOUR}),
            (MORE, {"environment": HOUR, "clock": 1800}),
            (LAST, {"environment": HOUR, "clock": 6000}),
        ],
        ["idle_over_1h"],
    ),
    "model_changed": Forced([(ASK, {}), (LAST, {"model": "claude-opus-5-5"})], ["model_changed"]),
    "tools_changed": Forced([(ASK, {}), (LAST, {"servers": ["tides", "berths"]})], ["tools_changed"]),
    "system_changed": Forced([(ASK, {}), (LAST, {"append": "Be brief."})], ["system_changed"]),
    "compaction": Forced([(ASK, {}), (MORE, {}), (COMPACT, {}), (LAST, {})], ["compaction"], is_cut=True),
    "resume": Forced([(ASK, {}), (LAST, {"environment": {"CLAUDE_CODE_ENTRYPOINT": "sdk-ts"}})], ["resume"]),
    "rewind": Forced(
        [
            (ASK, {}),
            (MORE, {"clock": 240}),
            (AGAIN, {"clock": 480}),
            (LAST, {"clock": 600, "words": ["--resume-session-at", "7.17 m and 7.18 m."]}),
        ],
        ["rewind"],
    ),
    "agent_start": Forced([(ASK, FORKS), (FORK, FORKS)], ["agent_start"], is_cut=True),
}


def play(client: Path, scratch: Path) -> dict[str, Path]:
    """Play the sessions in the sandbox, and return the file of each; without libfaketime, those that need no clock."""
    (scratch / "proj").mkdir(parents=True, exist_ok=True)
    has_clock = clock_library() is not None
    ids = {
        name: ID.format(number)
        for number, (name, forced) in enumerate(SESSIONS.items(), 1)
        if has_clock or not any("clock" in options for _, options in forced.steps)
    }
    if not has_clock:
        print("No libfaketime: sessions that need another time are left out; install the package faketime.")
    runs = [
        run(number, prompt, options, ids[name], f"{SYSTEM} ({name})")  # a prompt of its own has a cache of its own
        for name in ids
        for number, (prompt, options) in enumerate(SESSIONS[name].steps)
    ]
    for one, done in zip(runs, in_box(client, scratch, runs, scripts=ANSWERS), strict=True):
        if done["code"] != 0:
            print(f"{one['words'][1]}: exit code {done['code']} {done['out'][-300:]} {done['err'][-300:]}")
    projects = scratch / "home" / ".claude" / "projects"
    return {name: path for name, id in ids.items() for path in projects.glob(f"*/{id}.jsonl")}


def wrong_causes(files: dict[str, Path]) -> Iterator[str]:
    """Yield the sessions whose cache breaks have other causes than those that were forced."""
    for name, path in files.items():
        found = [item.cause for item in reread.open(path).cache_breaks]
        if found != SESSIONS[name].causes:
            yield f"cache breaks of {name}: {found}, were {SESSIONS[name].causes}"


def keep(files: dict[str, Path], project: Path, folder: Path) -> None:
    """Copy sessions into a folder, with another name for the project, and some without the client's own prose."""
    for name in files:
        shutil.rmtree(folder / name, ignore_errors=True)
    for name, path in files.items():
        for source in (path, *sorted(path.with_suffix("").rglob("*.json*"))):
            inside = source.relative_to(path.parent)
            target = folder / name / "projects" / PROJECT.replace("/", "-") / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            data = source.read_bytes().replace(str(project).encode(), PROJECT.encode())
            data = data.replace(str(project.parent / "home").encode(), b"/home/sam")
            data = data.replace(str(project).replace("/", "-").encode(), PROJECT.replace("/", "-").encode())
            lines = data.split(b"\n")
            target.write_bytes(b"\n".join(map(cut_line, lines) if SESSIONS[name].is_cut else lines))


def main() -> int:
    """Force the causes, print what reread makes of each, and return 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="2.1.325")
    parser.add_argument("--to", type=Path, metavar="DIR", help="keep the sessions in this folder")
    options = parser.parse_args()
    if reason := reason_not_to():
        print(reason)
        return 2
    scratch = Path(tempfile.mkdtemp(prefix="reread-causes-"))
    files = play(install(options.version, Path(tempfile.gettempdir()) / f"reread-claude-{options.version}"), scratch)
    for name, path in files.items():
        session = reread.open(path)
        proven = [request.verified for request in session.requests]
        print(f"{name}: {sum(proven)} of {len(proven)} requests proven")
        for found in session.cache_breaks:
            print(f"  turn {found.turn}: {found.cause} by {found.evidence}: {found.detail}, {found.tokens} tokens")
    if options.to is not None:
        keep(files, scratch / "proj", options.to)
    wrong = list(wrong_causes(files))
    print("".join(f"{line}\n" for line in wrong) or f"All of {len(files)} as forced, in {scratch}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
