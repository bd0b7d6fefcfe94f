"""The changes between two places: of a session, or of two sessions or branches side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from reread.accounting.billing import Usage, total
from reread.base.choices import FAILED
from reread.base.paths import is_below, normalize_folder
from reread.errors import Misuse
from reread.history.versions import FileHistory, FileVersion
from reread.model.conversation import Call, Message, Turn
from reread.model.request import RequestChange, request_changes
from reread.reports.file_report import FileAt, file_after, is_made_in, made_at
from reread.reports.turn_comparison import TurnComparison, compare_turns
from reread.session.places import cut_after, request_at, turns_of
from reread.session.session import Session, open  # noqa: A004
from reread.session.session_inputs import is_usage_known
from reread.tools._diff import compute_hunks
from reread.tools.nodes import Hunk

NO_DIFFERENCE, CHANGED, CREATED, DELETED = "same", "changed", "created", "deleted"


class FileDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for a file."""

    path: str
    """Below the project's folder, or from the root."""
    status: str
    """changed, created, deleted, or same."""
    whole: bool
    """True if both texts are known; otherwise the hunks are those that the calls in between recorded."""
    hunks: list[Hunk]
    added: int
    removed: int
    left: list[int] = []
    """How many lines the first side added and removed, if two sessions or branches are compared."""
    right: list[int] = []
    """How many lines the second side added and removed."""


class DiffSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of two sessions or branches that are compared."""

    session: str
    title: str
    path: str | None
    branch: int
    turns: int
    calls: int
    failed: int
    agents: int
    tokens: int | None
    """None if they are not known, because only prompts are left."""
    cost_usd: float | None
    started: datetime | None
    ended: datetime | None
    models: list[str]
    answer: str
    """The last answer."""


class SessionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes, and the two sides if two sessions or branches are compared."""

    files: list[FileDifference]
    sides: tuple[DiffSide, DiffSide] | None = None
    beside: TurnComparison | None = None
    """The two sides turn by turn."""
    requests: list[RequestChange] | None = None
    """The parts that a request added, dropped and edited, if two API requests are compared."""


