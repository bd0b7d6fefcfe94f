"""Run a version of the real client, and say what reread does not know of it and what disagrees with the truth.

The report says what to add and where. `--learn` remembers the names that the client and its SDK have, once they have
been looked at: what is new is new since then.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import reread
from reread.base.canonical_json import canonical
from reread.model.request import NOT_DIGESTED
from reread.reports.check_report import check_report, drift_report
from reread.tools import MCP, all_tools

sys.path.insert(0, str(Path(__file__).parent))

from box import in_box, install, installed_version, npm_install, reason_not_to
from cache_causes import play, wrong_causes
from client_tables import compare, names_of, read_known, write_known
from scenarios import scripts

BILLING = "x-anthropic-billing-header"
"""How the block of a system prompt begins that the client does not note."""
NOT_ALONE = ("inner", "plugin")
"""The script of an agent, and one that needs the plug-in."""


def runs(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the commands that play some scripts."""
    words = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    return [{"words": ["-p", f"Please do it. [[SCN:{name}]]", *words], "timeout": 90} for name in names]


def unknown(scratch: Path) -> Iterator[str]:
    """Yield what the types of reread do not know, in transcripts and in streams."""
    paths = [scratch / "home" / ".claude" / "projects", scratch / "streams"]
    counted: Counter[tuple[str, str]] = Counter()
    for file in drift_report(check_report([path for path in paths if path.is_dir()])).files:
        counted.update((finding.code, finding.text) for finding in file.findings)
    yield from (f"{code}: {text} ({count} ×)" for (code, text), count in counted.most_common())


def unknown_tools(scratch: Path) -> Iterator[str]:
    """Yield the tools that the client offers and reread does not know, whether a script calls them or not."""
    offered: set[str] = set()
    for stream in (scratch / "streams").glob("*.jsonl"):
        for line in stream.read_text().splitlines():
            record = json.loads(line) if line.startswith("{") else {}
            offered.update(record.get("tools", ()) if record.get("subtype") == "init" else ())
    for name in sorted(offered - all_tools().keys()):
        if not name.startswith(MCP):
            yield f"tool `{name}`: a row of TOOLS in a module of src/reread/tools/"


def disagreements(scratch: Path) -> Iterator[str]:
    """Yield where a session disagrees with what the API answered: tokens, stop reasons, inputs, lost records."""
    truth = [json.loads(line) for line in (scratch / "truth.jsonl").read_text().splitlines()]
    answers = {one["message"]["id"]: one for one in truth}
    seen: set[str] = set()
    for header in reread.sessions(root=scratch / "home" / ".claude"):
        session = reread.open(header)
        fates = session.ledger.fates
        lost = {fate: fates[fate] for fate in ("unknown", "malformed", "orphan") if fates.get(fate)}
        if lost:
            yield f"{header.title}: records that are {lost}"
        for conversation in (session.conversation, *session.agents.values()):
            for message in conversation.messages:
                if message.id in answers:
                    seen.add(message.id)
                    yield from _differences(message, answers[message.id])
    for id, one in answers.items():
        if id not in seen:
            yield f"{one['script']} turn {one['turn']}: the answer is in no transcript"


def wrong_requests(scratch: Path) -> Iterator[str]:
    """Yield the requests that reread rebuilds and that are not proven, or not what the API was sent."""
    truth = [json.loads(line) for line in (scratch / "truth.jsonl").read_text().splitlines()]
    sent = {_canonical(one["request"]): f"{one['script']} turn {one['turn']}" for one in truth}
    rebuilt: set[bytes] = set()
    for header in reread.sessions(root=scratch / "home" / ".claude"):
        session = reread.open(header)
        for thread in (session.conversation, *session.agents.values()):
            for request in thread.requests:
                body = _canonical(request.body)
                rebuilt.add(body)
                if not request.verified:
                    yield f"{header.title}: request {request.number} is not proven {request.missing}"
                elif body not in sent and request.response is not None:
                    yield f"{header.title}: request {request.number} is not what was sent"
    if rebuilt:
        yield from (f"{place}: the request was not noted" for body, place in sent.items() if body not in rebuilt)
        print(f"Requests: {len(rebuilt)} rebuilt, {len(rebuilt & set(sent))} of {len(sent)} as they were sent")


