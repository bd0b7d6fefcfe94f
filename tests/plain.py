"""What the client's files say, read with nothing but `json`: the other side of the comparison."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

Object = dict[str, Any]


class Response(NamedTuple):
    """One response of the model, as the lines of a file hold it."""

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
    """The objects of a JSONL file, in order."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def once(rows: Iterable[Object]) -> Iterator[Object]:
    """The rows without those that repeat a uuid: a resumed agent writes its history again."""
    seen: set[str] = set()
    for row in rows:
        if row.get("uuid") not in seen:
            yield row
        if row.get("uuid"):
            seen.add(row["uuid"])


def content(row: Object) -> list[Object]:
    """The blocks of a user or assistant row."""
    if row.get("type") not in {"user", "assistant"}:
        return []
    held = row["message"]["content"]
    return [{"type": "text", "text": held}] if isinstance(held, str) else held


def responses(rows: Iterable[Object]) -> dict[str, Response]:
    """The model's responses by message id; what the client made up itself is none."""
    found: dict[str, Response] = defaultdict(lambda: Response([], set()))
    for row in once(rows):
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>":
            response = found[row["message"]["id"]]
            response.blocks.extend(row["message"]["content"])
            response.stops.update(filter(None, [row["message"].get("stop_reason")]))
    return dict(found)


def results(rows: Iterable[Object]) -> dict[str, tuple[Object, Object]]:
    """The tool results by the id of the call that they answer, each with its row."""
    blocks = ((block, row) for row in rows for block in content(row))
    return {block["tool_use_id"]: (block, row) for block, row in blocks if block["type"] == "tool_result"}


def failed(block: Object, row: Object) -> bool:
    """A result that says that its call came to nothing."""
    data = row.get("toolUseResult", row.get("tool_use_result"))
    waited_in_vain = isinstance(data, dict) and data.get("retrieval_status") == "timeout"
    return bool(block.get("is_error")) or waited_in_vain


@cache
def truth(scenario: Path) -> dict[str, Object]:
    """What the API answered, by message id."""
    path = scenario / "truth.jsonl"
    rows = objects(path) if path.exists() else []
    return {row["response"]["id"]: row["response"] for row in rows if row.get("response")}


def main_thread(path: Path) -> list[Object]:
    """The rows of a session's file that are not an agent's."""
    return [row for row in objects(path) if not row.get("isSidechain")]


def side_threads(path: Path) -> list[list[Object]]:
    """The agents inside a session's file (up to 1.0): each the rows below one root."""
    root_of: dict[str, str] = {}
    threads: dict[str, list[Object]] = defaultdict(list)
    for row in objects(path):
        if row.get("isSidechain"):
            root = root_of[row["uuid"]] = root_of.get(row["parentUuid"], row["uuid"])
            threads[root].append(row)
    return list(threads.values())


def transcripts(scenario: Path) -> list[Path]:
    """The files of sessions, those of agents left out."""
    return sorted(p for p in scenario.glob("projects/*/*.jsonl") if not p.name.startswith("agent-"))


def agent_files(session: Path) -> dict[str, Path]:
    """The files of a session's agents, by agent id: beside it (2.0) or below it (2.1)."""
    beside = [p for p in session.parent.glob("agent-*.jsonl") if objects(p)[0]["sessionId"] == session.stem]
    below = session.with_suffix("").glob("subagents/**/agent-*.jsonl")
    return {path.stem.removeprefix("agent-"): path for path in [*beside, *below]}


def streams(scenario: Path) -> list[Path]:
    """What the client printed as stream-json, a file for each run."""
    return sorted(scenario.glob("stream*.jsonl"))


def said_to_persons(scenario: Path) -> list[str]:
    """The prompts that the client was started with."""
    steps = json.loads((scenario / "meta.json").read_bytes())["steps"]
    return [step["args"][1] for step in steps if step["kind"] == "p" and not step["args"][1].startswith("-")]


NOT_TYPED = (
    "<command-",
    "<local-command-",
    "<bash-std",
    "<task-notification>",
    "[Request interrupted by user",
    "Caveat: ",
)
"""How texts begin that the client writes in a person's name."""


def is_words(row: Object) -> bool:
    """A user row with more than tool results."""
    return any(block["type"] != "tool_result" for block in content(row))


def is_typed(row: Object) -> bool:
    """A user row that nothing marks as the client's own."""
    texts = [block["text"] for block in content(row) if block["type"] == "text"]
    own = row.get("isMeta") or row.get("isCompactSummary") or any(text.startswith(NOT_TYPED) for text in texts)
    return not own


def is_prompt(row: Object) -> bool:
    """A user row that a person, not a tool or the client, may have typed."""
    own = any(row.get(flag) for flag in ("isMeta", "isCompactSummary", "isSidechain"))
    return row["type"] == "user" and not own and all(b["type"] != "tool_result" for b in content(row))


def rewinds(path: Path) -> list[Object]:
    """The prompts that hang where the conversation had gone on before, with more than an open call."""
    children: dict[str, list[Object]] = defaultdict(list)

    def below(row: Object) -> list[Object]:
        return [row, *(deeper for child in children[row["uuid"]] for deeper in below(child))]

    found = []
    for row in once(row for row in main_thread(path) if row.get("uuid")):
        went_on = [deeper for child in children[row["parentUuid"]] for deeper in below(child)]
        types = [block["type"] for deeper in went_on for block in content(deeper)]
        if went_on and is_prompt(row) and types != ["tool_use"] and row["parentUuid"]:
            found.append(row)
        children[row["parentUuid"]].append(row)
    return found