def diff(
    a: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    b: str | os.PathLike[str] | bytes | IO[bytes] | Session | None = None,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> SessionDiff:
    """Return what a session or one of its turns changed, or what differs between two places, sessions or branches.

    A place is what `reread.open` takes: a session, `SESSION:TURN`, `SESSION:TURN.CALL`, `SESSION@PATH`, an agent. Two
    turns of one session give the changes between their ends. `SESSION:req5` is an API request, and
    `SESSION:AGENT:req5` one of an agent: two of them are compared, one with the request before it.
    """
    first, second = open(a, root=root), open(b, root=root) if b is not None else None
    asked = [one.at.request for one in (first, second) if one is not None]
    if any(number is not None for number in asked):
        if None in asked:
            raise Misuse("Cannot compare a request with anything but a request: SESSION:req4 SESSION:req5.")
        return SessionDiff(files=[], requests=_between_requests(first, second))
    if second is None:
        return SessionDiff(files=list(_changes_of(first)))
    if _is_same(first, second) and first.at.path == second.at.path:
        cuts = (cut_after(first.conversation, one.at) for one in (first, second))
        return SessionDiff(files=list(_between(first, *cuts)))
    sides = (_Side(first), _Side(second))
    return SessionDiff(
        files=list(_compared(*sides)),
        sides=(sides[0].value(), sides[1].value()),
        beside=compare_turns(first, sides[0].turns, second, sides[1].turns),
    )


def _between_requests(first: Session, second: Session | None) -> list[RequestChange]:
    one = request_at(first.conversation, first.at.request or 0)
    if second is not None:
        return request_changes(one, request_at(second.conversation, second.at.request or 0))
    if one.number == 1:
        raise Misuse("Request 1 has none before it; name two requests to compare them.")
    return request_changes(one.conversation.requests[one.number - 2], one)


def _is_same(one: Session, other: Session) -> bool:
    if one.path is None or other.path is None:
        return one is other
    return os.path.realpath(one.path) == os.path.realpath(other.path)


def _changes_of(session: Session) -> Iterable[FileDifference]:
    """Yield what a session changed in all, or what a turn or a call did."""
    at, end = session.at, cut_after(session.conversation, session.at)
    if at.call is not None:
        for history in made_at(session):
            first, last = history.versions[0], history.versions[-1]
            whole, previous = first.history, first.history.versions[first.index - 1] if first.index else None
            before = FileAt(whole, previous, first.before, first.before_known, None)
            yield _difference(_name(history, session), before, FileAt(whole, last, last.after, last.whole, None))
    elif not at.turn:
        yield from _between(session, -1, end)
    else:
        yield from _between(session, cut_after(session.conversation, at._replace(turn=at.turn - 1)), end)


def _between(session: Session, start: int | None, end: int | None) -> Iterable[FileDifference]:
    for history in session.files.values():
        one, other = file_after(history, start), file_after(history, end)
        if one.version is not other.version:
            yield _difference(_name(history, session), one, other)


def file_difference(session: Session, history: FileHistory) -> FileDifference:
    """Return what a session changed in a file in all."""
    return _difference(_name(history, session), file_after(history, -1), file_after(history, None))


def _difference(path: str, one: FileAt, other: FileAt) -> FileDifference:
    """Return the difference of a file between two places of a session."""
    if one.known and other.known:
        return _text_difference(path, one, other)
    first = one.version.index + 1 if one.version is not None else 0
    last = other.version.index if other.version is not None else -1
    step = other.history.versions[first : last + 1] or one.history.versions[last + 1 : first]
    hunks = [hunk for version in step for hunk in version.hunks]
    added, removed = sum(version.added for version in step), sum(version.removed for version in step)
    return FileDifference(path=path, status=CHANGED, whole=False, hunks=hunks, added=added, removed=removed)


def _text_difference(path: str, one: FileAt, other: FileAt) -> FileDifference:
    created = one.text is None or (one.version is None and one.history.versions[0].action == "create")
    status = CREATED if created and other.text is not None else DELETED if other.text is None else CHANGED
    hunks = compute_hunks(one.text.text if one.text else "", other.text.text if other.text else "")
    lines = [line for hunk in hunks for line in hunk.lines]
    return FileDifference(
        path=path,
        status=status if hunks or status != CHANGED else NO_DIFFERENCE,
        whole=True,
        hunks=hunks,
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
    )


def _name(history: FileHistory, session: Session) -> str:
    folder = normalize_folder(session.project) if session.project else ""
    below = folder and history.path != folder and is_below(history.path, folder)
    return history.path[len(folder) + 1 :] if below else history.path


class _Side:
    """A session, or a branch of one, up to a turn."""

    def __init__(self, session: Session) -> None:
        conversation, at = session.conversation, session.at
        self.session = session
        self._branch = conversation.active_branch if at.path is None else at.path
        turns = turns_of(conversation, self._branch)
        self.turns: list[Turn] = turns if at.turn is None else turns[: at.turn]
        self._cut = cut_after(conversation, at)
        self._messages = {message.index for turn in self.turns for message in turn.messages}

    def files(self) -> dict[str, list[FileVersion]]:
        """Return the versions that this side made, by the name of the file."""
        found: dict[str, list[FileVersion]] = {}
        for history in self.session.files.values():
            versions = [version for version in history.versions if version.own and self._has(version)]
            if versions:
                found[_name(history, self.session)] = versions
        return found

    def _has(self, version: FileVersion) -> bool:
        if self._cut is not None and version.record > self._cut:
            return False
        return is_made_in(self.session, version, self._messages)

    def value(self) -> DiffSide:
        """Return the figures of this side."""
        messages = [message for turn in self.turns for message in turn.messages]
        calls = [call for message in messages for call in message.calls]
        agents = [agent for call in calls for agent in call.agents]
        below: list[Call] = [call for agent in agents for call in agent.calls]
        is_known = is_usage_known(self.session.records)
        usage = total([_usage(messages), *(agent.usage for agent in agents)])
        return DiffSide(
            session=self.session.id,
            title=self.session.title,
            path=str(self.session.path) if self.session.path is not None else None,
            branch=self._branch,
            turns=len(self.turns),
            calls=len(calls) + len(below),
            failed=sum(call.state == FAILED for call in (*calls, *below)),
            agents=len(agents),
            tokens=usage.tokens if is_known else None,
            cost_usd=usage.cost_usd if is_known else None,
            started=messages[0].timestamp if messages else None,
            ended=messages[-1].timestamp if messages else None,
            models=list(dict.fromkeys(message.model for message in messages if message.model)),
            answer=next((m.text for m in reversed(messages) if m.kind == "response" and m.text.strip()), ""),
        )


def _usage(messages: list[Message]) -> Usage:
    return total(message.usage for message in messages)


def _compared(one: _Side, other: _Side) -> Iterable[FileDifference]:
    """Yield each file that either side changed, with what differs between their last versions."""
    left, right = one.files(), other.files()
    for name in sorted({*left, *right}):
        mine, theirs = left.get(name, []), right.get(name, [])
        counts = [[sum(v.added for v in side), sum(v.removed for v in side)] for side in (mine, theirs)]
        whole = bool(mine and theirs) and mine[-1].whole and theirs[-1].whole
        texts = [(side[-1].after.text if side[-1].after else "") if side and whole else "" for side in (mine, theirs)]
        hunks = compute_hunks(*texts) if whole else []
        lines = [line for hunk in hunks for line in hunk.lines]
        yield FileDifference(
            path=name,
            status=(CHANGED if hunks else NO_DIFFERENCE)
            if whole or (mine and theirs)
            else DELETED
            if mine
            else CREATED,
            whole=whole,
            hunks=hunks,
            added=sum(line.startswith("+") for line in lines),
            removed=sum(line.startswith("-") for line in lines),
            left=counts[0] if mine else [],
            right=counts[1] if theirs else [],
        )