def _canonical(body: dict[str, Any]) -> bytes:
    """Return a request without what the client never notes, as text that can be compared."""
    out = {name: value for name, value in body.items() if name not in (*NOT_DIGESTED, "betas")}
    system = out.get("system")
    if isinstance(system, list):
        out["system"] = [block for block in system if not block.get("text", "").startswith(BILLING)]
    out["messages"] = [
        {**one, "content": [{"type": "text", "text": one["content"]}]} if isinstance(one["content"], str) else one
        for one in body["messages"]
    ]
    return canonical(out)


def _differences(message: reread.value_types.Message, one: dict[str, Any]) -> Iterator[str]:
    place, said, usage = f"{one['script']} turn {one['turn']}", one["message"], message.usage
    told = said["usage"]
    facts = {
        "stop reason": (message.stop_reason, said["stop_reason"]),
        "input": (usage.input_tokens, told["input_tokens"]),
        "output": (usage.output_tokens, told["output_tokens"]),
        "cache reads": (usage.cache_read_tokens, told["cache_read_input_tokens"]),
        "cache writes": (
            usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
            told["cache_creation_input_tokens"],
        ),
        "calls": (
            [(call.id, call.name, call.input) for call in message.calls],
            [(block["id"], block["name"], block["input"]) for block in said["content"] if block["type"] == "tool_use"],
        ),
    }
    yield from (f"{place}: {name} is {ours!r}, was {true!r}" for name, (ours, true) in facts.items() if ours != true)
    yield from (f"{place}: {call.name} has no result" for call in message.calls if call.result is None)


def main() -> int:
    """Run the scenarios, print the report, and return 1 if there is something to do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="latest")
    parser.add_argument("--only", metavar="NAME,...", help="run only these scenarios")
    parser.add_argument("--to", type=Path, metavar="DIR", help="keep what the client wrote in this empty folder")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report, as Markdown, to this file")
    parser.add_argument("--learn", action="store_true", help="remember the names of this version as looked at")
    options = parser.parse_args()
    known = [name for name in scripts("") if name not in NOT_ALONE]
    played = options.only.split(",") if options.only is not None else known
    if unknown_names := [name for name in played if name not in known]:
        parser.error(f"no scenario {', '.join(map(repr, unknown_names))}; there are {', '.join(known)}")
    if reason := reason_not_to():
        print(reason)
        return 2
    scratch = options.to or Path(tempfile.mkdtemp(prefix="reread-try-"))
    scratch.mkdir(parents=True, exist_ok=True)
    packages = Path(tempfile.gettempdir()) / f"reread-claude-{options.version}"
    client = install(options.version, packages)
    sdk = _install_sdk(installed_version(client), packages)
    done = in_box(client, scratch, runs(played))
    (scratch / "streams").mkdir()
    for name, one in zip(played, done, strict=True):
        (scratch / "streams" / f"{name}.jsonl").write_text(one["out"])
        if one["code"] != 0:
            print(f"{name}: exit code {one['code']} {one['err'][-200:]}")
    causes = play(client, scratch / "causes") if not options.only else {}
    names = names_of(client, sdk)
    if options.learn:
        write_known(installed_version(client), names)
    add, gone = compare(names, read_known())
    add += [*unknown_tools(scratch), *unknown(scratch)]
    wrong = [*disagreements(scratch), *wrong_requests(scratch), *wrong_causes(causes)]
    counted = ", ".join(f"{len(found)} × {kind}" for kind, found in names.items())
    report = [
        f"# Claude Code {installed_version(client)}\n",
        f"{len(played)} scenarios and {len(causes)} sessions with forced causes of cache breaks were played.",
        f"Its program and its SDK name {counted}.",
    ]
    for title, lines in (("To add", add), ("Disagrees", wrong), ("No longer named", gone)):
        report += [f"\n## {title}: {len(lines) or 'nothing'}\n", *(f"- {line}" for line in lines)]
    print("\n".join(report))
    if options.report:
        options.report.write_text("\n".join(report) + "\n")
    return 1 if add or wrong else 0


def _install_sdk(version: str, folder: Path) -> Path:
    """Install the Agent SDK of a client (0.3.327 of 2.1.327) and return its folder."""
    found = folder / "sdk" / "node_modules" / "@anthropic-ai" / "claude-agent-sdk"
    if not found.is_dir():
        _, _, number = version.rpartition(".")
        npm_install(f"@anthropic-ai/claude-agent-sdk@0.3.{number}", folder / "sdk")
    return found


if __name__ == "__main__":
    sys.exit(main())
