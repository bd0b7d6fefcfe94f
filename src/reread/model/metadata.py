"""The fields of records that are about a session as a whole."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from msgspec import Raw

from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.records.envelope import RecordEnvelope

METADATA_LISTS = {
    "api-request": "requests",
    "api-request-blob": "request_parts",
    "api-request-shape": "request_parts",
    "init": "inits",
    "pr-link": "pr_links",
    "result": "results",
    "run": "runs",
}
"""The list in the metadata that keeps the records of a type or system subtype."""
NATIVE_STAMP = len("2026-11-15T00:00:00.000Z")


class Metadata:
    """Ids, folders, versions, titles and times, collected from envelopes."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.ids_at: list[int] = []
        """The record at which each id first appears."""
        self.cwds: UniqueList = UniqueList()
        self.git_branches: list[str] = []
        self.versions: UniqueList = UniqueList()
        self.slugs: UniqueList = UniqueList()
        self.entrypoints: UniqueList = UniqueList()
        self.permission_modes: list[str] = []
        self.models: UniqueList = UniqueList()
        self.first_stamp: str | None = None
        self.last_stamp: str | None = None
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.summaries: list[tuple[str, str | None]] = []
        """Titles of old versions, each with the leaf it belongs to."""
        self.pr_links: list[int] = []
        self.results: list[int] = []
        """The records that end a run in a stream."""
        self.runs: list[int] = []
        """The records that say that a capture began or ended."""
        self.inits: list[int] = []
        self.requests: list[int] = []
        """The records that note an API request."""
        self.request_parts: list[int] = []
        """The records with messages, system prompts and tools of such requests."""
        self.continued_in: UniqueList = UniqueList()
        self.forked_from: dict[str, Any] | None = None
        self._last: tuple[str | None, ...] = ()

    def of(self, name: str) -> list[int]:
        """Return one of the lists of record indexes by name."""
        return cast(list[int], getattr(self, name))

    def note_state(self, envelope: RecordEnvelope) -> None:
        """Add what a record of session state says."""
        if envelope.customTitle is not None:
            self.custom_title = envelope.customTitle
        if envelope.aiTitle is not None:
            self.ai_title = envelope.aiTitle
        if envelope.summary:
            self.summaries.append((_text(envelope.summary), envelope.leafUuid))
        if envelope.continuedInSessionId:
            self.continued_in.add(envelope.continuedInSessionId)

    def note(self, envelope: RecordEnvelope, index: int) -> None:
        """Add what the envelope of any record says."""
        stamp = envelope.timestamp
        if stamp is not None:
            if self.last_stamp is None or stamp > self.last_stamp:
                if is_timestamp(stamp):
                    self.last_stamp = stamp
                    self.first_stamp = self.first_stamp or stamp
            elif self.first_stamp is None or (stamp < self.first_stamp and is_timestamp(stamp)):
                self.first_stamp = stamp
        seen = (
            envelope.sessionId,
            envelope.cwd,
            envelope.gitBranch,
            envelope.version,
            envelope.slug,
            envelope.entrypoint,
            envelope.permissionMode,
        )
        if seen == self._last:
            return
        self._last = seen
        if envelope.forkedFrom and self.forked_from is None:
            self.forked_from = as_dict(jsontext.loads_clean(bytes(envelope.forkedFrom))) or None
        if envelope.sessionId and (not self.ids or envelope.sessionId != self.ids[-1]):
            self.ids.append(envelope.sessionId)
            self.ids_at.append(index)
        self.cwds.add(envelope.cwd)
        _append_change(self.git_branches, envelope.gitBranch)
        self.versions.add(envelope.version)
        self.slugs.add(envelope.slug)
        self.entrypoints.add(envelope.entrypoint)
        _append_change(self.permission_modes, envelope.permissionMode)


class UniqueList(list[str]):
    """Values in the order they first came, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def add(self, value: str | None) -> None:
        """Append a value that is new."""
        if value and value not in self._seen:
            self._seen.add(value)
            self.append(value)


def is_timestamp(stamp: str) -> bool:
    """True if a timestamp can be parsed; only unusual forms are looked at closely."""
    if len(stamp) == NATIVE_STAMP and stamp[-1] == "Z":
        return True
    try:
        datetime.fromisoformat(stamp)
    except ValueError:
        return False
    return True


def _append_change(values: list[str], value: str | None) -> None:
    """Append a value that differs from the last."""
    if value and (not values or values[-1] != value):
        values.append(value)


def _text(raw: Raw) -> str:
    value = jsontext.loads_clean(bytes(raw))
    return value if isinstance(value, str) else jsontext.dumps(value).decode()
