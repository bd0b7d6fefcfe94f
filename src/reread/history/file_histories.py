"""The files of a session: their versions, with the turns that they belong to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from reread.base.coerce import as_dict, as_str
from reread.base.gc_pause import gc_paused
from reread.base.times import timestamp_ms
from reread.history.file_fold import FileFold, ReadBackup
from reread.history.versions import FileHistory, FileVersion
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.model.record_kinds import TURN_STARTERS


def file_histories(main: Conversation, agents: Mapping[str, Agent], read_backup: ReadBackup) -> dict[str, FileHistory]:
    """Return the files that a session changed, by path, with their versions."""
    with gc_paused():
        histories = FileFold(main, agents, read_backup).histories()
    turns, times = TurnNumbers(main), MessageTimes(main)
    for history in histories.values():
        for version in history.versions:
            call = version.call if version.agent is None else _starting_call(agents.get(version.agent))
            if version.record < 0:
                version.record = times.record_at(version)
            message = call.message if call is not None else main.message_at(version.record)
            if message is not None and message.conversation is main:
                version.turn = turns.of(message)
    return histories


def unchecked_turns(main: Conversation) -> list[int]:
    """Return the turns in which files changed that Claude Code made no copies of, as 2.1.327 and later say."""
    turns, found = TurnNumbers(main), set[int]()
    for record in main.marks.files:
        native = main.bodies.native(record)
        if as_dict(native.get("snapshot")).get("hasUntrackedChanges") is True:
            prompt = main.tree.uuids.get(as_str(native.get("messageId")) or "")
            message = main.message_at(prompt) if prompt is not None else None
            turn = turns.of(message) if message is not None else None
            found |= {turn} if turn is not None else set()
    return sorted(found)


def _starting_call(agent: Agent | None) -> Call | None:
    """Return the main thread's call that led to an agent."""
    if agent is None:
        return None
    return agent.ancestors[-1].call if agent.ancestors else agent.call


class TurnNumbers:
    """The number of the turn that each message belongs to, on the active branch or on its own."""

    def __init__(self, main: Conversation) -> None:
        self._main = main
        self._numbers = {message.index: turn.index for turn in main.turns for message in turn.messages}
        self._own: dict[int, list[Message]] | None = None

    def of(self, message: Message) -> int | None:
        """Return the number of a message's turn, from 1."""
        if message.index not in self._numbers:
            self._number_branch(message.branch)
        return self._numbers.get(message.index)

    def _number_branch(self, id: int) -> None:
        """Number the turns of a branch, which go on from where it leaves another."""
        if self._own is None:
            self._own = {}
            for message in self._main.messages:
                self._own.setdefault(message.branch, []).append(message)
        waiting = [id]
        while (parent := self._main.branch(waiting[-1]).parent) is not None and parent not in waiting:
            waiting.append(parent)
        for branch in reversed(waiting):
            fork = self._main.message_at(self._main.branch(branch).fork)
            number = self._numbers.get(fork.index, 0) if fork is not None else 0
            for message in self._own.get(branch, ()):
                number += message.kind in TURN_STARTERS
                self._numbers.setdefault(message.index, max(number, 1))


class MessageTimes:
    """When the main thread said what: places the versions that agents made."""

    def __init__(self, main: Conversation) -> None:
        self._main = main
        self._times: list[int] | None = None

    def record_at(self, version: FileVersion) -> int:
        """Return the last record of the main thread's messages before a version came about."""
        messages = self._main.messages
        if self._times is None:
            latest, self._times = 0, []
            for message in messages:
                latest = max(latest, timestamp_ms(message.stamp) or 0)
                self._times.append(latest)
        when = int(version.time.timestamp() * 1000) if version.time is not None else 0
        place = bisect_right(self._times, when) - 1
        return messages[place].records[0] if place >= 0 else 0
