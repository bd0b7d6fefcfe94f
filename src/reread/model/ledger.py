"""The ledger: what became of every record, and why."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, overload

import msgspec

from reread.model.tree import RecordTree
from reread.records.decode import Records

FATES = tuple(
    """
    shown merged paired attached state agent duplicate reappended orphan unknown malformed abandoned
    """.split()
)
(
    SHOWN,
    MERGED,
    PAIRED,
    ATTACHED,
    STATE,
    AGENT,
    DUPLICATE,
    REAPPENDED,
    ORPHAN,
    UNKNOWN,
    MALFORMED,
    ABANDONED,
) = range(len(FATES))

NO_TARGET = -1


class Fate(msgspec.Struct, frozen=True):
    """The fate of one record, and the reason."""

    line: int
    """The line of the record."""
    fate: str
    """shown, merged, paired, attached, state, agent, duplicate, reappended, orphan, unknown, malformed or abandoned."""
    reason: str
    """Why, in words."""
    message: str | None = None
    """The id of the message it belongs to."""
    call: str | None = None
    """The id of the call it belongs to."""
    agent: str | None = None
    """The id of the agent it belongs to."""
    of: int | None = None
    """The line of the record that it repeats."""
    state: str | None = None
    """The file with the earlier state that has the record, if its own file has dropped it."""


class LedgerMessage(Protocol):
    """The entries of a message."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...


class LedgerCall(Protocol):
    """The entries of a call."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def by_position(self) -> bool: ...


class Ledger(Sequence[Fate]):
    """The fate of every record. Records in = records accounted for.

    A record's target is the index of the message, call, agent or record that its fate is about. Records attached
    to a call have the target `call_target(call.index)`, to tell them from those attached to a message.
    """

    def __init__(
        self, records: Records, tree: RecordTree, messages: Sequence[LedgerMessage], calls: Sequence[LedgerCall]
    ) -> None:
        self.agents: list[str] = []
        """The ids of agents, by the target of their records."""
        self.targets: array[int] = array("i")
        self._codes = bytearray()
        self._records = records
        self._tree = tree
        self._messages = messages
        self._calls = calls

    def add(self, code: int, target: int) -> None:
        """Enter the fate of the next record."""
        self._codes.append(code)
        self.targets.append(target)

    def change(self, index: int, code: int, target: int) -> None:
        """Correct the fate of an earlier record."""
        self._codes[index] = code
        self.targets[index] = target

    @property
    def codes(self) -> bytearray:
        """The fates of all records as positions in FATES, whatever branch they are on."""
        return self._codes

    def code(self, index: int) -> int:
        """Return the fate of a record as a position in FATES, whatever branch it is on."""
        return self._codes[index]

    def count(self, value: object) -> int:
        """Count the records of a fate, given by its position in FATES, whatever branch they are on."""
        return self._codes.count(value) if isinstance(value, int) else super().count(value)

    @property
    def fates(self) -> dict[str, int]:
        """How many records met each fate."""
        counts = Counter(self._final_codes())
        return {name: counts[code] for code, name in enumerate(FATES) if counts[code]}

    def _final_codes(self) -> Iterator[int]:
        tree = self._tree
        active = tree.active_branch
        branched = len(tree.forks) > 1
        for index, code in enumerate(self._codes):
            yield ABANDONED if branched and code <= ATTACHED and not tree.is_on(index, active) else code

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, index: int) -> Fate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fate]: ...
    def __getitem__(self, index: int | slice) -> Fate | list[Fate]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        return self._fate(range(len(self))[index])

    def __iter__(self) -> Iterator[Fate]:
        for n in range(len(self)):
            yield self[n]

    def _fate(self, index: int) -> Fate:
        code = self._codes[index]
        fate = _EXPLAIN[code](self, index, self.targets[index])
        if self._records.is_dropped(index):
            fate = msgspec.structs.replace(fate, state=self._records.state(index))
        if code <= ATTACHED and not self._tree.is_on(index, self._tree.active_branch):
            reason = f"on abandoned branch {self._tree.branch_of(index)}: {fate.reason}"
            return msgspec.structs.replace(fate, fate=FATES[ABANDONED], reason=reason)
        return fate

    def explain_message(self, verb: str, index: int, target: int) -> Fate:
        """Explain a record that belongs to a message."""
        message = self._messages[target]
        reason = f"{verb} {message.kind} {message.id}"
        return Fate(self._records.line(index), FATES[self._codes[index]], reason, message=message.id)

    def explain_call(self, verb: str, index: int, target: int) -> Fate:
        """Explain a record that belongs to a call."""
        call = self._calls[target]
        how = " by position" if call.by_position and verb == "result of" else ""
        reason = f"{verb} call {call.id} ({call.name}){how}"
        return Fate(self._records.line(index), FATES[self._codes[index]], reason, call=call.id)

    def explain_attached(self, index: int, target: int) -> Fate:
        """Explain a record attached to a message, a call, or nothing."""
        if target < NO_TARGET:
            return self.explain_call("attached to", index, call_target(target))
        if target >= 0:
            return self.explain_message("attached to", index, target)
        reason = "attached to the session: no message comes before it"
        return Fate(self._records.line(index), FATES[ATTACHED], reason)

    def explain_agent(self, index: int, target: int) -> Fate:
        """Explain a record of an agent."""
        id = self.agents[target]
        return Fate(self._records.line(index), FATES[AGENT], f"belongs to agent {id}", agent=id)

    def explain_repeat(self, reason: str, index: int, target: int) -> Fate:
        """Explain a record that repeats another."""
        line = self._records.line(target)
        return Fate(self._records.line(index), FATES[self._codes[index]], reason.format(line), of=line)

    def explain_record(self, reason: str, index: int) -> Fate:
        """Explain a record by its type or by what is wrong with it."""
        record = self._records[index]
        words = reason.format(type=record.type, fault=record.fault)
        return Fate(record.line, FATES[self._codes[index]], words)


def call_target(index: int) -> int:
    """Convert the index of a call to the target of records attached to it, and back."""
    return -2 - index


_EXPLAIN: tuple[Callable[[Ledger, int, int], Fate], ...] = (
    lambda ledger, index, target: ledger.explain_message("starts", index, target),
    lambda ledger, index, target: ledger.explain_message("continues", index, target),
    lambda ledger, index, target: ledger.explain_call("result of", index, target),
    Ledger.explain_attached,
    lambda ledger, index, _: ledger.explain_record("{type}: session state, the last one wins", index),
    Ledger.explain_agent,
    lambda ledger, index, target: ledger.explain_repeat("repeats line {}", index, target),
    lambda ledger, index, target: ledger.explain_repeat("repeats line {}, rewritten by a compaction", index, target),
    lambda ledger, index, _: ledger.explain_record("a result whose call is not in this file", index),
    lambda ledger, index, _: ledger.explain_record("unknown type {type}, kept as written", index),
    lambda ledger, index, _: ledger.explain_record("{fault}", index),
)
"""How each fate is explained, in the order of FATES."""
