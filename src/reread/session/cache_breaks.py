"""Cache breaks: requests that had to write again what was cached, each with its cause as far as there is evidence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from reread.accounting.billing import Charge, UsageRow, charge_of, message_charges, rates_of, to_dollars
from reread.accounting.prices import Rates, current_prices, model_text, parse_model_id
from reread.base import jsontext
from reread.base.choices import CacheBreakCause
from reread.base.coerce import as_dict, as_int, as_list, as_str
from reread.base.format import duration_text, tokens_text
from reread.base.times import timestamp_ms
from reread.model.compaction_linker import first_index
from reread.model.conversation import Agent, Compaction, Conversation, Message, Request
from reread.model.record_kinds import TURN_STARTERS
from reread.model.request_index import NOT_NOTED
from reread.records.blocks import RedactedThinking, Thinking

Evidence = Literal["server", "requests", "time", "transcript", "usage", "none"]
"""What tells the cause: the API itself, the difference of the two requests, the time since the cache was used against
the life that was paid for, other records of the transcript, how many tokens were sent and read, or nothing."""
CAUSES: tuple[CacheBreakCause, ...] = get_args(CacheBreakCause)

LEAST_TOKENS, LEAST_SHARE = 2_000, 20
"""A break has lost so many tokens, and one of so many of what was cached: less is the granularity of the cache."""
LIFE_5M, LIFE_1H = 300, 3600
LIVES = {"5m": LIFE_5M, "1h": LIFE_1H}
"""What the client says that it asked for."""
MOST_TOOLS = 3
"""So many tools are named that came or went."""
LEAVING = frozenset({"exit", "quit"})
"""The commands that end the client."""
RESUMED = b'"SessionStart:resume"'
"""What hooks note when a session is taken up again."""
MOST_ENDS = 200
"""How many responses that cached as much as was read are looked at, the last ones first."""
LIFE_REACH = 20
"""How many responses back the last cache write is looked for."""
DIAGNOSES: dict[str | None, CacheBreakCause] = {
    "tools_changed": "tools_changed",
    "system_changed": "system_changed",
    "messages_changed": "messages_changed",
    "model_changed": "model_changed",
}
"""The causes that the API names; its other answers say that it does not know."""


class CacheBreak(msgspec.Struct, frozen=True):
    """A request that had to write again what was cached."""

    message: str
    """The id of the response."""
    line: int
    """The line of its first record."""
    turn: int | None
    """The turn of its thread; None on an abandoned branch."""
    agent: str | None
    """The id of the agent; None in the main thread."""
    time_ms: int | None
    """When it began, in milliseconds since 1970."""
    model: str | None
    """The model that answered."""
    cause: CacheBreakCause
    """Why the cache could not be used, by the best evidence."""
    evidence: Evidence
    """Where the cause is from: server (the API's diagnosis), requests (their difference), time, transcript, usage (how
    many tokens were sent and read), or none."""
    tokens: int
    """Tokens that were written again: those that were cached and not read, at most all that the request wrote."""
    cost_usd: float | None
    """What writing them cost more than reading them would have; None if the model has no price."""
    gap_seconds: float | None
    """From the last use of the cache to the request."""
    cached_tokens: int
    """Tokens that the request before had read or written."""
    read_tokens: int
    """Tokens that were still read."""
    detail: str = ""
    """The cause in a few words: how long it was idle, which model it was before."""


class CacheBreaks:
    """The cache breaks of one thread, found when asked for."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._agent = conversation.id if isinstance(conversation, Agent) else None
        self._responses: dict[int, list[Message]] = {}
        """Responses by branch, in file order."""
        self._indexed = 0
        self._ends: dict[int, list[Message]] = {}
        """Responses by how much was cached after them, in file order."""
        self._ended = 0

    def __iter__(self) -> Iterator[CacheBreak]:
        for message in self._conversation.messages:
            if (found := self.of(message)) is not None:
                yield found

    def of(self, message: Message) -> CacheBreak | None:
        """Return the cache break of a response, if it is one."""
        rows = message.rows if message.kind == "response" else []
        before = self._before(message) if rows and _writes(charge_of(rows[0].usage, None)) >= LEAST_TOKENS else None
        if before is None:
            return None
        cached = _cached(before.rows[-1])
        now = message_charges(rows[0].usage, rows[0].model)[0]
        lost = cached - now.read
        if min(lost, _writes(now)) < LEAST_TOKENS or lost * LEAST_SHARE < cached:
            return None
        cached -= _cleared_tokens(message)
        tokens = min(cached - now.read, _writes(now), _writes(charge_of(rows[0].usage, None)))
        if tokens < LEAST_TOKENS:
            return None
        used, sent = self._last_use(before, message), self._sent(message)
        gap = (sent - used) / 1000 if used is not None and sent is not None and sent >= used else None
        cause, evidence, detail = self._cause(before, message, gap, now)
        if self._is_thinking_dropped(before, message, now, certain=cause not in UNCERTAIN):
            return None
        time_ms = timestamp_ms(message.stamp)
        return CacheBreak(
            message=message.id,
            line=message.line,
            turn=message.turn.index if message.active else None,
            agent=self._agent,
            time_ms=time_ms,
            model=rows[0].model,
            cause=cause,
            evidence=evidence,
            tokens=tokens,
            cost_usd=rewriting_cost(rates_of(now, time_ms, current_prices()), tokens, hour_tokens(tokens, now)),
            gap_seconds=gap,
            cached_tokens=cached,
            read_tokens=now.read,
            detail=detail,
        )

    def _before(self, message: Message) -> Message | None:
        """Return the last response with usage before another one on its branch."""
        messages = self._conversation.messages
        for known in messages[self._indexed :]:
            if known.kind == "response":
                self._responses.setdefault(known.branch, []).append(known)
        self._indexed = len(messages)
        branch: int | None = message.branch
        limit = message.records[0]
        while branch is not None:
            responses = self._responses.get(branch, [])
            for at in range(bisect_right(responses, limit - 1, key=lambda known: known.records[0]) - 1, -1, -1):
                rows = responses[at].rows
                if rows and charge_of(rows[-1].usage, None).prompt:
                    return responses[at]
            fork = self._conversation.tree.forks[branch]
            branch, limit = fork.parent, min(limit, fork.record + 1)
        return None

    def _cause(
        self, before: Message, message: Message, gap: float | None, now: Charge
    ) -> tuple[CacheBreakCause, Evidence, str]:
        """Return the cause by the best evidence, that evidence, and the cause in words.

        The server's word comes first. Else what was read tells where the prompt was cached no more: a change explains
        that, unless the cache had expired and less was read than stands before the change. Time explains what is left,
        then what else is recorded, and last what the tokens themselves show.
        """
        read = now.read
        diagnosis = DIAGNOSES.get(_diagnosis(message))
        known = self._recorded_cause(before, message)
        if diagnosis == "messages_changed" and known is not None and known[0] in CHANGES_OF_MESSAGES:
            return known[0], "server", known[1]
        if diagnosis is not None:
            return diagnosis, "server", _model_change(before, message) if diagnosis == "model_changed" else ""
        expired = gap is not None and gap > self._life(before)
        old, new = self._request(before), self._request(message)
        change = _change(old, new) if old is not None and new is not None else None
        if old is not None and change is not None and not (expired and _is_before(read, _reach(old, before, change))):
            if change.cause == "messages_changed" and known is not None and known[0] in CHANGES_OF_MESSAGES:
                return known[0], "requests", known[1]
            return change.cause, "requests", change.detail or _model_change(before, message)
        # No model reads the cache of another one; and the beginning of a prompt that was replaced was still read.
        certain = known is not None and (
            known[0] == "model_changed" or (known[0] in ("compaction", "context_edited") and read >= LEAST_TOKENS)
        )
        if expired and gap is not None and not certain:
            cause = "idle_over_1h" if gap > LIFE_1H else "idle_over_5m"
            return cause, "time", f"{duration_text(round(gap / 60) * 60)} idle"
        if known is not None:
            return known[0], "transcript", known[1]
        first = next((known for known in self._responses.get(0, ()) if known.rows), before)
        # Settings are part of what the cache is found by: where some of the conversation was read, they did not change.
        if read <= _cached(first.rows[-1]) and (detail := _setting_change(before, message)):
            return "settings_changed", "transcript", detail
        less = _cached(before.rows[-1]) - now.prompt
        if less >= LEAST_TOKENS and (old is None or new is None):
            return "shortened", "usage", f"the prompt is {tokens_text(less)} tokens shorter"
        if read and (detail := self._reach_of(before, message, read)):
            return "partly_cached", "usage", detail
        if read and message_charges(first.rows[0].usage, None)[0].read == read:
            return "partly_cached", "usage", "nothing of the conversation was read"
        of_it = f"{tokens_text(read)} of {tokens_text(_cached(before.rows[-1]))} tokens were read"
        return "unknown", "none", of_it if read else "nothing was read"

    def _request(self, message: Message) -> Request | None:
        """Return the request that got a response, if the client noted it."""
        requests = self._conversation.requests
        number = bisect_left(self._conversation.metadata.requests, message.records[0])
        found = requests[number - 1] if number else None
        asked = _recorded(message, "requestRef")
        return found if found is not None and asked in (None, found.id) else None

    def _recorded_cause(self, before: Message, message: Message) -> tuple[CacheBreakCause, str] | None:
        """Return the cause that other records tell, with words for it."""
        if detail := _model_change(before, message):
            return "model_changed", detail
        compactions = self._compactions(before, message)
        if any(not compaction.micro for compaction in compactions):
            trigger = next((f" ({c.trigger})" for c in compactions if not c.micro and c.trigger), "")
            return "compaction", f"compacted{trigger}"
        if compactions or _cleared_tokens(message):
            return "context_edited", "old results cleared"
        if before.branch != message.branch:
            return "rewind", "rewound"
        if detail := self._resumed(before, message):
            return "resume", detail
        if self._is_of_parent(before) and not self._is_of_parent(message):
            return "agent_start", "agent started from this conversation"
        return None

    def _compactions(self, before: Message, message: Message) -> list[Compaction]:
        """Return the compactions between two responses, on their branch."""
        found = self._conversation.compactions
        first = bisect_right(found, before.index, key=first_index)
        last = bisect_right(found, message.index, key=first_index)
        marks = ((compaction, compaction.boundary or compaction.summary) for compaction in found[first:last])
        return [c for c, mark in marks if mark is not None and self._conversation.is_on(mark, message.branch)]

    def _resumed(self, before: Message, message: Message) -> str:
        """Say how the session was taken up again between two responses; empty if no record tells that it was."""
        records = self._conversation.records
        old, new = records[before.records[-1]].envelope, records[message.records[0]].envelope
        if old.version and new.version and old.version != new.version:
            return f"resumed with client {new.version}"
        if (old.sessionId and new.sessionId and old.sessionId != new.sessionId) or bool(old.forkedFrom) != bool(
            new.forkedFrom
        ):
            return "forked"
        between = (records[index] for index in range(before.records[-1] + 1, message.records[0]))
        commands = (known.command for known in self._conversation.messages[before.index + 1 : message.index])
        left = any(command is not None and command.name.lstrip("/") in LEAVING for command in commands)
        is_new = left or any(record.type == "cost-state" or RESUMED in record.body for record in between)
        return "resumed" if is_new else ""

    def _reach_of(self, before: Message, message: Message, read: int) -> str:
        """Say up to where the prompt was read, if that is where a request before the last one ended."""
        messages = self._conversation.messages
        for known in messages[self._ended :]:
            if known.kind == "response" and known.rows:
                self._ends.setdefault(_cached(known.rows[-1]), []).append(known)
        self._ended = len(messages)
        for earlier in islice(reversed(self._ends.get(read, [])), MOST_ENDS):
            if earlier.index < before.index and self._conversation.is_on(earlier, message.branch):
                inside = "an earlier request of " if earlier.turn.index == message.turn.index else ""
                return f"nothing after {inside}turn {earlier.turn.index} was read"
        return ""

    def _is_of_parent(self, message: Message) -> bool:
        """True if a response of an agent is a copy of one of the conversation that started it."""
        conversation = self._conversation
        if not isinstance(conversation, Agent) or conversation.owner is None:
            return False
        parent = conversation.parent or conversation.owner.conversation
        return message.id in parent.messages_by_id

    def _last_use(self, before: Message, message: Message) -> int | None:
        """Return when the cache was last used.

        By the request before, by one that continued it on a branch, or by a compaction, which reads it all.
        """
        conversation = self._conversation
        marks = [c.boundary for c in self._compactions(before, message) if c.boundary is not None and not c.micro]
        others = [
            known
            for known in conversation.messages[before.index + 1 : message.index]
            if known.kind == "response" and known.rows and conversation.is_on(before, known.branch)
        ]
        times = (*map(self._sent, (before, *others)), *(timestamp_ms(mark.stamp) for mark in marks))
        return max((time for time in times if time is not None), default=None)

    def _sent(self, message: Message) -> int | None:
        """Return when the request of a response was sent: after what it hangs below, and after the response before."""
        records, before = self._conversation.records, self._before(message)
        parent = self._conversation.tree.parent(message.records[0])
        ends = [index for index in (parent, before.records[-1] if before is not None else -1) if index >= 0]
        if parent < 0 or records[parent].type == "assistant":
            return timestamp_ms(message.stamp)
        times = (timestamp_ms(self._conversation.bodies.stamp(index)) for index in ends)
        return max((time for time in times if time is not None), default=None)

    def _life(self, before: Message) -> int:
        """Return for how many seconds the cache was paid to live: as requested, else by what was last written."""
        asked = _recorded(before, "promptCacheRequested")
        if asked in LIVES:
            return LIVES[asked]
        at: Message | None = before
        for _ in range(LIFE_REACH):
            charge = charge_of(at.rows[-1].usage, None) if at is not None else Charge()
            if _writes(charge):
                return LIFE_5M if charge.write_5m else LIFE_1H
            at = self._before(at) if at is not None else None
        return LIFE_5M

    def _is_thinking_dropped(self, before: Message, message: Message, now: Charge, *, certain: bool) -> bool:
        """True if no more is lost than the turn before, whose thoughts the API leaves out once there is a new prompt.

        What is read then shows that the conversation was still cached; in the second turn it may be the system prompt
        alone, which other sessions share: there a certain cause counts.
        """
        if not any(
            known.kind in TURN_STARTERS for known in self._conversation.messages[before.index + 1 : message.index]
        ):
            return False
        has_thoughts, at = False, before
        while True:
            has_thoughts = has_thoughts or any(isinstance(b, Thinking | RedactedThinking) for b in at.blocks)
            earlier = self._before(at)
            between = self._conversation.messages[earlier.index + 1 : at.index] if earlier is not None else []
            if earlier is None or any(known.kind in TURN_STARTERS for known in between):
                is_read = _cached(at.rows[0]) - now.read < LEAST_TOKENS
                return has_thoughts and is_read and (earlier is not None or not certain)
            at = earlier


