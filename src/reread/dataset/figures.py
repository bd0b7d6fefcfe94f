"""Tables for a team: figures without words.

Every column of a table says its rule, and one without is left out: so nothing leaves a machine because somebody added
it to a table. A column is a number, a time, a name of a known vocabulary (a model is
called as in the bundled price table), or a hash with the team's key; else it is left out. Whatever a transcript has as
text may be somebody's words, also where the client writes an id. An id of the form that the API or the client makes at
random is hashed without the key: nobody can guess it, and whoever reads recognises copies by it, also in tables of
earlier versions, which have it in clear. Times are those of a quarter of an hour: nobody's minutes are told.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, get_args

from reread.accounting.billing import SYNTHETIC
from reread.accounting.prices import bundled_prices
from reread.base.choices import CacheBreakCause, CallState
from reread.base.paths import normalize_folder
from reread.catalog.team_settings import TeamSettings
from reread.dataset.schema import CALLS, PARTITIONS, SESSIONS, TABLES, USAGE, Row, TableSchema
from reread.disk.fact_table import TEXT, Column
from reread.disk.projects import repository_of
from reread.facts.clock import SLOT_MS
from reread.facts.derive import FAILURES
from reread.tools import MCP, built_in_tools

PERSON = Column("person", TEXT, "The person whose machine wrote the row.")
TEAM = Column("team", TEXT, "The team of that person.")
DIGITS = 20
"""Hexadecimal digits of a hash: among a hundred million rows no two are likely to be the same."""
OTHER = "other"

RANDOM_ID = r"(?:msg|req|toolu|srvtoolu)_(?:bdrk_|vrtx_)?[0-9A-Za-z]{20,40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_RANDOM_ID = re.compile(RANDOM_ID)
_HASH = re.compile(rf"(?:{MCP})?[0-9a-f]{{{DIGITS}}}|[0-9a-f]{{{DIGITS}}}/[0-9a-f]{{{DIGITS}}}")
_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,4}){2}", re.ASCII)
_EXIT = re.compile(r"exit -?\d{1,10}", re.ASCII)
_FAILURES = {kind for _, kind in FAILURES} | {"text not unique", "too large", "timeout", OTHER}
_ENTRYPOINTS = frozenset(
    {"cli", "sdk-cli", "sdk-py", "sdk-ts", "mcp", "claude-vscode", "claude-desktop", "local-agent"}
)
_AGENT_TYPES = frozenset(
    {"general-purpose", "Explore", "Plan", "statusline-setup", "output-style-setup", "claude-code-guide", "compact"}
)

KEEP, LEAVE_OUT, ID, SLOT = "keep", "leave out", "id", "slot"
PATH, PROJECT, AGENT = "path", "project", "agent"
MODEL, TOOL, AGENT_TYPE, VERSION, ENTRYPOINT, STATE, FAILURE, CAUSE = (
    "model",
    "tool",
    "agent type",
    "version",
    "entrypoint",
    "state",
    "failure",
    "cause",
)

RULES: dict[str, dict[str, str]] = {
    table.name: {column.name: column.team for column in table.columns[len(PARTITIONS) :]}
    for table in (SESSIONS, CALLS, USAGE)
}
"""How each column is written, as the tables say; other tables are not. A number or a truth value may be kept."""


def _figures_table(table: TableSchema) -> TableSchema:
    rules = RULES[table.name]
    own = (column for column in table.columns if rules.get(column.name, LEAVE_OUT) != LEAVE_OUT)
    return TableSchema(table.name, table.doc, (*PARTITIONS, *own, PERSON, TEAM), table.facts)


FIGURES = {name: _figures_table(TABLES[name]) for name in RULES}
"""The tables for a team, by name."""
PER_FILE = tuple(name for name in FIGURES if name != USAGE.name)
LEFT_OUT = frozenset("records messages turns prompts cache_breaks commits pull_requests edits files".split())
"""The tables that no team gets: their rows are about what was said and changed."""
_TIME, _MESSAGE = (TABLES[USAGE.name].names(text=True).index(name) for name in ("time", "message"))
_OWN_TIME = FIGURES[USAGE.name].names(text=True).index("time")


class RowMask:
    """Takes the words out of the rows of one machine; `again` out of rows of which some are hashes already."""

    def __init__(self, settings: TeamSettings, *, again: bool = False) -> None:
        self.settings: TeamSettings = settings.require_person()
        self._key = (settings.key or "").encode()
        self.keyed: Callable[[str, str], str] = lru_cache(1 << 16)(self._keyed)
        """Return the hash of a text that is of some kind."""
        hide: dict[str, Callable[[str], str]] = {
            ID: lambda value: random_id_hash(value) if _RANDOM_ID.fullmatch(value) else self.keyed(ID, value),
            PATH: self._path,
            PROJECT: self.project,
            AGENT: lambda value: self.keyed(AGENT, value),
            MODEL: self._model,
            TOOL: self._tool,
            AGENT_TYPE: lambda value: value if value in _AGENT_TYPES else self.keyed(AGENT_TYPE, value),
            VERSION: lambda value: value if _VERSION.fullmatch(value) else OTHER,
            ENTRYPOINT: lambda value: value if value in _ENTRYPOINTS else OTHER,
            STATE: lambda value: value if value in get_args(CallState) else OTHER,
            FAILURE: lambda value: value if value in _FAILURES or _EXIT.fullmatch(value) else OTHER,
            CAUSE: lambda value: value if value in get_args(CacheBreakCause) else "unknown",
        }
        self._hide = {rule: _unless_hashed(change) for rule, change in hide.items()} if again else hide
        self._plans: dict[str, list[tuple[int, Callable[[Any], Any] | None]]] = {}
        for name, rules in RULES.items():
            places = {column.name: place for place, column in enumerate(TABLES[name].columns)}
            kept = [(places[column], rules[column]) for column in rules if rules[column] != LEAVE_OUT]
            how = {KEEP: _number, SLOT: _slot, **{rule: _text(change) for rule, change in self._hide.items()}}
            plan = sorted((place, rule) for place, rule in kept)
            self._plans[name] = [(0, None), (1, None), *((place, how[rule]) for place, rule in plan)]

    def row(self, table: str, row: Row) -> Row:
        """Return a row as it is written for the team."""
        values = [row[place] if hide is None else hide(row[place]) for place, hide in self._plans[table]]
        if table == USAGE.name and row[_MESSAGE] is None:  # copies of what is reported apart are told by its time
            values[_OWN_TIME] = row[_TIME]
        return (*values, self.settings.person, self.settings.name)

    def hide(self, rule: str, value: str) -> str:
        """Return a text as a rule writes it."""
        return self._hide[rule](value)

    def path(self, path: str) -> str:
        """Return the path of a transcript as it is written."""
        return self._hide[PATH](path)

    def _path(self, path: str) -> str:
        """Return a path as two hashes, of its folder and of its name: copies of a transcript share the name."""
        folder, _, name = path.replace("\\", "/").rpartition("/")
        return f"{self.keyed('folder', folder)}/{self.keyed('name', name)}"

    def project(self, project: str) -> str:
        """Return the hash of the name of a project's repository, which is the same wherever people have it."""
        return self.keyed(PROJECT, project_name(project))

    def _keyed(self, kind: str, value: str) -> str:
        text = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:DIGITS]

    def _model(self, value: str) -> str:
        known = bundled_prices().name(value)
        if known is not None:
            return known.model
        return value if value == SYNTHETIC else self.keyed(MODEL, value)

    def _tool(self, value: str) -> str:
        if value in built_in_tools() and value != MCP:
            return value
        return f"{MCP if value.startswith(MCP) else ''}{self.keyed(TOOL, value)}"


def random_id_hash(id: str) -> str:
    """Return the hash of an id that was made at random."""
    return hashlib.sha256(id.encode()).hexdigest()[:DIGITS]


def project_name(project: str) -> str:
    """Return the last part of the folder of a project's repository, or a name as it is."""
    folder = repository_of(normalize_folder(project)) or project
    kind = PureWindowsPath if "\\" in folder else PurePosixPath
    return kind(folder).name or folder


def _unless_hashed(hide: Callable[[str], str]) -> Callable[[str], str]:
    return lambda value: value if _HASH.fullmatch(value) else hide(value)


def _text(hide: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else hide(str(value))


def _slot(value: Any) -> int | None:
    return value // SLOT_MS * SLOT_MS if isinstance(value, int) else None


def _number(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else None
