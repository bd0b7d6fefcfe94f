"""Everything means everything: each recorded value of what the ledger calls shown is in every full view.

Files of `tests/real`, the samples and the findings go through every view. Of the larger collection that
REREAD_REAL_CLIENT names, each file goes through one view, in turn; with REREAD_HYPOTHESIS=thorough through all.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import plain
from batches import THOROUGH, each
from test_html import page_of

import reread
from reread.reader.session_view import SessionView
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.sanitize import plain_text
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, make_console

HERE = Path(__file__).parent
LARGER = os.environ.get("REREAD_REAL_CLIENT")
SAMPLES = HERE.parent / "src" / "reread" / "samples"


def files_in(root: Path) -> list[Path]:
    scenarios = sorted(path.parent for path in root.glob("*/*/meta.json"))
    return [path for scenario in scenarios for path in (*plain.transcripts(scenario), *plain.streams(scenario))]


FILES = [
    *files_in(HERE / "real"),
    *sorted(path for path in SAMPLES.rglob("*.jsonl") if not path.name.startswith("agent-")),
    *sorted((HERE / "fixtures" / "findings").glob("*.jsonl")),
]
MORE_FILES = files_in(Path(LARGER) / "data") if LARGER else []
FATES = ("shown", "merged", "paired", "attached", "orphan")
STRUCTURE = frozenset(
    {
        *("type", "subtype", "role", "isSidechain", "isMeta", "userType", "timestamp"),
        *("uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id", "agentId", "id", "tool_use_id"),
        *("toolUseID", "parentToolUseID", "parent_tool_use_id", "messageId"),
    }
)
"""Fields that are the shape of a session, and ids."""
PER_SESSION = frozenset({"cwd", "version", "gitBranch", "slug", "entrypoint"})
"""Fields of every record that views show once, at the top."""
NOT_TEXT = frozenset({"signature", "base64", "data", "image_data"})
WHOLE = Selection(full=True)

Leaf = tuple[str, Any]


def leaves(value: Any, key: str = "") -> Iterator[Leaf]:
    """Every text, number and flag in a JSON value with the name of its field, but for ids, signatures and images."""
    if isinstance(value, dict):
        for field, inner in value.items():
            if field not in STRUCTURE and not (field in NOT_TEXT and isinstance(inner, str)):
                yield from leaves(inner, field)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, "")
    elif value not in (None, ""):
        yield key, value


def recorded(session: Any) -> Iterator[tuple[int, Leaf]]:
    """The leaves of all records that views show, with their lines; pieces of a stream are joined before they are."""
    for conversation in (session.conversation, *session.agents.values()):
        for record, fate in zip(conversation.records, conversation.ledger, strict=True):
            said = fate.fate in FATES or (fate.fate == "abandoned" and "attached" not in fate.reason)
            if said and record.type != "stream_event":
                for leaf in leaves(record.native):
                    if leaf[0] not in PER_SESSION:
                        yield record.line, leaf


def letters(text: str) -> str:
    """A text without what rendering changes: spaces, wrapping, punctuation."""
    return "".join(filter(str.isalnum, text))


class View:
    """The text of a view, to look leaves up in it."""

    def __init__(self, text: str) -> None:
        self.squeezed = re.sub(r"\s", "", text)
        self.letters = letters(text)

    def has(self, key: str, value: Any) -> bool:
        """True if a leaf is shown: a number or flag with its name, a text with every line."""
        if not isinstance(value, str):
            shown = json.dumps(value)
            return f"{key}:{shown}" in self.squeezed if key else shown in self.squeezed
        return all(letters(piece) in self.letters for piece in pieces(plain_text(value)))


def pieces(text: str) -> Iterator[str]:
    """What a text says: its lines without the client's line numbers and tags, and the values in these tags."""
    for line in text.replace("\r", "\n").split("\n"):
        bare = re.sub(r"^ *\d+(?:→|\t)|^\s*(?:```+|~~~+)\w*$", "", line)  # nor the languages of code, which are colours
        for tag in re.findall(r"<[a-z][\w-]*(\s[^<>]*)>", bare):
            yield from re.findall(r'"([^"]*)"', tag)
        yield from re.split(r"</?[a-z][\w-]*(?:\s[^<>]*)?>", bare)


def terminal(session: Any) -> str:
    console = make_console(width=240, force_terminal=False, color_system=None)
    with console.capture() as captured:
        for item in TerminalView(WHOLE).session(session):
            console.print(item)
    return captured.get()


def markdown(session: Any) -> str:
    text = "\n".join(session_markdown(session, WHOLE))
    return unescape(text.replace("\\", ""))


def outline(value: Any) -> str:
    """A JSON value as the page draws it: names with their values, and texts."""
    found: list[str] = []

    def walk(value: Any, key: str) -> None:
        if isinstance(value, dict):
            for field, inner in value.items():
                walk(inner, field)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, "")
        else:
            found.append(f"{key}: {plain_text(value) if isinstance(value, str) else json.dumps(value)}")

    walk(value, "")
    return "\n".join(found)


def reader(session: Any) -> str:
    view = SessionView(session, "key")
    found: list[Any] = []
    for agent in (None, *session.agents):
        thread = view.thread(agent)
        for branch in thread.conversation.branches:
            found.append(view.page(0, 10**9, agent=agent, branch=branch.id, whole=True))
        found += [view.call(call.index, agent=agent, whole=True) for call in thread.conversation.calls]
    return outline(msgspec.to_builtins(found))


def html(session: Any) -> str:
    page = page_of(session, full=True)
    found = [[page.items(thread), page.bodies(thread)] for thread in page.index["threads"]]
    return outline(found)


def as_json(session: Any) -> str:
    return outline(json.loads(b"".join(session_json(session, WHOLE))))


VIEWS = {"terminal": terminal, "markdown": markdown, "reader": reader, "html": html, "json": as_json}


def between(session: Any, kind: str) -> Iterator[tuple[int, Leaf]]:
    """The leaves of setups and, but for JSON, which has the fields of `TurnResult`, of results."""
    marks, conversation = session.conversation.marks, session.conversation
    setups = [index for found in marks.setups.values() for index in found]
    for index in [*setups, *(marks.ended if kind != "json" else ())]:
        record = conversation.records[index]
        yield from ((record.line, leaf) for leaf in leaves(record.native) if leaf[0] not in PER_SESSION)


CASES = [
    *((path, kind) for path in FILES for kind in VIEWS),
    *(
        (path, kind)
        for at, path in enumerate(MORE_FILES)
        for n, kind in enumerate(VIEWS)
        if THOROUGH or n == at % len(VIEWS)
    ),
]


@each("case", CASES, ids=lambda case: "/".join((*case[0].parts[-5:], case[1])), every=8)
def test_every_recorded_value_is_in_the_full_view(case: tuple[Path, str]) -> None:
    path, kind = case
    session = reread.open(path)
    view = View(VIEWS[kind](session))
    values = [*recorded(session), *between(session, kind)]
    missing = {(line, key, str(value)[:200]) for line, (key, value) in values if not view.has(key, value)}
    assert not missing
