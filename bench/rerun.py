"""What `reread rerun` reaches with the real client: scenarios twice, versions, forced changes, unchanged runs, kills.

Needs Linux, npm and node; clients are installed into the cache. `REREAD_REAL_CLIENT` names a folder with more recorded
scenarios than those of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import reread
from reread.addons.rerun.clients import Client, install_client

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests"))
from making import jsonl, told, user  # noqa: E402

GOLDEN = TOP / "examples" / "rerun" / "push.jsonl"
LARGER = os.environ.get("REREAD_REAL_CLIENT")
RECORDED = [TOP / "tests" / "real", *([Path(LARGER) / "data"] if LARGER else [])]
NEWEST = "2.1.327"
VERSIONS = (NEWEST, "2.1.325", "2.1.220", "2.1.76", "2.0.55")
RECORDED_BY = ("2.1.325", "2.1.220", "2.0.55", "2.1.76", "1.0.128")
RUNS, KILLS, LONG = 20, 10, 100
Object = dict[str, Any]
Row = tuple[str, ...]


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def table(head: Row, rows: Iterable[Row]) -> None:
    """Print a table as Markdown."""
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)


def transcript(scenario: Path) -> Path | None:
    """The session of a scenario: the first that somebody said something to."""
    found = sorted(scenario.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    return next((path for path in reversed(found) if not path.name.startswith("agent-")), None)


FIGURES = ("calls", "reached", "same_input", "same_outcome", "same_result", "requests", "verified", "digests")
SECONDS = 120.0


def play(path: Path, client: Client, keep: str, number: int) -> Object:
    """Play a session, and return the figures of it with what differs."""
    try:
        found = reread.rerun(path, client=client, keep=keep, seconds=SECONDS)
    except reread.RereadError as error:
        return {"failure": str(error)}
    row = {name: sum(getattr(call, name) for call in found.calls) for name in FIGURES[1:5]}
    row |= {"calls": len(found.calls), "requests": len(found.requests), "failure": found.failure, "kept": found.kept}
    row |= {"verified": sum(one.verified for one in found.requests), "digests": same_digests(path, found.kept)}
    row |= {"beside": found.beside, "unreached": found.unreached, "seconds": round(found.seconds, 1)}
    # The first play was recorded in another system: its requests may differ, its calls and files not.
    lines = found.differences if number else [line for line in found.differences if "request " not in line[:60]]
    return {**row, "differences": lines, "notes": found.notes}


def same_digests(recorded: Path, kept: str) -> int:
    """How many requests have the same digest."""
    if not kept:
        return 0
    with reread.open(recorded) as before, reread.open(kept) as now:
        pairs = zip(before.requests, now.requests, strict=False)
        return sum(one.digest is not None and one.digest == other.digest for one, other in pairs)


def scenarios(args: argparse.Namespace) -> None:
    """Every recorded scenario, and what was then written once more: with that, the requests can be compared."""
    out = Path(args.out)
    rows: list[Object] = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(row["version"], row["scenario"]) for row in rows}
    for version in args.version or RECORDED_BY:
        folders = {path.name: path for root in RECORDED for path in sorted(root.glob(f"{version}/*"))}
        for name in sorted(folders):
            path = transcript(folders[name])
            if path is None or (version, name) in known or (args.scenario and name not in args.scenario):
                continue
            with tempfile.TemporaryDirectory() as folder:
                for number in range(2):
                    row = {"version": version, "scenario": name, "play": number + 1}
                    row |= play(path, install_client(version), f"{folder}/{number}", number)
                    rows.append(row)
                    path = Path(row.pop("kept", ""))
                    with out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    say(version, name, *(f"{name} {value}" for name, value in row.items() if name not in ("notes",)))
                    if not path.name:
                        break
    summarise(rows)


def summarise(rows: Sequence[Object]) -> None:
    """Print what each version reached, and each session that differs or was not played."""
    found: list[Row] = []
    for version, number in sorted({(row["version"], row["play"]) for row in rows}):
        own = [row for row in rows if (row["version"], row["play"]) == (version, number)]
        total = {name: sum(row.get(name, 0) for row in own) for name in FIGURES}
        ended = sum(not row["failure"] for row in own)
        calls = (f"{total[name]} of {total['calls']}" for name in FIGURES[1:5])
        sent = (f"{total[name]} of {total['requests']}" for name in FIGURES[6:])
        found.append((version, str(number), f"{ended} of {len(own)}", *calls, *sent))
    table(("client", "play", "played to the end", *HEAD), found)
    wrong = [row for row in rows if row["failure"] or row.get("differences")]
    said = ((row["failure"] and f"not played: {row['failure']}") or "; ".join(row["differences"][:3]) for row in wrong)
    what = ((row["version"], row["scenario"], str(row["play"]), text) for row, text in zip(wrong, said, strict=True))
    table(("client", "scenario", "play", "what differs"), what)


HEAD = ("reached", "same input", "same state", "same result", "requests proven", "equal by digest")


def played(client: Client, folder: Path, recorded: Path = GOLDEN, **options: Any) -> Path:
    """A session as a client plays it, so that its requests are noted."""
    found = reread.rerun(recorded, client=client, keep=folder, **options)
    assert not found.failure, found.failure
    return Path(found.kept)


def versions(args: argparse.Namespace) -> None:
    """The golden session by each version, beside each other one."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        kept = {one: played(install_client(one), Path(folder) / one) for one in args.version or VERSIONS}
        for one, path in kept.items():
            for other in kept:
                found = reread.rerun(path, client=install_client(other))
                calls = sum(call.is_same for call in found.calls)
                kinds = Counter(change.kind for request in found.requests for change in request.changes)
                what = ", ".join(sorted(kinds)) or ("none" if found.requests else "not comparable")
                rows.append((one, other, f"{calls} of {len(found.calls)}", what, found.failure or "—"))
                say(*rows[-1])
    table(("recorded on", "played on", "calls equal", "requests differ at", "failure"), rows)


