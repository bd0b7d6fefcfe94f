"""What sessions hold, read with nothing but `json`, and how much of it stands in what a program writes."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

KINDS = ("prompts", "answers", "thinking", "tool inputs", "tool results", "agents")
"""What is looked for; `agents` is all of these inside an agent's own transcript."""

_NOT_SAID = ("<", "[Request interrupted", "Caveat:")
"""How a user line begins that the client wrote and every reader words in its own way."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07")
_TAGS = re.compile(r"</?[a-zA-Z!][^<>]*>")
_LINKS = re.compile(r"""href=["']([^"']*)["']""")
_LAYOUT = re.compile(r"^[ \t]*(?:```\S*|\d+[.)](?=\s))", re.MULTILINE)
"""What a line begins with that a renderer draws otherwise: a fence with its language, the number of a list's item."""
_SEAMS = re.compile(r"[\n\r\t→*`~#|\[\]()<>]+")
"""Where Markdown or a line number may be cut off or drawn otherwise."""
_MARKS = re.compile(r"[\W_]+")


class Item(NamedTuple):
    """One thing that was said or done, as the runs of letters and digits that must be found."""

    kind: str
    pieces: tuple[str, ...]


class Tokens(NamedTuple):
    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0


def squash(text: str) -> str:
    """Only letters and digits: what is left of a text however it is laid out."""
    return _MARKS.sub("", text)


def page_text(page: str) -> str:
    """The text of an HTML page, its links' targets at the end."""
    links = "\n".join(_LINKS.findall(page))
    return squash(html.unescape(f"{_TAGS.sub('', page)}\n{links}"))


def plain_text(text: str) -> str:
    return squash(html.unescape(text))


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def rows(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a clean transcript."""
    for line in data.split(b"\n"):
        if line.strip():
            yield json.loads(line)


def main_files(tree: Path) -> dict[str, Path]:
    """The sessions of a configuration folder that hold a conversation, by id."""
    files = sorted(tree.glob("projects/*/*.jsonl"))
    return {path.stem: path for path in files if not path.name.startswith("agent-") and _speaks(path)}


def _speaks(path: Path) -> bool:
    return any(row.get("type") == "assistant" for row in rows(path.read_bytes()))


def agent_files(session: Path) -> list[Path]:
    """The transcripts of a session's agents: in its own folder, or beside it and naming it."""
    beside = (path for path in session.parent.glob("agent-*.jsonl") if session.stem in path.read_text("utf-8"))
    return [*sorted(session.with_suffix("").glob("**/agent-*.jsonl")), *sorted(beside)]


def held(session: Path) -> list[Item]:
    """Everything said and done in a session and its agents, each once."""
    items = list(items_of(rows(session.read_bytes())))
    for path in agent_files(session):
        items += (item._replace(kind="agents") for item in items_of(rows(path.read_bytes())))
    return list(dict.fromkeys(items))


def items_of(objects: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    for row in objects:
        if row.get("type") in ("user", "assistant") and not row.get("isMeta") and not row.get("isCompactSummary"):
            for kind, text in _said(row):
                if pieces := tuple(pieces_of(text)):
                    yield Item("agents" if row.get("isSidechain") else kind, pieces)


def pieces_of(text: str) -> Iterator[str]:
    """The runs of letters and digits that stay together however a text is laid out."""
    for layout in (_ESCAPES, _TAGS, _LAYOUT):
        text = layout.sub("\n", text)
    for piece in map(squash, _SEAMS.split(text)):
        if piece and not piece.isdigit():
            yield piece


def _said(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    message = row["message"]
    content = message.get("content")
    if message.get("model") == "<synthetic>":
        return
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        match block:
            case {"type": "text", "text": str(text)} if row["type"] == "assistant":
                yield "answers", text
            case {"type": "text", "text": str(text)} if not text.startswith(_NOT_SAID):
                yield "prompts", text
            case {"type": "thinking", "thinking": str(text)}:
                yield "thinking", text
            case {"type": "tool_use", "input": value}:
                yield "tool inputs", "\n".join(strings(value))
            case {"type": "tool_result", "content": value}:
                texts = value if isinstance(value, str) else "\n".join(_texts(value))
                yield "tool results", texts


def _texts(blocks: Any) -> Iterator[str]:
    for block in blocks or []:
        if block.get("type") == "text":
            yield block["text"]


def is_in(item: Item, text: str) -> bool:
    return all(piece in text for piece in item.pieces)


def written(tree: Path) -> dict[str, dict[str, Any]]:
    """The usage of each response in a tree's files, by message id: the line that counts most, as lines before it may
    hold the value of the beginning.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(tree.glob("projects/**/*.jsonl")):
        for row in rows(path.read_bytes()):
            message = row.get("message") or {}
            if row.get("type") == "assistant" and message.get("model") != "<synthetic>" and message.get("usage"):
                before = found.get(message["id"], message["usage"])
                found[message["id"]] = max(before, message["usage"], key=lambda usage: usage["output_tokens"])
    return found


def answered(tree: Path) -> dict[str, dict[str, Any]]:
    """What the API said of each response that is in a tree's files, by message id, where that was kept."""
    lines = (row for path in tree.glob("truth/*.jsonl") for row in rows(path.read_bytes()))
    said = {row["response"]["id"]: row["response"]["usage"] for row in lines if row.get("response")}
    return {id: said[id] for id in written(tree) if id in said}


def total(usages: Iterable[Mapping[str, Any]]) -> Tokens:
    kept = list(usages)
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Tokens(*(sum(usage.get(name) or 0 for usage in kept) for name in names))
