"""The tables of facts and their columns. All that fills or asks the store goes by this list.

A fact belongs to an origin, which says in which file, session, project, branch and agent it came about. Times are
milliseconds since 1970. What is not known is NULL.
"""

from __future__ import annotations

from typing import NamedTuple

from reread.disk.cache import CacheTable

FORMAT = 2
"""Change it when facts would be derived differently now: all of them are then derived again."""
INTEGER, REAL, TEXT, BLOB, ANY = "INTEGER", "REAL", "TEXT", "BLOB", "ANY"
KNOWN = frozenset(
    "cached_tokens cause compactions context_growth device evidence extent hash hour_tokens inode is_retry kind"
    " input_tokens output_tokens cache_write_5m_tokens cache_write_1h_tokens cache_read_tokens web_searches"
    " lines_added lines_removed mode model_seconds modified name path prompt read_tokens responses size state title"
    " tokens tool tool_seconds unconfirmed_responses unmeasured_compactions waiting_seconds".split()
)
"""Columns that are never NULL, besides what refers to another table."""


class FactColumn(NamedTuple):
    """One column of a table."""

    name: str
    type: str
    doc: str = ""
    constraint: str = ""

    @property
    def sql(self) -> str:
        """Its definition in SQL."""
        known = " NOT NULL" if self.name in KNOWN else ""
        return f"{self.name} {self.type}{known} {self.constraint}".rstrip()


class FactTable(NamedTuple):
    """One table."""

    name: str
    doc: str
    columns: tuple[FactColumn, ...]
    indexed: tuple[str, ...] = ()
    """Columns with an index of their own."""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]

    @property
    def in_cache(self) -> CacheTable:
        """The table as the cache creates it."""
        columns = ", ".join(column.sql for column in self.columns)
        return CacheTable(self.name, columns, FORMAT, indexed=self.indexed, group="facts", strict=True)

    def called(self, name: str) -> FactTable:
        """Return the same table under another name, without indexes."""
        return self._replace(name=name, indexed=())

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        return f"INSERT INTO {self.name} VALUES ({', '.join('?' * len(self.columns))})"


_ID = FactColumn("id", INTEGER, constraint="PRIMARY KEY")
_OF_ORIGIN, _OF_FILE = (f"NOT NULL REFERENCES {name} (id) ON DELETE CASCADE" for name in ("origin", "file"))
_ORIGIN = FactColumn("origin", INTEGER, "Where it came about: a row of `origin`.", _OF_ORIGIN)
_FILE = FactColumn("file", INTEGER, "The transcript.", _OF_FILE)
_LINE = FactColumn("line", INTEGER, "The line of its first record, from 1.")
_TURN = FactColumn("turn", INTEGER, "The turn of the main thread; NULL in agents and on other branches.")
_MODEL = FactColumn("model", TEXT, "The model that answered.")
_TIME = FactColumn("time", INTEGER, "When it began.")
_PRICED = (
    FactColumn("mode", INTEGER, "The request modes that change the price, as bits."),
    FactColumn("prompt", INTEGER, "The length of the prompt that decides the price, in tokens."),
)