class Change(NamedTuple):
    """A forced change, and all that it may be named at."""

    options: Callable[[Path], Object]
    places: frozenset[str]
    """Kinds of parts of requests; one at least is named."""
    calls: int = 0
    """How many calls end otherwise."""
    base: str = "push"


def hook(folder: Path, text: str, name: str = "hook.sh") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def on(event: str, text: str) -> Callable[[Path], Object]:
    return lambda folder: {"hooks": [f"{event}={hook(folder, text)}"]}


def settings(**value: Any) -> Callable[[Path], Object]:
    return lambda _: {"settings": value}


def permissions(**rules: Any) -> Callable[[Path], Object]:
    return settings(permissions=rules)


def context(event: str) -> str:
    said = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "It is Thursday."}}
    return f"echo '{json.dumps(said)}'"


def plugin(folder: Path, files: dict[str, str]) -> Object:
    top = folder / "guard"
    about = '{"name": "guard", "version": "1.0.0", "description": "Guards"}'
    for name, text in {".claude-plugin/plugin.json": about, **files}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return {"plugins": [top]}


def server(folder: Path) -> Object:
    """A server with one tool, which speaks as the stand-ins do."""
    schema = {"type": "object", "properties": {}}
    record = {"name": "clock", "tools": [{"name": "now", "description": "The time.", "inputSchema": schema}]}
    program = TOP / "src" / "reread" / "addons" / "rerun" / "inside" / "mcp_server.py"
    text = program.read_text().replace("json.loads(path.read_bytes())", repr({**record, "calls": [], "resources": {}}))
    words = ["-I", "-S", "-c", f"import sys\nsys.argv.append('.')\n{text}"]
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"clock": {"command": "python3", "args": words}}}))
    return {"mcp_config": folder / "mcp.json"}


def no_servers(folder: Path) -> Object:
    (folder / "mcp.json").write_text('{"mcpServers": {}}')
    return {"mcp_config": folder / "mcp.json"}


