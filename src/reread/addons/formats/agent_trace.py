"""A session as a record of Agent Trace, version 0.1.0: the lines that each turn wrote, in the files as it left them.

https://github.com/cursor/agent-trace
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from reread.addons.formats._model_context import refuse_choice
from reread.base import jsontext
from reread.base.paths import is_below
from reread.base.version import __version__
from reread.history.blame_lines import LineBlame, LineOrigin
from reread.history.line_trace import TracedVersion, line_numbers, trace_lines
from reread.history.versions import FileHistory
from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection
from reread.session.session import Session

VERSION = "0.1.0"
CODEX, CLAUDE = "codex", "claude-code"
PROVIDERS = {"claude": "anthropic", "gpt": "openai", "o": "openai"}
"""Who offers a model, by how its name begins, as models.dev writes it."""
LONGEST_MODEL = 250
_UUID = uuid.UUID("6f1b1f0e-5a55-4d0e-9a34-7e1e6d0c5f0a")
"""The space of names in which a session has the id of its record."""


def session_agent_trace(session: Session, selection: Selection) -> Iterator[bytes]:
    """A session as one JSON object."""
    refuse_choice(selection, "agent-trace", turns=True)
    yield jsontext.dumps(_Trace(session, selection).record())
    yield b"\n"


class _Trace:
    def __init__(self, session: Session, selection: Selection) -> None:
        self._session = session
        self._turns = set(selection.turn_numbers(len(session.turns)))
        self._files = session.files
        self._traces: dict[str, list[TracedVersion]] = {}
        threads = (session.conversation, *session.agents.values())
        self._models = {call.id: call.message.model for thread in threads for call in thread.calls}
        self._address = _address(session.id)

    def record(self) -> dict[str, Any]:
        """Return the record."""
        session = self._session
        time = session.ended or session.started or datetime.fromtimestamp(0, UTC)
        name = CODEX if CODEX in session.dialects else CLAUDE
        files = [file for history in self._files.values() if (file := self._file(history)) is not None]
        return {
            "version": VERSION,
            "id": str(uuid.uuid5(_UUID, session.id)),
            "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "tool": {"name": name, "version": session.versions[-1] if session.versions else "unknown"},
            "files": files,
            "metadata": {"dev.reread": {"version": __version__, "session": session.id}},
        }

    def _file(self, history: FileHistory) -> dict[str, Any] | None:
        """Return the lines of a file that turns of the session wrote; None if there are none, or it is elsewhere."""
        project = self._session.project
        last = history.versions[-1]
        text = last.after.text if last.whole and last.after is not None and not last.gone else ""
        if not text or not is_below(history.path, project) or history.path == project:
            return None
        origins = LineBlame(self._traces_of, history.path).of(line_numbers(text))
        lines = text.split("\n")
        found: dict[tuple[int, str | None], list[dict[str, Any]]] = {}
        for first, end, origin in _runs(origins):
            turn = origin.version.turn
            if turn is not None and turn in self._turns:
                model = self._models.get(origin.version.call or "")
                content = "\n".join(lines[first:end]).encode("utf-8", "surrogatepass")
                hashed = f"sha256:{hashlib.sha256(content).hexdigest()}"
                place = {"start_line": first + 1, "end_line": end, "content_hash": hashed}
                found.setdefault((turn, model), []).append(place)
        if not found:
            return None
        path = history.path[len(project.rstrip("/\\")) + 1 :].replace("\\", "/")
        conversations = [
            self._conversation(*key, ranges) for key, ranges in sorted(found.items(), key=lambda one: one[0][0])
        ]
        return {"path": path, "conversations": conversations}

    def _conversation(self, turn: int, model: str | None, ranges: list[dict[str, Any]]) -> dict[str, Any]:
        contributor = {"type": "ai", **({"model_id": _model_id(model)} if model else {})}
        related = [{"type": "turn", "url": f"{self._address}#turn-{turn}"}]
        return {"url": self._address, "contributor": contributor, "ranges": ranges, "related": related}

    def _traces_of(self, path: str) -> list[tuple[str, Sequence[TracedVersion]]]:
        if path not in self._files:
            return []
        if path not in self._traces:
            self._traces[path] = trace_lines(self._files[path], lambda _: "")
        return [(self._session.id, self._traces[path])]


def _runs(origins: Sequence[LineOrigin | None]) -> Iterator[tuple[int, int, LineOrigin]]:
    """Yield the ranges of lines that one call wrote: the first, and the one after the last."""
    start = 0
    for at in range(1, len(origins) + 1):
        origin = origins[start]
        if at == len(origins) or _maker(origins[at]) != _maker(origin):
            if origin is not None:
                yield start, at, origin
            start = at


def _maker(origin: LineOrigin | None) -> tuple[int | None, str | None] | None:
    return (origin.version.turn, origin.version.call) if origin is not None else None


def _address(id: str) -> str:
    """Return the address of a session: its id is all that it has."""
    try:
        return f"urn:uuid:{uuid.UUID(id)}"
    except ValueError:
        return f"urn:reread:{quote(id or 'session', safe='')}"


def _model_id(model: str) -> str:
    provider = next((name for start, name in PROVIDERS.items() if model.startswith(start)), None)
    return (model if "/" in model or provider is None else f"{provider}/{model}")[:LONGEST_MODEL]


FORMAT = ExportFormat(
    session_agent_trace,
    about="which turn wrote which lines, as a record of Agent Trace 0.1.0",
    readers="programs that distinguish agents' code from people's",
)
