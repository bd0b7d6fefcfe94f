"""Recall: every word that a view shows of a session is found, and every word that its records hold.

A part of `tests/real` and the samples is read, and of the folder that `REREAD_REAL_CLIENT` names; `batches.py` says how
much.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from batches import each
from effort import one_in

import reread
from reread.base.joined_text import without_escapes
from reread.base.paths import SAMPLES
from reread.disk import layout
from reread.disk.agent_files import first_envelope, session_file
from reread.disk.file_set import find_files
from reread.index.document import KINDS
from reread.index.documents import is_own_call
from reread.index.file_pass import units_after
from reread.index.find import find
from reread.index.terms import LONGEST, word_pieces, words
from reread.index.update import unindexed
from reread.model.parts import MessageCall, MessagePart, message_parts, part_texts
from reread.session.session import threads_of

HERE = Path(__file__).parent / "real"
LARGER = os.environ.get("REREAD_REAL_CLIENT")
FOLDERS = [
    SAMPLES,
    *sorted(path for path in HERE.glob("*/*") if path.is_dir()),
    *(sorted(Path(LARGER, "data").glob("*/*")) if LARGER else []),
]
TAG = re.compile(r"</?[\w-]+>")
LINE_NUMBER = re.compile(r"(?m)^ *\d+(?:→|\t)")
"""The numbers in front of a file's lines are not part of what it says."""
every_folder = each("folder", FOLDERS, ids=lambda path: "/".join(path.parts[-2:]), every=8)


def files_in(folder: Path) -> list[Path]:
    found = (path for path in sorted(folder.rglob("*.jsonl")) if "tool-results" not in path.parts)
    return [path for path in found if path.name not in layout.NON_SESSION_FILES]


def own_words(text: str) -> set[str]:
    plain = LINE_NUMBER.sub("", TAG.sub(" ", without_escapes(text)))
    return {word for word in words(plain) if len(word.encode()) <= LONGEST}


def main_file(path: str) -> str:
    envelope = first_envelope(Path(path))
    return session_file(path, envelope.sessionId or "" if envelope is not None else "")


def words_by_session(paths: list[Path]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, unit, _, _ in units_after(unindexed(None, find_files(None, paths)), []):
        known = found.setdefault(main_file(path), set())
        known |= {*words(unit.text), *(piece.lower() for piece in word_pieces(unit.text))}
    return found


@one_in(2)
@every_folder
def test_every_word_that_a_view_shows_is_in_a_unit(folder: Path) -> None:
    paths = files_in(folder)
    known = words_by_session(paths)
    for path in paths:
        if main_file(str(path)) != str(path):
            continue
        session = reread.open(path)
        for conversation in (threads_of(session).loader.conversation, *session.agents.values()):
            for message in conversation.messages:
                for part in message_parts(message):
                    for text in shown_texts(part):
                        assert own_words(text) <= known.get(str(path), set()), (path, message.line, part)


def shown_texts(part: MessagePart) -> Iterator[str]:
    """The texts of a part, without the title that a tool makes of a call."""
    if isinstance(part, MessageCall) and is_own_call(part.call.name, part.call.input):
        return
    for text in part_texts(part):
        if isinstance(part, MessageCall):
            data = part.call.data
            original = data.get("originalFile") if isinstance(data, dict) else None
            text = text.replace(part.call.title, "", 1).replace(original or "\0", "")
        yield text


def spoken(value: Any) -> Iterator[tuple[str, str]]:
    """The texts of a record as plain JSON has them, with their kinds."""
    kind, message = value.get("type"), value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if kind not in ("user", "assistant") or value.get("isReplay"):
        return
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if kind == "assistant":
                yield "notice" if value.get("isApiErrorMessage") else "text", text
            case {"type": "thinking", "thinking": str(text)}:
                yield "thinking", text
            case {"type": "tool_use", "input": dict(given)}:
                yield from (("input", text) for text in given.values() if isinstance(text, str))
            case {"type": "tool_result", "content": str(text)}:
                yield "result", text
            case {"type": "tool_result", "content": list(parts)}:
                yield from (("result", part["text"]) for part in parts if part.get("type") == "text")


@one_in(4)
@every_folder
def test_every_text_of_a_record_is_found_through_the_index(folder: Path) -> None:
    """The first three words of each text find it as a phrase, and it is of the right kind."""
    paths = files_in(folder)
    sought: dict[tuple[str, str], str] = {}
    for path in paths:
        for line in path.read_bytes().splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            for kind, text in spoken(value) if isinstance(value, dict) else ():
                phrase = "-".join(words(LINE_NUMBER.sub("", without_escapes(text)))[:3])
                if phrase and all(len(word) <= LONGEST for word in phrase.split("-")):
                    sought.setdefault((kind, phrase), str(path))
    assert set(KINDS) >= {kind for kind, _ in sought}
    files = find_files(None, paths)
    for kind, phrase in list(sought)[: 40 if HERE not in folder.parents else 400]:
        found = find(f"{phrase} in:{kind}", files=files, limit=1, strict=True)
        assert found.total > 0, (kind, phrase, sought[kind, phrase])
        assert next(found).match, (kind, phrase)
