"""The records between messages: how the client was set up, how a turn ended, that another session begins.

Here are also the prompts that were queued and not sent, and the state of the session, each at the message before it."""

from __future__ import annotations


class BetweenMessages:
    """The records between messages, by the index of the message that they stand at."""

    def __init__(self) -> None:
        self.setups: dict[int, list[int]] = {}
        """The records before a message that say how the client was set up, if anything changed."""
        self.before: dict[int, int] = {}
        """For each of these records that changed something, the one before it in the same session."""
        self.setup = -1
        """The last record that says how the client was set up; -1 if there is none."""
        self.ends: dict[int, list[int]] = {}
        """The results after the last message of a turn."""
        self.ended: dict[int, int] = {}
        """The message after which each of these results stands."""
        self.sessions: dict[int, str] = {}
        """The id of the session that begins with a message, if another one came before it."""
        self.files: list[int] = []
        """The records that tell of the state of files: backups, and files that were mentioned or changed."""
        self.states: dict[int, list[int]] = {}
        """The records of session state after a message, or before the first one."""
        self.queued: dict[int, dict[int, str]] = {}
        """The prompts that were queued after a message and are not known to be sent, by their records: how each left
        the queue, or nothing."""
        self.queued_after: dict[int, int] = {}
        """The message that each of these records stands after."""
        self.requeued: dict[int, list[int]] = {}
        """The messages at which a record changed what is known of queued prompts."""
        self.last_of_type: dict[str, int] = {}
        """The last record of session state of each type."""
        self.waiting: list[int] = []
        """Setups that no message has followed yet."""
        self.session: str | None = None
        """The session of the last message."""
        self.last: int = 0
        """The last message, or the first one before it has come."""

    def add_message(self, message: int, session: str | None) -> None:
        """Note that a message follows what was added, and the session that it belongs to."""
        self.last = message
        if self.waiting:
            self.setups[message] = self.waiting[:]
            self.waiting.clear()
        if session is not None and session != self.session:
            if self.session is not None:
                self.sessions[message] = session
            self.session = session

    def add_setup(self, record: int, *, of_session: bool) -> None:
        """Note that the client was set up as no record before says; `of_session` if it was set up in this session."""
        self.waiting.append(record)
        if of_session:
            self.before[record] = self.setup

    def end_turn(self, message: int, record: int) -> None:
        """Note that a result ends a turn after a message."""
        self.ends.setdefault(message, []).append(record)
        self.ended[record] = message

    def add_state(self, record: int, type: str) -> None:
        """Note a record of session state after the last message, and the one of its type before it."""
        self.states.setdefault(self.last, []).append(record)
        if type in self.last_of_type:
            self.before[record] = self.last_of_type[type]
        self.last_of_type[type] = record

    def queue_prompt(self, record: int) -> None:
        """Note that a prompt was queued after the last message."""
        self.queued.setdefault(self.last, {})[record] = ""
        self.queued_after[record] = self.last

    def is_queued(self, record: int) -> bool:
        """True if a prompt is still in the queue, as far as is known."""
        return record in self.queued_after and not self.queued[self.queued_after[record]][record]

    def take_prompt(self, record: int, how: str, *, by: int) -> None:
        """Note how a prompt left the queue without being sent, and the record that says so."""
        message = self.queued_after[record]
        self.queued[message][record] = how
        self.requeued.setdefault(by, []).append(message)

    def send_prompt(self, record: int, *, by: int) -> None:
        """Note that a queued prompt was sent, and the record that says so."""
        message = self.queued_after.pop(record)
        self.requeued.setdefault(by, []).append(message)
        del self.queued[message][record]
        if not self.queued[message]:
            del self.queued[message]

    def has(self, message: int) -> bool:
        """True if something stands at a message."""
        return message in self.setups or message in self.ends or message in self.sessions or message in self.queued
