"""Record the session of docs/cost.md with the real client: `python real_client/cost_sample.py [VERSION] [--to DIR]`.

One session, taken up again with another model, another tool server and another system prompt, and once after six
minutes. The client runs with `--bare`, a system prompt of ours and tools of ours, so that a request holds one sentence
of its own and every digest can be proven without shipping its prose. The stub's prompt cache decides the tokens.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import reread

sys.path.insert(0, str(Path(__file__).parent))

from box import in_box, install, reason_not_to
from scenarios import text, turn, use

HERE = Path(__file__).parent
ID = "c057c057-0000-4000-8000-000000000001"
PROJECT = "/home/sam/tides"
HOME = HERE.parent / "examples" / "cost"
IDLE = 380
SYSTEM = "You answer questions about the tides of Quayside, a made-up harbour, from its tables."
READ, DEPTH = "mcp__tides__read_table", "mcp__berths__depth"
STEPS: list[tuple[str, list[Any], dict[str, Any]]] = [
    (
        "When is the highest water in March?",
        [
            turn(text("I look it up."), use(READ, month=3)),
            turn(text("At the spring tides of the month: the table has 7.17 m.")),
        ],
        {},
    ),
    (
        "And in April and May?",
        [
            turn(use(READ, month=4), use(READ, month=5)),
            turn(text("7.18 m in April and 7.17 m in May.")),
        ],
        {},
    ),
    ("Put the three months into one list.", [turn(text("March 7.17 m, April 7.18 m, May 7.17 m."))], {"wait": IDLE}),
    ("Are these figures plausible?", [turn(text("Yes: they follow the moon."))], {"model": "claude-opus-5-5"}),
    (
        "Which ships can lie at berth C then?",
        [turn(use(DEPTH, berth="C")), turn(text("Those with a draught of less than 11 m."))],
        {"model": "claude-opus-5-5", "servers": ["tides", "berths"]},
    ),
    (
        "Write that down for the harbour master.",
        [turn(text("Berth C takes ships of up to 11 m at the spring tides from March to May."))],
        {
            "model": "claude-opus-5-5",
            "servers": ["tides", "berths"],
            "append": "Write formally, and give all depths in metres.",
        },
    ),
]
"""Each prompt, what the API answers, and how the client is started for it."""
OF_RUNS = ("wait", "clock", "environment")
"""The options that the sandbox takes."""


def run(number: int, prompt: str, options: dict[str, Any], id: str = ID, system: str = SYSTEM) -> dict[str, Any]:
    """Return the run of the client for a prompt, the first one of a session if its number is 0."""
    program = str(HERE / "tide_tools.py")
    started = {
        name: {"command": "/usr/bin/python3", "args": [program, name]} for name in options.get("servers", ["tides"])
    }
    words = [
        "-p",
        prompt,
        "--resume" if number else "--session-id",
        id,
        *options.get("own", ["--bare", "--tools", ""]),
        "--system-prompt",
        system,
    ]
    words += ["--model", options.get("model", "claude-sonnet-4-5"), "--mcp-config", json.dumps({"mcpServers": started})]
    words += ["--append-system-prompt", options["append"]] if "append" in options else []
    words += ["--strict-mcp-config", "--dangerously-skip-permissions", *options.get("words", ())]
    return {"words": words, **{name: value for name, value in options.items() if name in OF_RUNS}}


def main() -> int:
    """Record the session, and print what reread makes of it; return 1 if a request is not proven."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="2.1.325")
    parser.add_argument("--to", type=Path, default=HOME, metavar="DIR", help="write it to this folder")
    options = parser.parse_args()
    if reason := reason_not_to():
        print(reason)
        return 2
    scratch = Path(tempfile.mkdtemp(prefix="reread-cost-"))
    (scratch / "proj").mkdir()
    client = install(options.version, Path(tempfile.gettempdir()) / f"reread-claude-{options.version}")
    runs = [run(number, prompt, how) for number, (prompt, _, how) in enumerate(STEPS)]
    for step, done in zip(
        STEPS, in_box(client, scratch, runs, scripts={p: turns for p, turns, _ in STEPS}), strict=True
    ):
        print(f"{step[0]} {done['code']} {done['out'].strip()} {done['err'][-200:]}")
    source = next((scratch / "home" / ".claude" / "projects").glob(f"*/{ID}.jsonl"))
    target = options.to / "projects" / PROJECT.replace("/", "-") / source.name
    shutil.rmtree(options.to / "projects", ignore_errors=True)
    target.parent.mkdir(parents=True)
    target.write_bytes(source.read_bytes().replace(str(scratch / "proj").encode(), PROJECT.encode()))
    session = reread.open(target)
    proven = [request.verified for request in session.requests]
    print(f"{sum(proven)} of {len(proven)} requests proven, in {target}")
    for found in session.cache_breaks:
        print(f"turn {found.turn}: {found.cause} by {found.evidence}: {found.detail}, {found.tokens} tokens")
    return 0 if all(proven) else 1


if __name__ == "__main__":
    sys.exit(main())
