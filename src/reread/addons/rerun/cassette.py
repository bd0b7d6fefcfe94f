"""What a session recorded of the API: the answers of each thread in order, and the place that a request asks for.

A request is answered by its place, never by a hash of it, because the system prompt holds the date, the folder and the
platform. Its thread is the one whose answers it repeats, or else the one whose first prompt it holds; its place is
after the last of these answers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict, as_int, as_list, as_str
from reread.model.record_kinds import SYNTHETIC

if TYPE_CHECKING:
    from reread.model.conversation import Agent, Conversation, Message
    from reread.session.session import Session

Object = dict[str, Any]
MAIN = ""
"""The name of the main thread; an agent's is its id."""
SUMMARY_BEGINS, SUMMARY_ENDS = "Summary:\n", "\n\nIf you need specific details from before compaction"
CALL, TEXT = "tool_use", "text"
INTERRUPTED = "[Request interrupted by user"
OLD_ERROR = re.compile(r"API Error: (\d{3}) (\{.*)", re.DOTALL)
"""How clients before 2.1 said what the API had answered."""
CLIENTS_WORDS = re.compile(r"^(?:API Error: \d{3} )+")
"""What the client says before the message of an error that it gives up at."""
ERROR_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "authentication_error": 401, "api_error": 500}


class ApiFault(msgspec.Struct, frozen=True):
    """An error that the API answered with."""

    status: int
    type: str
    message: str

    @property
    def body(self) -> dict[str, Any]:
        """The error as the API sends it."""
        return {"type": "error", "error": {"type": self.type, "message": self.message}}


class RecordedAnswer(msgspec.Struct, eq=False):
    """One answer of the API, or an error that ended a turn."""

    thread: str
    number: int
    """Its position in the thread, from 0."""
    turn: int
    """The turn of the thread that it is in, from 1."""
    message: Object | None
    """The message as the API sends it; None if the API only failed."""
    faults: tuple[ApiFault, ...] = ()
    """The errors before it, each of which the client answered with another try."""

    @property
    def calls(self) -> list[Object]:
        """The calls that it makes."""
        return [block for block in self.blocks if block.get("type") == CALL]

    @property
    def blocks(self) -> list[Object]:
        """Its content."""
        return [as_dict(block) for block in as_list(as_dict(self.message).get("content"))]


class RecordedSummary(msgspec.Struct, eq=False):
    """A summary that took the place of what was said before."""

    text: str
    before: int
    """The number of answers before it."""


