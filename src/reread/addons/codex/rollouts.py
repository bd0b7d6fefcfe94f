"""Rollouts of the Codex CLI: each line is given what the client states only once, and is otherwise left as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reread.addons.codex import dialect
from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.recording.adoption import IsAdopted, Run, read_run

ABOUT = "a rollout of the Codex CLI (in ~/.codex)"
SESSIONS = ("sessions", "archived_sessions")
"""The folders of the client's home that contain rollouts."""
FILES = "rollout-*.jsonl"
ID_LENGTH = 36
"""Characters of the id at the end of a file's name."""


def files(folder: Path) -> list[Path]:
    """Return the rollouts below a folder: the client's home, or one with rollouts in it."""
    homes = [folder / name for name in SESSIONS if (folder / name).is_dir()]
    return sorted(path for home in homes or [folder] for path in home.rglob(FILES))


def recognises(data: bytes) -> bool:
    """True if a file begins as a rollout does."""
    return dialect.looks_like(_value(data.lstrip().partition(b"\n")[0]))


def runs(paths: Sequence[Path], is_adopted: IsAdopted) -> Iterator[Run]:
    """Yield rollouts, one at a time; that of an agent belongs to its session, if that was adopted."""
    for path in sorted(paths, key=lambda path: path.name):  # which begins with the time: agents start after sessions
        data = read_run(path)
        first = _value(data.partition(b"\n")[0])
        id, above = dialect.about(first).get("session") or path.stem[-ID_LENGTH:], dialect.root_session(first)
        if above is not None and is_adopted(dialect.NAME, above):
            lines = list(_lines(data, above, id))
            yield Run(dialect.NAME, above, (), len(lines), {id: lines})
        else:
            lines = list(_lines(data, id))
            yield Run(dialect.NAME, id, lines, len(lines))


def _lines(data: bytes, session: str, agent: str | None = None) -> Iterator[bytes]:
    """Yield the lines of a rollout with `codex` as the first field; a line that is no part of one stays as it is."""
    known = {"session": session, **({"agent": agent} if agent is not None else {})}
    responses = _Responses(agent or session)
    for line in data.splitlines(keepends=True):
        value = _value(line)
        if not dialect.looks_like(value) or not line.startswith(b"{"):
            yield line
            continue
        known = {**known, **dialect.about(value), "session": session}
        response = responses.of(value)
        field = {dialect.NAME: {**known, "response": response} if response else known}
        yield jsontext.dumps(field)[:-1] + b"," + line[1:]


class _Responses:
    """Tells which lines belong to one response.

    The model's items follow each other; a prompt or an answer ends them. Tokens are stated after them, or before.
    """

    def __init__(self, session: str) -> None:
        self._session = session
        self._number = 0
        self._is_open = self._is_counted = False
        self._total = ""

    def of(self, value: dict[str, Any]) -> str | None:
        """Return the id of the response that a line belongs to; None if it belongs to none, or repeats its tokens."""
        payload = as_dict(value.get("payload"))
        if value.get("type") == "response_item":
            is_said = dialect.is_said(payload)
            if is_said and not self._is_open:
                self._start()
            elif as_str(payload.get("role")) or dialect.is_answer(payload):
                self._is_open = is_said
            return self._id() if is_said else None
        if value.get("type") == "compacted":
            self._is_open = False
        usage, total = dialect.tokens(payload)
        if usage is None or total == self._total:
            return None
        self._total = total
        if self._is_counted or not self._number:
            self._start()
        self._is_counted = True
        return self._id()

    def _start(self) -> None:
        self._number += 1
        self._is_open, self._is_counted = True, False

    def _id(self) -> str:
        return f"{self._session}-{self._number}"


def _value(line: bytes) -> dict[str, Any]:
    try:
        return as_dict(jsontext.loads_clean(line))
    except ValueError:
        return {}
