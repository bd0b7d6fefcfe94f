"""The facts that count in a scope, as views: each response, turn, call and cache break once, with where it came about.

A turn, a call or a cache break that several sessions have belongs to the one that began first. A fork follows the
session that it copied, whose file was started before. Of the files of one session, the one with most of it is first:
another may end while a call ran, whose outcome it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence

from reread.accounting.digest import SIDECHAIN
from reread.facts.responses import NAMED, Counted
from reread.facts.schema import (
    CACHE_BREAK,
    CALL,
    COUNTS,
    FILE,
    ORIGIN,
    PROMPT,
    RESPONSE,
    SESSION,
    TURN,
    FactTable,
)
from reread.facts.scope import Scope
from reread.facts.sessions import AgentNames
from reread.facts.store import FactStore

RESPONSES, TURNS, CALLS, BREAKS, SHARES, PROMPTS = "responses", "turns", "calls", "breaks", "shares", "prompts"
"""The views. A share is what a call cost: its part of the response that made it."""
WHERE = ("path", "session", "project", "branch", "agent", "agent_type")
"""The columns of every view that say where a fact came about."""

NONE = "false"
"""The condition that nothing fulfils."""
_FILTERED: dict[str, frozenset[str]] = {
    RESPONSES: frozenset({"path", "session", "project", "branch", "model", "time"}),
    TURNS: frozenset({"path", "session", "project", "branch", "time"}),
    CALLS: frozenset({"path", "session", "project", "branch", "model", "time", "tool", "state"}),
    SHARES: frozenset({"path", "session", "project", "branch", "model", "time", "tool", "state"}),
    BREAKS: frozenset({"path", "session", "project", "branch", "model", "time"}),
    PROMPTS: frozenset({"path", "session", "project", "branch", "time"}),
}
"""The columns of each view that filters may ask."""


def conditions(store: FactStore, scope: Scope) -> dict[str, str]:
    """Return what the facts of each view must fulfil to be in a scope, in SQL; NONE if a filter asks what they lack."""
    first, last = scope.period
    times = [f"time >= {first}"] if first is not None else []
    times += [f"time < {last}"] if last is not None else []
    tests: list[str] = []
    wanted: set[str] = set()
    for name, (one, test) in scope.filters.items():
        store.define(f"is_{name}", test)
        tests.append(f"{one.column} {one.sql}" if one.sql else f"is_{name}({one.column})")
        wanted.add(one.column)
    known = " AND ".join([*times, *tests]) or "true"
    return {view: known if wanted <= columns else NONE for view, columns in _FILTERED.items()}


def show_responses(store: FactStore, counted: Counted, agents: AgentNames) -> None:
    """Make the view of responses, with the agents as the sessions name them."""
    unknown = (None, None)

    def agent_of(agent: str | None, message: str | None) -> str | None:
        named = agents.get(message or "", unknown)[0] if agent == SIDECHAIN else None
        return named or agent or None

    def type_of(agent: str | None, message: str | None) -> str | None:
        return agents.get(message or "", unknown)[1] or agents.get(agent or "", unknown)[1]

    store.define("agent_of", agent_of, arguments=2)
    store.define("type_of", type_of, arguments=2)
    prefix = "temp.named_" if counted.scope == NAMED else "main."
    columns = ", ".join(f"r.{name}" for name in RESPONSE.names if name != "origin")
    store.run(f"DROP VIEW IF EXISTS {RESPONSES}")
    store.run(
        f"CREATE TEMP VIEW {RESPONSES} AS SELECT {_path(prefix)}, o.session, o.project, o.branch,"
        f" CASE WHEN o.agent IS NULL OR o.agent = '' THEN NULL ELSE agent_of(o.agent, r.message) END AS agent,"
        f" CASE WHEN o.agent IS NULL THEN NULL ELSE type_of(o.agent, r.message) END AS agent_type, {columns}"
        f" FROM {prefix}{RESPONSE.name} r JOIN {prefix}{ORIGIN.name} o ON o.id = r.origin"
        f" WHERE o.scope = {counted.scope}"
    )


def show_sessions(store: FactStore, files: Sequence[int]) -> None:
    """Make the views of what opened sessions have."""
    store.run("CREATE TEMP TABLE IF NOT EXISTS chosen (file INTEGER PRIMARY KEY, place INTEGER, title TEXT)")
    store.run("DELETE FROM chosen")
    wanted = ",".join(map(str, files))
    store.run(
        f"INSERT INTO chosen SELECT s.file, row_number() OVER (ORDER BY s.began IS NULL, s.began,"
        " s.created IS NULL, s.created, s.session, -s.extent, f.path), s.title"
        f" FROM {SESSION.name} s JOIN {FILE.name} f ON f.id = s.file WHERE s.file IN ({wanted})"
    )
    for name, table in ((TURNS, TURN), (CALLS, CALL), (BREAKS, CACHE_BREAK), (PROMPTS, PROMPT)):
        _show(store, name, table)


def session_titles(store: FactStore) -> dict[str, str]:
    """Return the titles of the sessions of the views by their ids."""
    turns = f"SELECT DISTINCT session, title, place FROM {TURNS}"
    rows = store.rows(
        f"SELECT s.session, c.title, c.place FROM session s JOIN chosen c ON c.file = s.file UNION {turns} ORDER BY 3"
    )
    return {id: title for id, title, _ in reversed(rows) if id}


def show_shares(store: FactStore) -> None:
    """Make the view of what calls cost: all that was billed for a response is shared by its calls."""
    store.run("CREATE TEMP TABLE IF NOT EXISTS calls_of (message TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")
    store.run("DELETE FROM calls_of")
    store.run(f"INSERT INTO calls_of SELECT message, count(*) FROM {CALLS} WHERE message IS NOT NULL GROUP BY message")
    amounts = ", ".join(f"r.{name} * 1.0 / n.number AS {name}" for name in (column.name for column in COUNTS))
    store.run(f"DROP VIEW IF EXISTS {SHARES}")
    store.run(
        f"CREATE TEMP VIEW {SHARES} AS SELECT c.*, r.model AS price_model, r.mode AS price_mode,"
        f" r.prompt AS price_prompt, r.time AS price_time, {amounts}"
        f" FROM {CALLS} c JOIN calls_of n ON n.message = c.message JOIN {RESPONSES} r ON r.message = c.message"
    )


def _path(prefix: str = "") -> str:
    """Return the path of the file of an origin, in SQL: a query that does not ask for it does not look for it."""
    return f"(SELECT f.path FROM {prefix}{FILE.name} f WHERE f.id = o.file) AS path"


def _show(store: FactStore, name: str, table: FactTable) -> None:
    copies = f"copied_{table.name}"
    store.run(f"CREATE TEMP TABLE IF NOT EXISTS {copies} (row INTEGER PRIMARY KEY)")
    store.run(f"DELETE FROM {copies}")
    store.run(
        f"INSERT INTO {copies} SELECT row FROM (SELECT t.rowid AS row,"
        f" row_number() OVER (PARTITION BY t.id ORDER BY c.place, t.rowid) AS number"
        f" FROM {table.name} t JOIN {ORIGIN.name} o ON o.id = t.origin JOIN chosen c ON c.file = o.file"
        f" WHERE t.id IN (SELECT id FROM {table.name} WHERE id <> '' GROUP BY id HAVING count(*) > 1)) WHERE number > 1"
    )
    columns = ", ".join(f"t.{column}" for column in table.names if column != "origin")
    store.run(f"DROP VIEW IF EXISTS {name}")
    store.run(
        f"CREATE TEMP VIEW {name} AS SELECT {_path()}, o.session, o.project, o.branch, nullif(o.agent, '') AS agent,"
        f" o.agent_type, c.title, c.place, t.rowid AS row, {columns}"
        f" FROM {table.name} t JOIN {ORIGIN.name} o ON o.id = t.origin"
        " JOIN chosen c ON c.file = o.file"
        f" WHERE t.rowid NOT IN (SELECT row FROM {copies})"
    )
