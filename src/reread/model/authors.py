"""Who said what a record holds, by its fields first and its words last."""

from __future__ import annotations

from msgspec import Raw

from reread.base.coerce import as_dict, as_str
from reread.model.content import raw_value
from reread.model.prompt_text import PEER_TAGS, PEER_WORDS, first_tag, prompt_kind
from reread.model.record_kinds import TURN_STARTERS
from reread.records.envelope import RecordEnvelope

PERSON, MODEL, COMMAND, HOOK, PEER, TASK, CLIENT = "person", "model", "command", "hook", "peer", "task", "client"
AUTHORS = (PERSON, MODEL, COMMAND, HOOK, PEER, TASK, CLIENT)
"""Who can say something in a session."""

HUMAN = "human"
"""The origin of what a person typed."""
ORIGINS = {
    HUMAN: PERSON,
    "task-notification": TASK,
    "peer": PEER,
    "coordinator": PEER,
    "observer": PEER,
    "channel": PEER,
}
"""The author by the origin that a record states; of any other origin, the client."""
BY_KIND = {
    ("user", "command"): COMMAND,
    ("user", "output"): COMMAND,
    ("user", "hook"): HOOK,
    ("assistant", "response"): MODEL,
    ("system", "output"): COMMAND,
    ("system", "hook"): HOOK,
}
"""The author of a message by its role and kind, if these say it; of any other, the client."""


def user_kind(envelope: RecordEnvelope, text: str) -> str:
    """Return the kind of message that a user record with this text becomes."""
    if envelope.isCompactSummary:
        return "summary"
    origin = origin_kind(envelope.origin)
    kind = prompt_kind(text)
    if origin == HUMAN:
        return kind if kind == "command" else "prompt"
    if kind not in TURN_STARTERS:
        return kind
    if origin is not None:
        return "notification"
    if envelope.isMeta or envelope.isVisibleInTranscriptOnly or envelope.sourceToolUseID:
        return "meta"
    return "notification" if envelope.promptSource == "system" else kind


def user_author(kind: str, origin: str | None, text: str, *, in_agent: bool) -> str:
    """Return who said a message of the role user."""
    if kind == "prompt":
        return MODEL if in_agent and origin != HUMAN else PERSON
    tag = first_tag(text)
    if kind == "notification":
        if tag in PEER_TAGS or text.startswith(PEER_WORDS):
            return PEER
        if origin is not None:
            return ORIGINS.get(origin, CLIENT)
        return TASK if tag and tag != "tick" else CLIENT
    if kind == "meta" and tag.endswith("-hook"):
        return HOOK
    return BY_KIND.get(("user", kind), CLIENT)


def origin_kind(raw: Raw) -> str | None:
    """Return where a record says that it comes from, such as `human` or `peer`; None if it does not say."""
    return as_str(as_dict(raw_value(raw)).get("kind")) if raw else None
