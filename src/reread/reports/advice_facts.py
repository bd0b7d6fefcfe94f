"""What advice is made of: the sessions that it comes from, what they did, and where one sees that."""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from reread.accounting.billing import PICOS_PER_DOLLAR
from reread.base.choices import DENIED, DONE, FAILED, AdviceKind
from reread.catalog.resolve import shell_name
from reread.disk.derived_cache import known_path
from reread.facts.loaded import SKILL, TOOL
from reread.facts.scope import session_name
from reread.facts.views import CALLS, RESPONSES, SHARES
from reread.reports.report import Row
from reread.reports.tally import Tally
from reread.storage.user_paths import reread_words

if TYPE_CHECKING:
    from reread.session.session import Session

OFTEN = 3
"""Fewer failures, denials, breaks or sessions are no habit."""
MOST_PLACES = 5
"""So many places are named as evidence of each advice."""
CALL = ("path", "line", "turn", "agent", "tool", "state", "failure", "denied_by", "command", "skill")
"""What advice needs of calls."""


class AdvicePlace(msgspec.Struct, frozen=True):
    """A session that a piece of advice comes from, and where in it."""

    session: str
    title: str
    line: int | None
    """None if it is the session as a whole."""
    turn: int | None
    command: str
    """What to type to see it."""


class Advice(msgspec.Struct, frozen=True):
    """One thing to do differently, with its evidence."""

    kind: AdviceKind
    subject: str
    """What it is about: servers, tools, skills, a command, a tool, or the cause of cache breaks."""
    deed: str
    """What to do, in a sentence without its full stop."""
    text: str
    """What was seen, in a sentence without its full stop."""
    project: str | None
    """The project that it is about; None for all of them."""
    count: int
    """How often it was seen: sessions, failures, denials, breaks."""
    tokens: int | None
    """Tokens that it cost: of what is loaded, the most in a request; of all cache breaks. None if not known."""
    tokens_estimated: bool
    """True if tokens and cost are computed from the length of a text."""
    cost_usd: float | None
    """What it cost in all; None if it cannot be priced."""
    command: str
    """What to type to see more."""
    places: list[AdvicePlace]
    """The newest sessions and turns that it comes from."""


class AdviceSession(msgspec.Struct, frozen=True):
    """What advice needs of a session."""

    file: int
    session: str
    title: str
    project: str
    path: str
    used: set[tuple[str, str]]
    """The skills and tools that its calls used."""
    runs: dict[str, int]
    """How often each command was run."""
    failures: list[Row]
    """Its calls that failed or were denied, without those that a session before had."""
    commands: list[str]
    """The commands that were typed."""
    loaded: list[tuple[str, str, int | None]]
    memory: str
    picos_per_token: float
    """What one token at the start of the main thread's prompt cost over the whole session, in pico-dollars."""
    times: tuple[int, int] | None
    """When the first and the last of its responses came."""


def advice_sessions(tally: Tally) -> list[AdviceSession]:
    """Return the sessions, the first one first."""
    rows = tally.store.rows
    failures: dict[str, list[Row]] = {}
    for call in tally.items(CALLS, CALL, (), priced=SHARES, where=f"state IN ('{FAILED}', '{DENIED}')"):
        failures.setdefault(call["path"], []).append(call)

    def by_first(sql: str) -> dict[Any, list[Any]]:
        """Return the rest of each row of a query by its first value."""
        found: dict[Any, list[Any]] = defaultdict(list)
        for first, *rest in rows(sql):
            found[first].append(tuple(rest))
        return found

    names = (f"SELECT DISTINCT path, '{kind}', {kind} FROM {CALLS} WHERE {kind} <> ''" for kind in (TOOL, SKILL))
    used = by_first(" UNION ALL ".join(names))
    runs = by_first(
        f"SELECT path, command, count(*) FROM {CALLS} WHERE command <> '' AND state IN ('{DONE}', '{FAILED}')"
        " GROUP BY path, command"
    )
    typed = by_first("SELECT file, command FROM typed WHERE command <> ''")
    loaded = by_first("SELECT file, kind, name, chars FROM loaded")
    memory: dict[int, str] = dict(rows("SELECT file, text FROM memory WHERE text <> ''"))
    costs = _picos_per_token(tally)
    sql = f"SELECT path, min(time), max(time) FROM {RESPONSES} WHERE time IS NOT NULL GROUP BY path"
    times: dict[str, tuple[int, int]] = {path: (first, last) for path, first, last in rows(sql)}
    return [
        AdviceSession(
            file=file,
            session=id,
            title=title,
            project=project or "",
            path=known_path(path),
            used=set(used[path]),
            runs=dict(runs[path]),
            failures=failures.get(path, []),
            commands=[command for (command,) in typed[file]],
            loaded=loaded[file],
            memory=memory.get(file, ""),
            picos_per_token=costs.get(path, 0),
            times=times.get(path),
        )
        for file, id, title, project, path in rows(
            "SELECT s.file, s.session, s.title, s.project, f.path FROM session s"
            " JOIN chosen c ON c.file = s.file JOIN file f ON f.id = s.file ORDER BY c.place"
        )
    ]