UNCERTAIN = frozenset({"unknown", "resume", "shortened", "partly_cached"})
"""The causes that leave open whether it was only the thinking of the turn before that was lost."""
CHANGES_OF_MESSAGES = frozenset({"compaction", "context_edited", "rewind", "resume", "agent_start"})
"""What the API, or a comparison of two requests, can only call changed messages."""


class _Change(NamedTuple):
    """The first difference of two requests: its cause, its words, and how many parts of it stand before, in order."""

    cause: CacheBreakCause
    detail: str = ""
    part: str = ""
    place: int = 0


def _change(old: Request, new: Request) -> _Change | None:
    """Return what two requests do not have in common, first things first; None if the one continues the other."""
    if old.model != new.model:
        return _Change("model_changed")
    if old.shape_hash != new.shape_hash and (old.system or old.tools) and (new.system or new.tools):
        if old.tools != new.tools:
            return _Change("tools_changed", _tool_changes(old.tools, new.tools))
        if old.system != new.system:
            return _Change("system_changed", "system prompt changed", "system", _common(old.system, new.system))
    hashes = old.message_hashes
    same = _common(hashes, new.message_hashes)
    if same < min(len(hashes), len(new.message_hashes)):
        return _Change("messages_changed", f"message {same + 1} of {len(hashes)} changed", "messages", same)
    return None