DENIAL = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}
DENY = json.dumps({"hookSpecificOutput": DENIAL})
GUARD = json.dumps(
    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}]}}
)
SKILL = "---\nname: rhyme\ndescription: Writes rhymes. Use when asked for a rhyme.\n---\nRhyme.\n"
AGENT = "---\nname: poet\ndescription: Writes poems.\n---\nYou are a poet.\n"
MEMORY, HOOKED, DENIED = frozenset({"memory"}), frozenset({"hook"}), frozenset({"result"})
CHANGES = {
    "memory edited": Change(lambda _: {"claude_md": "Always answer in rhymes.\n"}, MEMORY),
    "memory grown": Change(lambda _: {"claude_md": "Be brief.\n" * 300}, MEMORY),
    "system prompt": Change(lambda _: {"system_prompt": "Answer in rhymes."}, frozenset({"system"})),
    # With a style, the client has another first sentence, too.
    "output style": Change(settings(outputStyle="Explanatory"), frozenset({"system", "reminder"})),
    "language": Change(settings(language="German"), frozenset({"reminder"})),
    # For another model the client has other words in nearly every part.
    "model": Change(
        lambda _: {"model": "claude-sonnet-4-6"}, frozenset({"param", "system", "reminder", "tool", "skills", "result"})
    ),
    "client": Change(lambda _: {"client": "2.1.325"}, frozenset({"system", "tool", "reminder", "skills", "param"})),
    "deny a command": Change(permissions(deny=["Bash(git push:*)"]), DENIED, 1),
    "deny a file": Change(permissions(deny=["Edit(./greeter.py)"]), DENIED, 1),
    "deny a tool": Change(permissions(deny=["WebFetch"]), frozenset({"tool", "reminder"})),
    "hook PreToolUse, exit 2": Change(
        on("PreToolUse", "grep -q pytest && { echo no >&2; exit 2; }; exit 0"), DENIED, 1
    ),
    "hook PreToolUse, JSON": Change(on("PreToolUse", f"grep -q 'git push' && echo '{DENY}'; exit 0"), DENIED, 1),
    "hook PostToolUse": Change(on("PostToolUse", context("PostToolUse")), HOOKED),
    "hook UserPromptSubmit": Change(on("UserPromptSubmit", context("UserPromptSubmit")), HOOKED),
    "hook SessionStart": Change(on("SessionStart", context("SessionStart")), HOOKED),
    "server added": Change(server, frozenset({"tool", "mcp", "reminder"})),
    "server removed": Change(no_servers, frozenset({"tool", "mcp", "reminder", "result"}), 5, "mcp"),
    "plug-in, a hook": Change(lambda f: plugin(f, {"hooks/hooks.json": GUARD}), DENIED, 2),
    "plug-in, a skill": Change(lambda f: plugin(f, {"skills/rhyme/SKILL.md": SKILL}), frozenset({"skills"})),
    "plug-in, an agent": Change(lambda f: plugin(f, {"agents/poet.md": AGENT}), frozenset({"reminder", "tool"})),
}


def changes(args: argparse.Namespace) -> None:
    """Twenty forced changes: each is named at its place, and nothing else is."""
    client = install_client(NEWEST)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        mcp = next((path for root in RECORDED for path in root.glob("2.1.325/mcp/projects/*/*.jsonl")), None)
        kept = {"push": played(client, Path(folder) / "push", claude_md="Be brief.\n")}
        if mcp is not None:
            kept["mcp"] = played(client, Path(folder) / "mcp", mcp)
        for what, change in CHANGES.items():
            if change.base not in kept or (args.scenario and what not in args.scenario):
                continue
            own = Path(folder) / what.replace(" ", "-")
            own.mkdir()
            found = reread.rerun(kept[change.base], **{"client": client, **change.options(own)})
            named = Counter(f"{one.kind} {one.name}".strip() for request in found.requests for one in request.changes)
            kinds = {name.partition(" ")[0] for name in named}
            other = sum(not call.is_same for call in found.calls)
            right = bool(kinds) and kinds <= change.places and other == change.calls
            right = right and not found.failure and not found.unrecorded
            rows.append((what, ", ".join(sorted(named)), str(other), "yes" if right else "NO"))
            say(*rows[-1], found.failure, found.unrecorded, [line for line in found.differences if "turn" in line])
    right = sum(row[-1] == "yes" for row in rows)
    rows.append((f"{right} of {len(rows)}", "", "", ""))
    table(("change", "named at", "calls that end otherwise", "right"), rows)


