"""Answers about all sessions, kept until one of their files changes.

To see whether the facts of thousands of sessions still hold takes longer than to count them: the state of each file,
and of the copies of it that are kept, has to be looked at. The server watches these files anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from reread.base import jsontext
from reread.disk.cache import FileState
from reread.facts.sessions import KnownStates, remembering
from reread.render.report_table import pending_note
from reread.render.text_table import PLAIN
from reread.server.library import SessionLibrary

MOST_ANSWERS = 64
PATIENCE_SECONDS = 1.0
"""For how long an answer reads sessions. If some are left it says how many, as `pending`, and is not kept."""

Make = Callable[[SessionLibrary, Mapping[str, str]], Any]


class AnswerCache:
    """The answers to requests about a library, and the states of the sessions that they were made from."""

    def __init__(self, library: SessionLibrary, *, patience: float = PATIENCE_SECONDS) -> None:
        self._library = library
        self._patience = patience
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        """One answer is made at a time: the next finds what it read."""
        self._states: dict[str, FileState] = {}
        self._answers: dict[Any, bytes] = {}
        self._known: KnownStates = {}

    def answer(self, make: Make, query: Mapping[str, str]) -> bytes:
        """Return the JSON of an answer: the last one if nothing has changed since, or of what was read in time."""
        key = (make, tuple(sorted(query.items())), date.today())
        with self._lock:
            self._forget_changes()
            states, known, made = self._states, self._known, self._answers.get(key)
        if made is not None:
            return made
        with self._counting, remembering(known, seconds=self._patience) as reading:
            value = make(self._library, query)
        if reading.left:
            note = {"style": PLAIN, "text": pending_note(reading.left)}
            return jsontext.dumps({**value, "notes": [note, *value.get("notes", ())], "pending": reading.left})
        answer = jsontext.dumps(value)
        with self._lock:
            if self._states is states:
                self._answers[key] = answer
                while len(self._answers) > MOST_ANSWERS:
                    del self._answers[next(iter(self._answers))]
        return answer

    def _forget_changes(self) -> None:
        """Forget all answers if a file changed, and the state of the session it belongs to."""
        states = self._library.watched_files().states
        if states == self._states:
            return
        changed = {path for path in states.keys() | self._states.keys() if states.get(path) != self._states.get(path)}
        owners = {self._library.owner(path) for path in changed}
        kept = {} if None in owners else {path: state for path, state in self._known.items() if path not in owners}
        self._states, self._known, self._answers = dict(states), kept, {}
