"""A second, independent reader of the client's files, with nothing but `json`, to compare reread with."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

Object = dict[str, Any]


class Response(NamedTuple):
    """One response of the model, collected from the rows of a file."""

    blocks: list[Object]
    stops: set[str]

    @property
    def types(self) -> list[str]:
        return [block["type"] for block in self.blocks]

    @property
    def tools(self) -> list[Object]:
        return [block for block in self.blocks if block["type"] == "tool_use"]


@cache
def objects(path: Path) -> list[Object]:
    """Return the objects of a JSONL file, in order."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def unique(rows: Iterable[Object]) -> Iterator[Object]:
    """Yield the rows without those that repeat a uuid: a resumed agent writes its history again."""
    seen: set[str] = set()
    for row in rows:
        if row.get("uuid") not in seen:
            yield row
        if row.get("uuid"):
            seen.add(row["uuid"])


def content(row: Object) -> list[Object]:
    """Return the blocks of a user or assistant row."""
    if row.get("type") not in {"user", "assistant"}:
        return []
    found = row["message"]["content"]
    return [{"type": "text", "text": found}] if isinstance(found, str) else found


def responses(rows: Iterable[Object]) -> dict[str, Response]:
    """Return the responses of the model by message id, without synthetic ones."""
    found: dict[str, Response] = defaultdict(lambda: Response([], set()))
    for row in unique(rows):
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>":
            response = found[row["message"]["id"]]
            response.blocks.extend(row["message"]["content"])
            response.stops.update(filter(None, [row["message"].get("stop_reason")]))
    return dict(found)


def results(rows: Iterable[Object]) -> dict[str, tuple[Object, Object]]:
    """Return the tool results by the id of their call, each with its row."""
    blocks = ((block, row) for row in rows for block in content(row))
    return {block["tool_use_id"]: (block, row) for block, row in blocks if block["type"] == "tool_result"}


def failed(block: Object, row: Object) -> bool:
    """True if a result states that its call failed."""
    return bool(block.get("is_error"))


@cache
def truth(scenario: Path) -> dict[str, Object]:
    """Return the responses that the API sent, by message id."""
    path = scenario / "truth.jsonl"
    rows = objects(path) if path.exists() else []
    return {row["response"]["id"]: row["response"] for row in rows if row.get("response")}


def main_thread(path: Path) -> list[Object]:
    """Return the rows of a session's file that do not belong to an agent."""
    return [row for row in objects(path) if not row.get("isSidechain")]


def side_threads(path: Path) -> list[list[Object]]:
    """Return the rows of each agent inside a session's file (up to 1.0): those below one root."""
    root_of: dict[str, str] = {}
    threads: dict[str, list[Object]] = defaultdict(list)
    for row in objects(path):
        if row.get("isSidechain"):
            root = root_of[row["uuid"]] = root_of.get(row["parentUuid"], row["uuid"])
            threads[root].append(row)
    return list(threads.values())


def transcripts(scenario: Path) -> list[Path]:
    """Return the files of sessions, without those of agents."""
    return sorted(p for p in scenario.glob("projects/*/*.jsonl") if not p.name.startswith("agent-"))


def agent_files(session: Path) -> dict[str, Path]:
    """Return the files of a session's agents by agent id: beside it (2.0) or below it (2.1)."""
    beside = [p for p in session.parent.glob("agent-*.jsonl") if objects(p)[0]["sessionId"] == session.stem]
    below = session.with_suffix("").glob("subagents/**/agent-*.jsonl")
    return {path.stem.removeprefix("agent-"): path for path in [*beside, *below]}


def streams(scenario: Path) -> list[Path]:
    """Return the files with the client's stream-json output, one for each run."""
    return sorted(scenario.glob("stream*.jsonl"))


def start_prompts(scenario: Path) -> list[str]:
    """Return the prompts that the client was started with."""
    steps = json.loads((scenario / "meta.json").read_bytes())["steps"]
    return [step["args"][1] for step in steps if step["kind"] == "p" and not step["args"][1].startswith("-")]


CLIENT_TEXTS = (
    "<command-",
    "<local-command-",
    "<bash-std",
    "<task-notification>",
    "[Request interrupted by user",
    "Caveat: ",
)
"""Beginnings of user texts that the client writes itself."""


def has_own_content(row: Object) -> bool:
    """True if a user row has more than tool results."""
    return any(block["type"] != "tool_result" for block in content(row))


def is_typed(row: Object) -> bool:
    """True if a user row was typed, not written by the client."""
    texts = [block["text"] for block in content(row) if block["type"] == "text"]
    own = row.get("isMeta") or row.get("isCompactSummary") or any(text.startswith(CLIENT_TEXTS) for text in texts)
    return not own


def is_prompt(row: Object) -> bool:
    """True if a row is a prompt of the user, not of a tool or the client."""
    own = any(row.get(flag) for flag in ("isMeta", "isCompactSummary", "isSidechain"))
    return row["type"] == "user" and not own and all(b["type"] != "tool_result" for b in content(row))


def rewinds(path: Path) -> list[Object]:
    """Return the prompts whose parent already had descendants, unless these are only an unanswered call."""
    children: dict[str, list[Object]] = defaultdict(list)

    def below(row: Object) -> list[Object]:
        return [row, *(deeper for child in children[row["uuid"]] for deeper in below(child))]

    found = []
    for row in unique(row for row in main_thread(path) if row.get("uuid")):
        descendants = [deeper for child in children[row["parentUuid"]] for deeper in below(child)]
        types = [block["type"] for deeper in descendants for block in content(deeper)]
        if descendants and is_prompt(row) and types != ["tool_use"] and row["parentUuid"]:
            found.append(row)
        children[row["parentUuid"]].append(row)
    return found
