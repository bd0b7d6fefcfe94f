"""Everything means everything: every text of every record is in every full view, and so is each value with its name.

The texts are found with nothing but `json` (see `leaves.py`, which lists the few exceptions); numbers and flags are
those of the records that the ledger calls shown. Files of `tests/real`, the samples and the fixtures go through every
view, and of the larger collection that REREAD_REAL_CLIENT names a part; `batches.py` says how much.
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
from batches import each
from effort import one_in
from leaves import letters, pieces, spoken_leaves
from test_html import page_of

import reread
from reread.base.sanitize import plain_text
from reread.reader.session_view import SessionView
from reread.render.json import session_json
from reread.render.markdown import session_markdown
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
    *sorted((HERE / "fixtures" / "seeds").glob("*.jsonl")),
]
MORE_FILES = files_in(Path(LARGER) / "data") if LARGER else []
FATES = ("shown", "merged", "paired", "attached", "orphan")
STRUCTURE = frozenset({"isSidechain", "isMeta", "timestamp"})
"""Flags and numbers that decide where a record is drawn."""
WHOLE = Selection(full=True)

Leaf = tuple[str, Any]


def numbers(value: Any, key: str = "") -> Iterator[Leaf]:
    """Every number and flag in a JSON value with the name of its field."""
    if isinstance(value, dict):
        for field, inner in value.items():
            if field not in STRUCTURE:
                yield from numbers(inner, field)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, "")
    elif isinstance(value, bool | int | float):
        yield key, value


def recorded(session: Any) -> Iterator[tuple[int, Leaf]]:
    """The leaves of all records that views show, with their lines; pieces of a stream are joined before they are."""
    for conversation in (session.conversation, *session.agents.values()):
        for record, fate in zip(conversation.records, conversation.ledger, strict=True):
            said = fate.fate in FATES or (fate.fate == "abandoned" and "attached" not in fate.reason)
            if said and record.type != "stream_event":
                yield from ((record.line, leaf) for leaf in numbers(record.native))


class View:
    """The text of a view, to look leaves up in it."""

    def __init__(self, text: str) -> None:
        self.squeezed = re.sub(r"\s", "", text)
        self.letters = letters(text)

    def has(self, key: str, value: Any) -> bool:
        """True if a number or flag is shown with its name."""
        shown = json.dumps(value)
        return f"{key}:{shown}" in self.squeezed if key else shown in self.squeezed

    def says(self, words: str) -> bool:
        """True if the view has these letters."""
        return words in self.letters


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
    found: list[Any] = [view.overview().state]
    for agent in (None, *session.agents):
        thread = view.thread(agent)
        for branch in thread.conversation.branches:
            found.append(view.page(0, 10**9, agent=agent, branch=branch.id, whole=True))
        found += [view.call(call.index, agent=agent, whole=True) for call in thread.conversation.calls]
    return outline(msgspec.to_builtins(found))


def html(session: Any) -> str:
    page = page_of(session, full=True)
    threads = page.index["threads"]
    return outline([[thread["overview"]["state"], page.items(thread), page.bodies(thread)] for thread in threads])


def as_json(session: Any) -> str:
    return outline(json.loads(b"".join(session_json(session, WHOLE))))


VIEWS = {"terminal": terminal, "markdown": markdown, "reader": reader, "html": html, "json": as_json}


def between(session: Any, kind: str) -> Iterator[tuple[int, Leaf]]:
    """The leaves of setups and, but for JSON, which has the fields of `TurnResult`, of results."""
    marks, conversation = session.conversation.marks, session.conversation
    setups = [index for found in marks.setups.values() for index in found]
    for index in [*setups, *(marks.ended if kind != "json" else ())]:
        record = conversation.records[index]
        yield from ((record.line, leaf) for leaf in numbers(record.native))


def spoken(path: Path) -> dict[str, Leaf]:
    """The letters of every line of every text of a session's file and its agents', each with where it stands."""
    agents = plain.agent_files(path).values() if "projects" in path.parts else ()
    return {
        words: (f"{file.name}:{leaf.line} {'.'.join(leaf.path)}", piece)
        for file in (path, *agents)
        for leaf in spoken_leaves(file)
        for piece in pieces(plain_text(leaf.text))
        if (words := letters(piece))
    }


@one_in(3)
@each("path", [*FILES, *MORE_FILES], ids=lambda path: "/".join(path.parts[-5:]), every=24)
def test_every_recorded_value_is_in_every_full_view(path: Path) -> None:
    session = reread.open(path)
    texts, missing = spoken(path), {}
    for kind, draw in VIEWS.items():
        view = View(draw(session))
        values = [*recorded(session), *between(session, kind)]
        missing[kind] = {(line, key, value) for line, (key, value) in values if not view.has(key, value)}
        missing[kind] |= {leaf for words, leaf in texts.items() if not view.says(words)}
    assert not {kind: found for kind, found in missing.items() if found}
