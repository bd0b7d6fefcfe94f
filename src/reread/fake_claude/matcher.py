"""Choose the recorded turn that answers a prompt."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from reread.base.claude_argv import Invocation
from reread.base.coerce import as_str
from reread.base.text import plural
from reread.disk.layout import expand_path
from reread.errors import Misuse, NotFound, Unreadable
from reread.fake_claude.script import RecordedTurn, recorded_turns
from reread.fake_claude.script_sources import read_recordings
from reread.fake_claude.usage_errors import is_session_id
from reread.storage.safe_open import read_settings

MATCH_PROMPT, MATCH_ORDER = MATCH_MODES = ("prompt", "order")
RECORD_ONCE = "once"
RECORD_MODES = ("", RECORD_ONCE)
MAX_LISTED = 20
"""How many recordings an error lists."""
MAX_PROMPT_LENGTH = 60


class NotRecorded(NotFound):
    """No recording answers the prompt, or the caller did something else than was recorded."""


class UnknownSession(NotFound):
    """No recording contains the session to resume; with the real program's message."""


@dataclass(frozen=True, slots=True)
class FakeClaudeSettings:
    """The script of the fake client, how strictly it is followed and how fast."""

    sources: tuple[str, ...] = ()
    """Files, folders and names of captured conversations; empty for everything in the store."""
    strict: bool = True
    """True if the caller must send what was recorded; else turns are played in order, whatever it sends."""
    played_folder: Path | None = None
    """A folder that records which turns were played, so that the next process gets the next one."""
    speed: float | None = None
    """Playback speed (2 = twice as fast); None does not wait at all."""
    patterns: tuple[tuple[str, str], ...] = ()
    """Patterns of prompts, as in a shell, each with the recording that answers them."""
    record_once: bool = False
    """True if the real program answers what was not recorded, and is recorded."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> FakeClaudeSettings:
        """Read the settings from environment variables."""
        mode, played = environment.get("REREAD_MATCH") or MATCH_PROMPT, environment.get("REREAD_PLAYED")
        if mode not in MATCH_MODES:
            raise Misuse(f"Invalid REREAD_MATCH {mode!r}; use {' or '.join(MATCH_MODES)}.")
        return cls(
            sources=tuple(filter(None, environment.get("REREAD_REPLAY", "").split(os.pathsep))),
            strict=mode == MATCH_PROMPT,
            played_folder=Path(played) if played else None,
            speed=_parse_speed(environment.get("REREAD_SPEED", "")),
            patterns=_read_patterns(environment.get("REREAD_PATTERNS", "")),
            record_once=_parse_record(environment.get("REREAD_RECORD", "")),
        )

    def matcher(self) -> Matcher:
        """Read the recordings."""
        turns = recorded_turns(read_recordings(self.sources, may_be_missing=self.record_once))
        if self.record_once:  # a run that was killed is recorded again
            turns = [turn for turn in turns if turn.result is not None]
        return Matcher(turns, strict=self.strict, played_folder=self.played_folder, patterns=self.patterns)


def _parse_speed(text: str) -> float | None:
    try:
        speed = float(text or 0)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < math.inf:
        raise Misuse(f"Invalid REREAD_SPEED {text!r}; use 1 for the recorded pace, 4 for four times as fast.")
    return speed or None


def _parse_record(text: str) -> bool:
    if text not in RECORD_MODES:
        raise Misuse(f"Invalid REREAD_RECORD {text!r}; use once, or leave it unset.")
    return text == RECORD_ONCE


def _read_patterns(path: str) -> tuple[tuple[str, str], ...]:
    if not path:
        return ()
    try:
        value = json.loads(read_settings(expand_path(path)))
    except OSError as error:
        raise Unreadable.at(path, error) from error
    except (ValueError, RecursionError) as error:
        raise Misuse(f"Cannot read the patterns in {path}: {error}.") from None
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in cast(dict[str, Any], value).values()):
        raise Misuse(f"Cannot read the patterns in {path}: use an object of patterns and names of recordings.")
    return tuple(cast(dict[str, str], value).items())


class Matcher:
    """The recorded turns, and the rules by which one is chosen."""

    def __init__(
        self,
        turns: Sequence[RecordedTurn],
        *,
        strict: bool = True,
        played_folder: Path | None = None,
        patterns: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.turns = turns
        self.strict = strict
        self._played_folder = played_folder
        self._patterns = patterns

    def first_turn(self, invocation: Invocation, prompt: str) -> RecordedTurn:
        """Return the turn that answers the first prompt of a process."""
        self.check_session(invocation)
        matches = [turn for turn in self._candidates(invocation) if self._answers(turn, prompt)]
        forks = invocation.has("--fork-session")
        matches.sort(key=lambda turn: (turn.prompt != prompt, turn.prompt is None, turn.is_fork != forks))
        for turn in matches:
            if self._claim(turn, invocation):
                return turn
        raise NotRecorded(self._explain(invocation, prompt, matches))

    def next_turn(self, turn: RecordedTurn, prompt: str) -> RecordedTurn:
        """Return the turn that answers the next prompt of the same process."""
        following = turn.next
        if following is None:
            raise NotRecorded(
                f"No recording answers {_shorten(prompt)}: {turn.name} is the last recorded turn of its session."
            )
        if not self._answers(following, prompt):
            raise NotRecorded(
                f"No recording answers {_shorten(prompt)} after {turn.name}: "
                f"the prompt recorded next is {_shorten(following.prompt)}."
            )
        self._claim(following, Invocation())
        return following

    def check_session(self, invocation: Invocation) -> None:
        """Raise `UnknownSession` if the session to resume was not recorded."""
        wanted = invocation.resumed_session
        if wanted is None or self._recorded_id(wanted) in self._session_ids():
            return
        if is_session_id(wanted):
            raise UnknownSession(f"No conversation found with session ID: {wanted}")
        raise UnknownSession(
            "Error: --resume requires a valid session ID or session title when used with --print. "
            f'Usage: claude -p --resume <session-id|title>. Provided value "{wanted}" is not a UUID '
            "and does not match any session title."
        )

    def list_recordings(self) -> str:
        """List the recorded turns, one per line."""
        if not self.turns:
            return "There are no recordings."
        lines = [f"  {turn.name}: {_describe(turn)}" for turn in self.turns[:MAX_LISTED]]
        more = len(self.turns) - len(lines)
        return "\n".join(["Recorded:", *lines, *([f"  and {more} more"] if more else [])])

    def _session_ids(self) -> set[str | None]:
        return {name for turn in self.turns for name in (turn.session, turn.resumed_session)}

    def _candidates(self, invocation: Invocation) -> Iterator[RecordedTurn]:
        """Yield the turns that a process with these arguments could start with, the best first."""
        if invocation.resumed_session:
            wanted = self._recorded_id(invocation.resumed_session)
            yield from (turn for turn in self.turns if turn.resumed_session == wanted)
            return
        if invocation.has("--continue"):
            yield from (turn for turn in self.turns if turn.resumed_session)
        yield from (turn for turn in self.turns if not turn.resumed_session)

    def _answers(self, turn: RecordedTurn, prompt: str) -> bool:
        return not self.strict or turn.prompt is None or turn.prompt == prompt or self._fits(turn, prompt)

    def _fits(self, turn: RecordedTurn, prompt: str) -> bool:
        """True if the first pattern that a prompt fits names the recording of a turn."""
        return self._named(prompt) in _names(turn)

    def _named(self, prompt: str) -> str | None:
        """The recording that the first pattern names that a prompt fits."""
        return next((name for pattern, name in self._patterns if fnmatchcase(prompt, pattern)), None)

    def _claim(self, turn: RecordedTurn, invocation: Invocation) -> bool:
        """Record that a turn is played; False if it has been played already."""
        if self._played_folder is None:
            return True
        self._played_folder.mkdir(parents=True, exist_ok=True)
        chosen_id = invocation.options.get("--session-id")
        if chosen_id and turn.session:
            self._alias_path(chosen_id).write_text(json.dumps(turn.session))
        try:
            self._marker_path(turn.key).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _recorded_id(self, session: str) -> str:
        """Return the recorded id of a session for which a caller has chosen another id."""
        if self._played_folder is None:
            return session
        with suppress(OSError, ValueError, RecursionError):
            return as_str(json.loads(read_settings(self._alias_path(session)))) or session
        return session

    def _marker_path(self, key: str) -> Path:
        return (self._played_folder or Path()) / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.played"

    def _alias_path(self, session: str) -> Path:
        return self._marker_path(session).with_suffix(".session")

    def _explain(self, invocation: Invocation, prompt: str, matches: Sequence[RecordedTurn]) -> str:
        """Explain why no recording answers a prompt, and what would."""
        if matches:
            played = plural(len(matches), "recording")
            reason = f"All of its recordings ({played}) have been played; record it again, or empty REREAD_PLAYED."
        elif elsewhere := [turn for turn in self.turns if turn.prompt == prompt]:
            turn = elsewhere[0]
            reason = (
                f"It was recorded only as {turn.name}, which continues session {turn.resumed_session}; use --resume."
                if turn.resumed_session
                else f"It was recorded only as the start of a session ({turn.name}); do not resume or continue."
            )
        elif (name := self._named(prompt)) and not any(name in _names(turn) for turn in self.turns):
            close = get_close_matches(name, {own for turn in self.turns for own in _names(turn)}, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            reason = f"A pattern in REREAD_PATTERNS names {name!r} for it, which is no recording here.{meant}"
        else:
            position = "next" if invocation.resumed_session else "first"
            reason = f"Needed: a recording whose {position} prompt is this one, or a pattern in REREAD_PATTERNS."
        return f"No recording answers {_shorten(prompt)}.\n{reason}\n{self.list_recordings()}"


def _names(turn: RecordedTurn) -> tuple[str, str, str]:
    """The names by which a pattern may call a turn."""
    return turn.name, turn.recording.name, turn.recording.source.stem


def _describe(turn: RecordedTurn) -> str:
    prompt = "any prompt" if turn.prompt is None else _shorten(turn.prompt)
    return f"{prompt}, continues session {turn.resumed_session}" if turn.resumed_session else prompt


def _shorten(prompt: str | None) -> str:
    line = " ".join((prompt or "").split())
    return json.dumps(
        line if len(line) <= MAX_PROMPT_LENGTH else line[: MAX_PROMPT_LENGTH - 1] + "…", ensure_ascii=False
    )