class RecordedThread:
    """The answers of the main thread or of an agent."""

    def __init__(self, name: str, conversation: Conversation) -> None:
        self.name: str = name
        """The agent's id; empty for the main thread."""
        self.conversation: Conversation = conversation
        self.first_prompts: list[str] = []
        """What was said to it before its first answer."""
        self.summaries: list[RecordedSummary] = []
        self.interrupted: list[tuple[int, int]] = []
        """Where a person interrupted: after how many answers, and in which turn."""
        self.answers: list[RecordedAnswer] = list(self._read())
        self._by_call = {as_str(call.get("id")): one for one in self.answers for call in one.calls}
        self.served = 0
        """The number of answers that were given."""

    def _read(self) -> Iterator[RecordedAnswer]:
        faults: list[ApiFault] = []
        number = 0
        for turn in self.conversation.turns:
            for message in turn.messages:
                if (
                    message.role == "user"
                    and message.kind in ("prompt", "command")
                    and not (number and self.first_prompts)
                ):
                    self.first_prompts += filter(None, [message.full_text.strip()])
                elif message.kind == "interrupt":
                    self.interrupted.append((number, turn.index))
                elif message.kind == "summary":
                    self.summaries.append(RecordedSummary(summary_in(message.full_text), number))
                fault = _fault(message)
                if fault is not None:
                    faults.append(fault)
                elif message.kind == "response" and message.model != SYNTHETIC:
                    yield RecordedAnswer(self.name, number, turn.index, api_message(message), tuple(faults))
                    number, faults = number + 1, []
        if faults:
            yield RecordedAnswer(self.name, number, len(self.conversation.turns), None, tuple(faults))

    def place(self, messages: Sequence[Object]) -> int | None:
        """Return the number of the answer that a request with these messages asks for; None if it is not of here."""
        for said in reversed([one for one in messages if one.get("role") == "assistant"]):
            found = self._find(said)
            if found is not None:
                return found.number + 1
        texts = [text for one in messages for text in request_texts(one)]
        for summary in reversed(self.summaries):
            if any(summary.text in text for text in texts):
                return summary.before
        if any(one.get("role") == "assistant" for one in messages):
            return None
        return 0 if self.begins(messages) else None

    def is_partial(self, number: int) -> bool:
        """True if a person interrupted the client while this answer came."""
        answer = self.answers[number]
        return not answer.calls and (number + 1, answer.turn) in self.interrupted

    def is_cut(self, number: int, messages: Sequence[Object]) -> bool:
        """True if a person interrupted the client before this answer came, and messages do not say so yet."""
        texts = [text for one in messages[_last_answer(messages) + 1 :] for text in request_texts(one)]
        told = sum(INTERRUPTED in text for text in texts)
        return told < sum(after == number for after, _ in self.interrupted)

    def begins(self, messages: Sequence[Object]) -> bool:
        """True if messages hold what the thread was told first."""
        texts = [text for one in messages for text in request_texts(one)]
        return any(prompt in text for prompt in self.first_prompts for text in texts)

    def _find(self, said: Object) -> RecordedAnswer | None:
        """Return the answer that a request repeats; of equal ones, the last that was given."""
        for block in as_list(said.get("content")):
            found = self._by_call.get(as_str(as_dict(block).get("id")))
            if found is not None:
                return found
        texts = [text for text in request_texts(said) if text.strip()]
        equal = [one for one in self.answers if not one.calls and _own_texts(one) == texts]
        given = [one for one in equal if one.number < self.served]
        return given[-1] if given else equal[0] if equal else None


class Cassette:
    """All threads of a session."""

    def __init__(self, session: Session) -> None:
        agents: dict[str, Agent] = {id: agent for id, agent in session.agents.items() if not agent.warmup}
        threads = {MAIN: session.conversation, **agents}
        self.threads: dict[str, RecordedThread] = {
            name: RecordedThread(name, conversation) for name, conversation in threads.items()
        }
        for name, agent in agents.items():
            told = as_str(as_dict(agent.call.input).get("prompt")) if agent.call is not None else None
            if told and not self.threads[name].first_prompts:  # the agent's own file begins with its first answer
                self.threads[name].first_prompts.append(told)
        """The threads by name, the main one first."""
        self.told: dict[str, str] = {
            call.id: call.tool_call.text for thread in threads.values() for call in thread.calls if call.id
        }
        """What the model was told of each call, by its id."""
        self._lock = threading.Lock()

    def find(self, messages: Sequence[Object]) -> tuple[str, int] | None:
        """Return the thread and the number of the answer that messages ask for; None if nothing here fits."""
        with self._lock:
            found = [
                (name, place) for name, thread in self.threads.items() if (place := thread.place(messages)) is not None
            ]
            going = [(name, place) for name, place in found if place]
            if going:
                return max(going, key=lambda one: self.threads[one[0]].served >= one[1])
            fresh = [one for one in found if not self.threads[one[0]].served]
            return (fresh or found or [None])[0]

    def take(self, thread: str, number: int) -> RecordedAnswer | None:
        """Return an answer and note that it was given; None if the record ends before it."""
        with self._lock:
            one = self.threads[thread]
            if number >= len(one.answers):
                return None
            one.served = max(one.served, number + 1)
            return one.answers[number]

    def ends_turn(self, call: str) -> bool:
        """True if nothing was answered after a call in its turn."""
        for thread in self.threads.values():
            for one, following in zip(thread.answers, [*thread.answers[1:], None], strict=True):
                if any(block.get("id") == call for block in one.calls):
                    return following is None or following.turn != one.turn
        return False

    @property
    def retries(self) -> int:
        """How often a client has to try again after an error to get what was recorded."""
        answers = (answer for thread in self.threads.values() for answer in thread.answers)
        return max((len(one.faults) - (one.message is None) for one in answers), default=0)

    @property
    def left(self) -> list[RecordedAnswer]:
        """The answers that nobody asked for."""
        return [answer for thread in self.threads.values() for answer in thread.answers[thread.served :]]