def _common(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Return how many items two lists begin with alike; an item that is not known may be any."""
    pairs = enumerate(zip(old, new, strict=False))
    differ = (at for at, (one, other) in pairs if one != other and NOT_NOTED not in (one, other))
    return next(differ, min(len(old), len(new)))


def _reach(request: Request, response: Message, change: _Change) -> int:
    """Return about how many tokens of a request were cached before a change: its prompt is shared out by bytes.

    Messages are cached one after the other, a system prompt only up to its cache marks.
    """
    place = change.place
    if change.part == "system":
        paths = [tuple(mark.path or ()) for mark in request.cache_marks]
        place = max((n + 1 for n in range(place) if ("system", n) in paths), default=-len(request.tools))
    elif change.part == "messages":
        place += len(request.system)
    else:
        return 0
    parts = [*request.tools, *request.system, *request.messages]
    sizes = [len(jsontext.dumps(part)) for part in parts]
    prompt = charge_of(response.rows[-1].usage, None).prompt
    return prompt * sum(sizes[: len(request.tools) + place]) // (sum(sizes) or 1)


def _is_before(read: int, reach: int) -> bool:
    """True if clearly less was read than reaches up to a change, of which bytes give only a rough idea."""
    return reach - read >= LEAST_TOKENS and read * 4 < reach * 3


def _recorded(message: Message, name: str) -> str | None:
    """Return a text that the client wrote on the first record of a response."""
    return as_str(message.bodies.native(message.records[0]).get(name))


def _cached(row: UsageRow) -> int:
    """Return the length of what is cached after a request."""
    last = message_charges(row.usage, None)[-1]
    return last.read + _writes(last)


def _writes(charge: Charge) -> int:
    return charge.write_5m + charge.write_1h


def _diagnosis(message: Message) -> str | None:
    """Return why the API says that the cache was missed."""
    for index in message.records:
        api = as_dict(message.bodies.native(index).get("message"))
        reason = as_dict(as_dict(api.get("diagnostics")).get("cache_miss_reason"))
        if found := as_str(reason.get("type")):
            return found
    return None


def _cleared_tokens(message: Message) -> int:
    """Return how many tokens the API itself removed from the context for a response."""
    edits: dict[str | None, int] = {}
    for index in message.records:
        api = as_dict(message.bodies.native(index).get("message"))
        for edit in as_list(as_dict(api.get("context_management")).get("applied_edits")):
            edits[as_str(as_dict(edit).get("type"))] = max(0, as_int(as_dict(edit).get("cleared_input_tokens")) or 0)
    return sum(edits.values())


def _model_change(before: Message, message: Message) -> str:
    old, new = before.rows[-1].model, message.rows[0].model
    if old is None or new is None or parse_model_id(old).model == parse_model_id(new).model:
        return ""
    return f"model switched from {model_text(old)} to {model_text(new)}"


def _setting_change(before: Message, message: Message) -> str:
    """Say which setting that the cache is found by changed between two responses, as far as the client noted them."""
    for name, old, new in (
        ("speed", before.rows[-1].usage.speed, message.rows[0].usage.speed),
        ("effort", _effort(before), _effort(message)),
        ("thinking", _thinking(before), _thinking(message)),
    ):
        if old is not None and new is not None and old != new:
            return f"{name} changed from {old} to {new}"
    return ""


def _effort(message: Message) -> str | None:
    """Return the effort that a response was asked for, where a change of it needs another cache."""
    return None if _recorded(message, "perTurnEffort") else _recorded(message, "effort")


def _thinking(message: Message) -> str | None:
    """Return how much thinking the prompt of a response asked for."""
    prompt = message.turn.prompt
    noted = as_dict(prompt.bodies.native(prompt.records[0]).get("thinkingMetadata")) if prompt is not None else {}
    budget = as_int(noted.get("maxThinkingTokens"))
    return as_str(noted.get("level")) if budget is None else tokens_text(budget)


def _tool_changes(old: list[Any], new: list[Any]) -> str:
    """Say which tools came, went or changed."""
    was, now = ({str(as_dict(tool).get("name")): tool for tool in tools} for tools in (old, new))
    came = [f"+{name}" for name in now if name not in was] + [f"−{name}" for name in was if name not in now]
    changed = [name for name in now if name in was and now[name] != was[name]]
    names = came or changed
    more = f" and {len(names) - MOST_TOOLS} more" if len(names) > MOST_TOOLS else ""
    return f"tools changed: {', '.join(names[:MOST_TOOLS]) or 'their order'}{more}"


def hour_tokens(tokens: int, charge: Charge) -> int:
    """Return how many of the tokens that a request wrote again it wrote for an hour."""
    return tokens * charge.write_1h // _writes(charge)


def rewriting_cost(rates: Rates | None, tokens: int, one_hour: int) -> float | None:
    """Return what writing tokens cost more than reading them would have; None if their model has no price."""
    if rates is None:
        return None
    picos = rates.cost(0, 0, tokens - one_hour, one_hour, 0, 0) - rates.cost(0, 0, 0, 0, tokens, 0)
    return to_dollars(max(0, picos + 500) // 1000)
