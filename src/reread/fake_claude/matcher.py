"""The repertoire: the recordings that can be played, and which of them answers a request."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reread.base.claude_argv import Invocation
from reread.errors import Misuse, NotFound
from reread.fake_claude.script import RecordedTurn, recorded_turns
from reread.fake_claude.script_sources import read_recordings
from reread.fake_claude.usage_errors import is_session_id

MATCHING = ("prompt", "order")
SHOWN = 20
"""How many recordings a failure lists."""
WIDE = 60


class Unanswered(NotFound):
    """No recording answers what was asked."""


class NoSession(NotFound):
    """The session that was to go on is in no recording; said in the words of the real program."""


@dataclass(frozen=True, slots=True)
class FakeClaudeSettings:
    """What is played, and how strictly and how fast."""

    places: tuple[str, ...] = ()
    """Files, folders and names of captured conversations; everything in the store where it is empty."""
    exact: bool = True
    played: Path | None = None
    speed: float | None = None
    """How many times faster than recorded; None does not wait at all."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> FakeClaudeSettings:
        """The settings in the environment."""
        matching, played = environment.get("REREAD_MATCH") or MATCHING[0], environment.get("REREAD_PLAYED")
        if matching not in MATCHING:
            raise Misuse(f"REREAD_MATCH is {matching!r}: say {' or '.join(MATCHING)}")
        return cls(
            places=tuple(filter(None, environment.get("REREAD_REPLAY", "").split(os.pathsep))),
            exact=matching == MATCHING[0],
            played=Path(played) if played else None,
            speed=parse_speed(environment.get("REREAD_SPEED", "")),
        )

    def repertoire(self) -> Matcher:
        """All that can be played."""
        return Matcher(recorded_turns(read_recordings(self.places)), exact=self.exact, played=self.played)


def parse_speed(text: str) -> float | None:
    """A pace as people write it; None does not wait at all."""
    try:
        speed = float(text or 0)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < math.inf:
        raise Misuse(f"REREAD_SPEED is {text!r}: say 1 for the recorded pace, 4 for four times as fast")
    return speed or None


class Matcher:
    """Turns in the order they were recorded, each given to whoever asks what it answers."""

    def __init__(self, turns: Sequence[RecordedTurn], *, exact: bool = True, played: Path | None = None) -> None:
        self.turns = turns
        self.exact = exact
        """Whether the caller must say what was recorded; else turns are given in order, whatever is said."""
        self._played = played
        """A folder that notes what was played, so that the next process gets the next recording."""

    def begin(self, call: Invocation, prompt: str) -> RecordedTurn:
        """The turn that answers the first prompt of a process."""
        self.refuse_unknown_session(call)
        fitting = [turn for turn in self._reachable(call) if self._answers(turn, prompt)]
        fitting.sort(key=lambda turn: (turn.prompt is None, turn.forks != call.has("--fork-session")))
        for turn in fitting:
            if self._claim(turn, call):
                return turn
        raise Unanswered(self._complaint(call, prompt, fitting))

    def go_on(self, turn: RecordedTurn, prompt: str) -> RecordedTurn:
        """The turn that answers the next prompt of the same process."""
        following = turn.next
        if following is None:
            raise Unanswered(
                f"no recording answers {_short(prompt)}: {turn.name} is the last turn that was recorded of its session"
            )
        if not self._answers(following, prompt):
            raise Unanswered(
                f"no recording answers {_short(prompt)} after {turn.name}: "
                f"the prompt recorded next is {_short(following.prompt)}"
            )
        self._claim(following, Invocation())
        return following

    def refuse_unknown_session(self, call: Invocation) -> None:
        """Refuse to go on with a session that nobody recorded."""
        wanted = call.resumes
        if wanted is None or self._recorded_as(wanted) in self._sessions():
            return
        if is_session_id(wanted):
            raise NoSession(f"No conversation found with session ID: {wanted}")
        raise NoSession(
            "Error: --resume requires a valid session ID or session title when used with --print. "
            f'Usage: claude -p --resume <session-id|title>. Provided value "{wanted}" is not a UUID '
            "and does not match any session title."
        )

    def overview(self) -> str:
        """What there is, a line for each turn."""
        if not self.turns:
            return "there are no recordings"
        lines = [f"  {turn.name}: {_described(turn)}" for turn in self.turns[:SHOWN]]
        more = len(self.turns) - len(lines)
        return "\n".join(["recorded:", *lines, *([f"  and {more} more"] if more else [])])

    def _sessions(self) -> set[str | None]:
        return {name for turn in self.turns for name in (turn.session, turn.follows)}

    def _reachable(self, call: Invocation) -> Iterator[RecordedTurn]:
        """The turns that a process called like this could begin with, best first."""
        if call.resumes:
            wanted = self._recorded_as(call.resumes)
            yield from (turn for turn in self.turns if turn.follows == wanted)
            return
        if call.has("--continue"):
            yield from (turn for turn in self.turns if turn.follows)
        yield from (turn for turn in self.turns if not turn.follows)

    def _answers(self, turn: RecordedTurn, prompt: str) -> bool:
        return not self.exact or turn.prompt is None or turn.prompt == prompt

    def _claim(self, turn: RecordedTurn, call: Invocation) -> bool:
        """Note that a turn is played; False where another process has played it."""
        given = call.options.get("--session-id")
        if self._played is None:
            return True
        self._played.mkdir(parents=True, exist_ok=True)
        if given and turn.session:
            self._alias(given).write_text(json.dumps(turn.session))
        try:
            self._note(turn.key).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _recorded_as(self, session: str) -> str:
        """The recorded id of a session to which a caller gave an id of its own."""
        alias = self._alias(session)
        return json.loads(alias.read_text()) if self._played and alias.exists() else session

    def _note(self, key: str) -> Path:
        return (self._played or Path()) / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.played"

    def _alias(self, session: str) -> Path:
        return self._note(session).with_suffix(".session")

    def _complaint(self, call: Invocation, prompt: str, fitting: Sequence[RecordedTurn]) -> str:
        if fitting:
            reason = f"all {len(fitting)} recordings of it have been played; record it once more, or empty the folder"
        elif elsewhere := [turn for turn in self.turns if turn.prompt == prompt]:
            turn = elsewhere[0]
            reason = (
                f"it was recorded only as {turn.name}, which goes on with session {turn.follows}: --resume that"
                if turn.follows
                else f"it was recorded only as the beginning of a session ({turn.name}): do not resume or continue"
            )
        else:
            reason = f"needed: a recording whose {'next' if call.resumes else 'first'} prompt is this one"
        return f"no recording answers {_short(prompt)}\n{reason}\n{self.overview()}"


def _described(turn: RecordedTurn) -> str:
    said = "any prompt" if turn.prompt is None else _short(turn.prompt)
    return f"{said}, going on with session {turn.follows}" if turn.follows else said


def _short(prompt: str | None) -> str:
    line = " ".join((prompt or "").split())
    return json.dumps(line if len(line) <= WIDE else line[: WIDE - 1] + "…", ensure_ascii=False)