def unchanged(_: argparse.Namespace) -> None:
    """Runs in which nothing was changed."""
    client = install_client(NEWEST)
    with tempfile.TemporaryDirectory() as folder:
        path = played(client, Path(folder))
        found = [reread.rerun(path, client=client) for _ in range(RUNS)]
    for one in found:
        say(one.failure, one.differences)
    differences = sum(len(one.differences) + bool(one.failure) for one in found)
    requests = sum(len(one.requests) for one in found)
    seconds = sorted(one.seconds for one in found)[RUNS // 2]
    table(
        ("unchanged runs", "differences", "requests compared", "seconds each"),
        [(str(RUNS), str(differences), str(requests), f"{seconds:.1f}")],
    )


def long_session(folder: Path, calls: int = LONG) -> Path:
    """The golden session's kind with a hundred calls: commands, reads and edits in turns."""
    cwd = "/home/sam/code/greeter"
    rows: list[Object] = [user("Do all of it.")]
    said = {"usage": {"input_tokens": 9, "output_tokens": 9}, "stop_sequence": None}
    for number in range(calls):
        if number % 2:
            name, given = "Write", {"file_path": f"{cwd}/{number}.txt", "content": f"{number}\n" * 20}
            text = f"File created successfully at: {cwd}/{number}.txt"
            data: Any = {"type": "create", "filePath": f"{cwd}/{number}.txt", "content": given["content"]}
            data |= {"structuredPatch": [], "originalFile": None}
        else:
            name, given = "Bash", {"command": f"make part-{number}", "description": f"Make part {number}"}
            text, data = f"made {number}", {"stdout": f"made {number}", "stderr": "", "interrupted": False}
        block = {"type": "tool_use", "id": f"toolu_long{number:04}", "name": name, "input": given}
        message = {"id": f"msg_long{number:04}", "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
        rows.append(
            {"type": "assistant", "message": {**message, **said, "content": [block], "stop_reason": "tool_use"}}
        )
        content = [{"type": "tool_result", "tool_use_id": block["id"], "content": text}]
        rows.append({"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": data})
    done = {"id": "msg_done", "type": "message", "role": "assistant", "model": "claude-opus-5-5", **said}
    rows.append(
        {
            "type": "assistant",
            "message": {**done, "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"},
        }
    )
    path = folder / "long.jsonl"
    path.write_bytes(jsonl(*({**row, "cwd": cwd, "permissionMode": "bypassPermissions"} for row in told(*rows))))
    return path


def long(_: argparse.Namespace) -> None:
    """A session of a hundred calls."""
    with tempfile.TemporaryDirectory() as folder:
        found = reread.rerun(long_session(Path(folder)), client=install_client(NEWEST))
    same = sum(call.is_same for call in found.calls)
    say(found.failure, found.differences[:5])
    head = ("calls", "equal", "seconds", "goal")
    table(head, [(str(len(found.calls)), str(same), f"{found.seconds:.1f}", "≤ 60 s")])


def kills(_: argparse.Namespace) -> None:
    """`kill -9` at a later point in each run: neither a process nor a folder stays."""
    client = install_client(NEWEST)
    program = client.folder / client.program
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "reread", "rerun", str(GOLDEN), "--client", str(program)]
        for number in range(KILLS):
            process = subprocess.Popen(words, env={**os.environ, "TMPDIR": folder}, stdout=subprocess.DEVNULL)
            time.sleep(0.6 * (number + 1))
            process.send_signal(signal.SIGKILL)
            process.wait()
            end = time.monotonic() + 20
            while (rest := _left(folder)) and time.monotonic() < end:
                time.sleep(0.1)
            say(number, rest)
            left += rest
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir()
    table(("runs that were killed", "processes and folders left"), [(str(KILLS), str(len(left)))])


def _left(folder: str) -> list[str]:
    return [*_named(folder), *(str(path) for path in Path(folder).iterdir())]


def _named(mark: str) -> Iterator[str]:
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (one / "cmdline").read_bytes():
                yield one.name
        except OSError:  # it has ended
            continue


ROWS = {one.__name__: one for one in (scenarios, versions, changes, unchanged, long, kills)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"only these: {', '.join(ROWS)}")
    parser.add_argument("--version", action="append", help="of the client that recorded (scenarios), or to compare")
    parser.add_argument("--scenario", action="append", help="only these scenarios or changes")
    parser.add_argument(
        "--out", default="rerun.jsonl", help="what scenarios add to, and go on from (default: %(default)s)"
    )
    args = parser.parse_args()
    for name in args.rows or ROWS:
        ROWS[name](args)


if __name__ == "__main__":
    main()