def _picos_per_token(tally: Tally) -> dict[str, float]:
    """Return what one token at the start of each prompt cost: it is read if anything is, else written, else input."""
    found: dict[str, float] = {}
    for path, cached, written, count, *priced in tally.priced(
        f"SELECT path, cache_read_tokens > 0, CASE WHEN cache_write_1h_tokens > 0 THEN 2"
        f" WHEN cache_write_5m_tokens > 0 THEN 1 ELSE 0 END, sum(responses), {{price}} FROM {RESPONSES}"
        f" WHERE agent IS NULL AND responses > 0 GROUP BY path, 2, 3, {{price}}"
    ):
        rates = tally.rates(priced)
        if rates is not None:
            written_at = (rates.input, rates.write_5m, rates.write_1h)
            each = rates.read if cached else written_at[int(written)]
            found[path] = found.get(path, 0) + each * count
    return found


def price_of_an_hour(tally: Tally) -> float:
    """Return how much more it had cost to write for an hour all that was written to the cache for five minutes."""
    picos = 0.0
    for written, *priced in tally.priced(
        f"SELECT sum(cache_write_5m_tokens), {{price}} FROM {RESPONSES}"
        " WHERE session IN (SELECT s.session FROM session s JOIN chosen c ON c.file = s.file) GROUP BY {price}"
    ):
        rates = tally.rates(priced)
        picos += (rates.write_1h - rates.write_5m) * (written or 0) if rates is not None else 0
    return picos / PICOS_PER_DOLLAR


class CommandWords:
    """The commands that read the same sessions."""

    def __init__(
        self,
        sources: Sequence[str | os.PathLike[str] | Session],
        root: str | Path | Sequence[str | Path] | None,
    ) -> None:
        self._reread = reread_words([root] if isinstance(root, str | Path) else root or ())
        self._sources = [str(session_name(source)) for source in sources]

    def all(self, verb: str, *options: str) -> str:
        return shlex.join([*self._reread, verb, *self._sources, *options])

    def place(self, facts: AdviceSession, line: int | None, turn: int | None, agent: str | None = None) -> AdvicePlace:
        name = shell_name(Path(facts.path), facts.session) if self._sources else shlex.quote(facts.session)
        place = f":{turn}" if turn is not None and agent is None else ""
        command = f"{shlex.join(self._reread)} show {name}{place}"
        return AdvicePlace(facts.session, facts.title, line, turn, command)


def is_mentioned(subject: str, facts: AdviceSession) -> bool:
    """True if the memory of a session has something as whole words; a tool of a server stands for the server, too."""
    words = r"\s+".join(map(re.escape, subject.split()))
    return re.search(rf"(?<![\w-])(?:mcp__)?{words}(?:__[\w-]+)?(?![\w-])", facts.memory, re.IGNORECASE) is not None


def newest(places: Iterable[AdvicePlace]) -> list[AdvicePlace]:
    """Return the last places, newest first, each turn once."""
    return list({place.command: place for place in places}.values())[: -MOST_PLACES - 1 : -1]
