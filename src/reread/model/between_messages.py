"""What a file says between messages: how the client was set up, how a turn ended, that another session begins."""

from __future__ import annotations


class Marks:
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
        self.waiting: list[int] = []
        """Setups that no message has followed yet."""
        self.session: str | None = None
        """The session of the last message."""

    def add_message(self, message: int, session: str | None) -> None:
        """Note that a message follows what was added, and the session that it belongs to."""
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

    def has(self, message: int) -> bool:
        """True if something stands at a message."""
        return message in self.setups or message in self.ends or message in self.sessions