_PATH = FactColumn(
    "path", ANY, "Its absolute path; bytes if it is not Unicode.", "UNIQUE CHECK (typeof(path) IN ('text', 'blob'))"
)
FILE = FactTable("file", "A transcript.", (_ID, _PATH))
ORIGIN = FactTable(
    "origin",
    "Where facts came about, as their records say.",
    (
        _ID,
        FactColumn(
            "scope", INTEGER, "The set of files in which responses were counted; NULL for facts of one session."
        ),
        FactColumn("file", INTEGER, "The transcript: for facts of a session, that of the session.", _OF_FILE),
        FactColumn("session", TEXT, "The id of the session.", "CHECK (session IS NOT NULL OR scope IS NOT NULL)"),
        FactColumn("project", TEXT, "The folder it worked in."),
        FactColumn("branch", TEXT, "The branch of git."),
        FactColumn("agent", TEXT, "The id of the agent; NULL in the main thread."),
        FactColumn("agent_type", TEXT, "The type of the agent, if the session says it."),
    ),
    indexed=("file",),
)
COUNTS = (
    FactColumn("input_tokens", INTEGER, "Input that was neither written to the cache nor read from it."),
    FactColumn("output_tokens", INTEGER, "Output, thinking included."),
    FactColumn("cache_write_5m_tokens", INTEGER, "Input that was written to the cache for five minutes."),
    FactColumn("cache_write_1h_tokens", INTEGER, "Input that was written to the cache for an hour."),
    FactColumn("cache_read_tokens", INTEGER, "Input that was read from the cache."),
    FactColumn("web_searches", INTEGER, "Searches by the API's own tool."),
)
RESPONSE = FactTable(
    "response",
    "A response, each once over all files of a scope, or what is billed or reported apart.",
    (
        _ORIGIN,
        FactColumn("message", TEXT, "The API's id of the message."),
        FactColumn("request", TEXT, "The API's id of the request."),
        _TIME,
        _MODEL,
        *_PRICED,
        FactColumn("responses", INTEGER, "1; 0 for what is billed or reported apart."),
        *COUNTS,
        FactColumn("reported_nanos", INTEGER, "Its cost as the client reported it, in nano-dollars."),
        FactColumn("unconfirmed_responses", INTEGER, "1 if no row has a stop reason."),
    ),
    indexed=("origin", "message"),
)
SCOPE = FactTable(
    "scope",
    "A set of files in which each response counts once: the folders that were asked for.",
    (
        _ID,
        FactColumn("name", TEXT, "Says which folders.", "UNIQUE"),
        FactColumn("used", INTEGER, "When it was last asked."),
    ),
)
SETTLED = FactTable(
    "settled",
    "The state of each file in which its responses were counted.",
    (
        FactColumn("scope", INTEGER),
        _FILE,
        *(FactColumn(name, INTEGER) for name in ("device", "inode", "size", "modified")),
    ),
    indexed=("scope", "file"),
)
LINK = FactTable(
    "link",
    "What a file has in common with others: hashes of the responses, sessions and agents that it names.",
    (_FILE, FactColumn("hash", INTEGER)),
    indexed=("hash", "file"),
)
SESSION = FactTable(
    "session",
    "A session that was opened, and the state of its files then.",
    (
        FactColumn("file", INTEGER, "The transcript.", f"PRIMARY KEY {_OF_FILE}"),
        FactColumn("state", BLOB, "A hash of the state of all its files."),
        FactColumn("id", TEXT),
        FactColumn("title", TEXT),
        FactColumn("project", TEXT),
        FactColumn("began", INTEGER, "The time of its first turn, or else response: of a fork, those of the original."),
        FactColumn("started", INTEGER, "The first time in its file."),
        FactColumn("extent", INTEGER, "Turns, responses, calls and their outcomes that the file has."),
    ),
)
TURN = FactTable(
    "turn",
    "A turn of the main thread, with where its time went.",
    (
        _ORIGIN,
        FactColumn("id", TEXT, "That of its first message."),
        _LINE,
        _TIME,
        FactColumn("model_seconds", REAL, "Time in which the model answered and no tool ran."),
        FactColumn("tool_seconds", REAL, "Time in which some tool ran, the time to allow it included."),
        FactColumn("waiting_seconds", REAL, "All other time up to the next turn."),
        FactColumn("context_growth", INTEGER, "Tokens that it added to the context."),
        FactColumn("context_peak", INTEGER, "The most tokens that were in the context."),
        FactColumn("compactions", INTEGER),
        FactColumn("tokens_removed", INTEGER, "By those of its compactions that say how many; NULL if none does."),
        FactColumn("unmeasured_compactions", INTEGER, "Compactions that do not."),
    ),
    indexed=("origin", "id"),
)
CALL = FactTable(
    "call",
    "A call of a tool.",
    (
        _ORIGIN,
        FactColumn("id", TEXT),
        FactColumn("message", TEXT, "The response that made it."),
        _LINE,
        _TURN,
        _TIME,
        _MODEL,
        FactColumn("tool", TEXT),
        FactColumn("mcp_server", TEXT, "The MCP server whose tool it is."),
        FactColumn("state", TEXT, "running, done, failed, denied or interrupted."),
        FactColumn("failure", TEXT, "The kind of failure of a failed call: `exit 1`, `timeout` …; `other` if unknown."),
        FactColumn("is_retry", INTEGER, "1 if the call before it, of the same tool in the same turn, failed."),
        FactColumn("seconds", REAL, "From the call to its result."),
        FactColumn("file", TEXT, "The file it is about."),
        FactColumn("lines_added", INTEGER),
        FactColumn("lines_removed", INTEGER),
        FactColumn("command", TEXT, "Of a shell command, the program and what it is told to do: `npm test`."),
        FactColumn("skill", TEXT, "The skill that it loads, or on behalf of which it was made."),
    ),
    indexed=("origin", "id", "message"),
)
CACHE_BREAK = FactTable(
    "cache_break",
    "A request that had to write again what was cached.",
    (
        _ORIGIN,
        FactColumn("id", TEXT, "The id of the response."),
        _LINE,
        FactColumn("turn", INTEGER, "The turn of its thread; NULL on an abandoned branch."),
        _TIME,
        _MODEL,
        *_PRICED,
        FactColumn("cause", TEXT, "Why the cache could not be used, by the best evidence."),
        FactColumn("evidence", TEXT, "Where the cause is from: server, requests, time, transcript or none."),
        FactColumn("tokens", INTEGER, "Tokens that were written again."),
        FactColumn("hour_tokens", INTEGER, "Those of them that were written for an hour."),
        FactColumn("gap_seconds", REAL, "From the last use of the cache to the request."),
        FactColumn("cached_tokens", INTEGER, "Tokens that the request before had read or written."),
        FactColumn("read_tokens", INTEGER, "Tokens that were still read."),
        FactColumn("detail", TEXT, "The cause in a few words."),
    ),
    indexed=("origin", "id"),
)
AGENT = FactTable(
    "agent",
    "An agent, by its id, and by those of its messages if no record has its id.",
    (_FILE, FactColumn("id", TEXT), FactColumn("agent", TEXT), FactColumn("type", TEXT)),
    indexed=("file",),
)
MADE = FactTable(
    "made",
    "The commits that a session made, and the pull requests that it worked on.",
    (_FILE, FactColumn("commit_sha", TEXT), FactColumn("pull_request", INTEGER)),
    indexed=("file",),
)
TYPED = FactTable(
    "typed",
    "The commands that were typed in a session, without the slash, each once.",
    (_FILE, FactColumn("command", TEXT)),
    indexed=("file",),
)
LOADED = FactTable(
    "loaded",
    "The servers, tools and skills that were in the requests of a session.",
    (
        _FILE,
        FactColumn("kind", TEXT, "mcp_server, tool or skill."),
        FactColumn("name", TEXT),
        FactColumn(
            "chars", INTEGER, "Characters of its definition in each request; NULL if only its name is recorded."
        ),
    ),
    indexed=("file",),
)
MEMORY = FactTable(
    "memory",
    "The texts of the memory files of a session.",
    (_FILE, FactColumn("text", TEXT)),
    indexed=("file",),
)

OF_SESSIONS = (TURN, CALL, CACHE_BREAK)
"""The facts of sessions that have an origin."""
PER_SESSION = (AGENT, MADE, TYPED, LOADED, MEMORY)
"""The facts of sessions as a whole."""
TABLES = (FILE, ORIGIN, SCOPE, SETTLED, LINK, SESSION, RESPONSE, *OF_SESSIONS, *PER_SESSION)