def _last_answer(messages: Sequence[Object]) -> int:
    """Return the position of the last answer in messages; -1 if there is none."""
    return max((at for at, one in enumerate(messages) if one.get("role") == "assistant"), default=-1)


def api_message(message: Message) -> Object:
    """Return a response as the API sent it."""
    content: list[Any] = []
    top: Object = {}
    for index in message.records:
        own = as_dict(message.bodies.native(index).get("message"))
        top = {**top, **{name: value for name, value in own.items() if value is not None}}
        for block in as_list(own.get("content")):
            if block not in content:
                content.append(block)
    calls = any(as_dict(block).get("type") == CALL for block in content)
    return {
        "id": message.id,
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": content,
        "stop_reason": top.get("stop_reason") or (CALL if calls else "end_turn"),
        "stop_sequence": top.get("stop_sequence"),
        **({"stop_details": top["stop_details"]} if "stop_details" in top else {}),
        "usage": _usage(as_dict(top.get("usage"))),
    }


def _usage(recorded: Object) -> Object:
    """Return the usage of a response with the counts that every client expects."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return {**recorded, **{name: as_int(recorded.get(name)) or 0 for name in names}}


def _fault(message: Message) -> ApiFault | None:
    """Return the error of the API that a message tells of."""
    for index in message.records:
        native = message.bodies.native(index)
        if native.get("type") == "system" and native.get("subtype") == "api_error":
            return _retried(native)
        if native.get("isApiErrorMessage"):
            status = as_int(native.get("apiErrorStatus"))
            said = OLD_ERROR.match(message.full_text)
            if status is None and said is not None:
                return _retried({"error": {"status": int(said[1]), "message": said[2]}})
            if status is not None:
                kind = as_str(native.get("error")) or next(
                    (name for name, code in ERROR_STATUS.items() if code == status), "api_error"
                )
                return ApiFault(status, kind, CLIENTS_WORDS.sub("", message.full_text))
    return None


def _retried(native: Object) -> ApiFault | None:
    error = as_dict(native.get("error"))
    status = as_int(error.get("status"))
    said = as_dict(as_dict(as_dict(error.get("error")).get("error")))
    _, brace, rest = (as_str(error.get("message")) or "").partition("{")
    if brace and not said:
        with suppress(ValueError):
            said = as_dict(as_dict(jsontext.loads_clean((brace + rest).encode())).get("error"))
    kind = as_str(said.get("type")) or "api_error"
    return ApiFault(status or ERROR_STATUS.get(kind, 500), kind, as_str(said.get("message")) or kind)


def request_texts(message: Object) -> list[str]:
    """Return the texts of a message of a request."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    blocks = (as_dict(block) for block in as_list(content))
    return [text for block in blocks if block.get("type") == TEXT and (text := as_str(block.get("text")))]


def summary_in(said: str) -> str:
    """Return the summary in the message that a client makes of it."""
    _, _, text = said.rpartition(SUMMARY_BEGINS)
    return text.partition(SUMMARY_ENDS)[0].strip()


def _own_texts(answer: RecordedAnswer) -> list[str]:
    return [text for text in request_texts(answer.message or {}) if text.strip()]
