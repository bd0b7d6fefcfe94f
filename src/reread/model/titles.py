"""The title of a session that has none: from its first prompt, a command, its first answer or a summary."""

from __future__ import annotations

from reread.base.text import as_title
from reread.model.authors import user_kind
from reread.model.content import first_text
from reread.model.prompt_text import LOCAL_COMMANDS, first_tag, parse_prompt
from reread.model.record_kinds import SYNTHETIC, TURN_STARTERS
from reread.records.decode import Record
from reread.records.envelope import RecordEnvelope

REACH = 1 << 18
"""A title is looked for in the lines that begin within this many bytes."""
PLAN = "Implement the following plan:"
"""How the prompt begins with which the client has a plan carried out."""
REQUEST = "Primary Request and Intent:"
"""The text before the gist of a compaction's summary."""
QUEUED, BLOCKED = ("queue-operation", None), ("system", "informational")
"""The type and subtype of the records that keep a prompt that was not sent."""
ORIGINAL_PROMPT = "\nOriginal prompt: "
"""The text before a prompt that a hook blocked."""


class TitleSearch:
    """Looks for a title in the records of a session, the first ones first."""

    def __init__(self) -> None:
        self.prompt: str | None = None
        """The first prompt that a person typed; nothing better can follow."""
        self._command: str | None = None
        self._local_command: str | None = None
        self._answer: str | None = None
        self._summary: str | None = None
        self._unsent: str | None = None
        """A prompt that no record of the person repeats: a hook blocked it, or the client ended first."""
        self._task: str | None = None
        """The prompt of an agent."""
        self._report: str | None = None
        """The first answer of an agent."""

    @property
    def command(self) -> str | None:
        """The first command sent to the model, else the first one that the client ran itself."""
        return self._command or self._local_command

    @property
    def rest(self) -> str | None:
        """The title of a session in which nobody typed anything."""
        return self._unsent or self._answer or self._summary or self._task or self._report

    def read(self, record: Record) -> None:
        """Read the next record."""
        envelope = record.envelope
        if self.prompt is not None:
            return
        if envelope.message is None:
            self._unsent = self._unsent or _unsent(record)
            return
        of_agent = bool(envelope.isSidechain or envelope.parentToolUseID)
        text = first_text(envelope.message.content)
        if envelope.type == "user" and of_agent:
            self._task = self._task or _typed(text)
        elif envelope.type == "user":
            self._read_user(envelope, text)
        elif envelope.type == "assistant" and envelope.message.model != SYNTHETIC:
            if of_agent:
                self._report = self._report or as_title(text) or None
            else:
                self._answer = self._answer or as_title(text) or None

    def _read_user(self, envelope: RecordEnvelope, text: str) -> None:
        kind = user_kind(envelope, text)
        if kind == "prompt":
            self.prompt = _typed(text)
        elif kind == "command" and first_tag(text) in (*LOCAL_COMMANDS, ""):
            self._local_command = self._local_command or _typed(text)
        elif kind == "command":
            self._command = self._command or _typed(text)
        elif kind == "summary":
            self._summary = self._summary or as_title(text.partition(REQUEST)[2] or text)


def _unsent(record: Record) -> str | None:
    """Return the prompt that a record keeps although it was not sent: in the queue, or as a hook blocked it."""
    kind = (record.envelope.type, record.envelope.subtype)
    if kind not in (QUEUED, BLOCKED):
        return None
    content = record.native.get("content")
    if not isinstance(content, str):
        return None
    typed = content if kind == QUEUED else content.partition(ORIGINAL_PROMPT)[2]
    return _typed(typed) if parse_prompt(typed).kind in TURN_STARTERS else None


def _typed(text: str) -> str | None:
    """Return the title that a text gives; of a plan, its heading."""
    typed = parse_prompt(text).text.strip()
    if typed.startswith(PLAN):
        lines = (line.strip() for line in typed[len(PLAN) :].split("\n", 40))
        typed = next((line.lstrip("#").strip() for line in lines if line.strip("# ")), typed)
    return as_title(typed) or None
