"""The tables of facts and their columns. All that fills or asks the store goes by this list.

A fact belongs to an origin, which says in which file, session, project, branch and agent it came about. Times are
milliseconds since 1970. What is not known is NULL.
"""

from __future__ import annotations

from reread.catalog.header_table import HEADER
from reread.disk.fact_table import (
    BLOB,
    BOOLEAN,
    FILE,
    ID,
    INTEGER,
    OF_FILE,
    REAL,
    STATE,
    TEXT,
    TIME,
    Column,
    FactTable,
)

_ORIGIN = Column(
    "origin", INTEGER, "Where it came about: a row of `origin`.", "NOT NULL REFERENCES origin (id) ON DELETE CASCADE"
)
_FILE = Column("file", INTEGER, "The transcript.", OF_FILE)
_LINE = Column("line", INTEGER, "The line of the transcript that it begins on, from 1.", team="keep")
_TURN = Column("turn", INTEGER, "The turn of its thread, from 1; null on an abandoned branch.", team="keep")
_MODEL = Column("model", TEXT, "The model that answered.", team="model")
_TIME = Column("time", TIME, "When it began.", team="slot")
_PRICED = (
    Column("mode", INTEGER, "The request modes that change the price, as bits."),
    Column("prompt", INTEGER, "The length of the prompt that decides the price, in tokens."),
)

ORIGIN = FactTable(
    "origin",
    "Where facts came about, as their records say.",
    (
        ID,
        Column("scope", INTEGER, "The set of files in which responses were counted; NULL for facts of one session."),
        Column("file", INTEGER, "The transcript: for facts of a session, that of the session.", OF_FILE),
        Column(
            "session",
            TEXT,
            "The id of the session.",
            "CHECK (session IS NOT NULL OR scope IS NOT NULL)",
            team="id",
        ),
        Column("project", TEXT, "The folder it worked in.", team="project"),
        Column("branch", TEXT, "The branch of git."),
        Column("agent", TEXT, "The id of the agent whose thread it is; null in the main thread.", team="agent"),
        Column("agent_type", TEXT, "Its type, such as `Explore`; null if nothing says.", team="agent type"),
    ),
    indexed=("file",),
)
COUNTS = (
    Column("input_tokens", INTEGER, "Input that was neither written to the cache nor read from it.", team="keep"),
    Column("output_tokens", INTEGER, "Output, thinking included.", team="keep"),
    Column("cache_write_5m_tokens", INTEGER, "Input that was written to the cache for five minutes.", team="keep"),
    Column("cache_write_1h_tokens", INTEGER, "Input that was written to the cache for an hour.", team="keep"),
    Column("cache_read_tokens", INTEGER, "Input that was read from the cache.", team="keep"),
    Column("web_searches", INTEGER, "Searches by the API's own tool.", team="keep"),
)
RESPONSE = FactTable(
    "response",
    "A response, each once over all files of a scope, or what is billed or reported apart.",
    (
        _ORIGIN,
        Column("message", TEXT, "The API's id of the message: `id` of `messages`.", team="id"),
        Column("request", TEXT, "The API's id of the request, if a row states one.", team="id"),
        _TIME,
        _MODEL,
        *_PRICED,
        Column("responses", INTEGER, "1; 0 for what is billed or reported apart.", team="keep"),
        *COUNTS,
        Column("reported_nanos", INTEGER, "Its cost as the client reported it, in nano-dollars."),
        Column(
            "unconfirmed_responses",
            INTEGER,
            "1 if no row has a stop reason: its output is a lower bound.",
            team="keep",
        ),
    ),
    indexed=("origin", "message"),
)
SCOPE = FactTable(
    "scope",
    "A set of files in which each response counts once: the folders that were asked for.",
    (
        ID,
        Column("name", TEXT, "Says which folders.", "UNIQUE"),
        Column("used", INTEGER, "When it was last asked."),
    ),
)
SETTLED = FactTable(
    "settled",
    "The state of each file in which its responses were counted.",
    (
        Column("scope", INTEGER),
        _FILE,
        *STATE,
    ),
    indexed=("scope", "file"),
)
LINK = FactTable(
    "link",
    "What a file has in common with others: hashes of the responses, sessions and agents that it names.",
    (_FILE, Column("hash", INTEGER)),
    indexed=("hash", "file"),
)
SESSION = FactTable(
    "session",
    "A session that was opened, and the state of its files then.",
    (
        Column("file", INTEGER, "The transcript.", f"PRIMARY KEY {OF_FILE}"),
        Column("state", BLOB, "A hash of the state of all its files."),
        Column("id", TEXT),
        Column("title", TEXT),
        Column("project", TEXT),
        Column("began", INTEGER, "The time of its first turn, or else response: of a fork, those of the original."),
        Column("started", INTEGER, "The first time in its file."),
        Column("extent", INTEGER, "Turns, responses, calls and their outcomes that the file has."),
    ),
)
TURN = FactTable(
    "turn",
    "A turn of the main thread, with where its time went.",
    (
        _ORIGIN,
        Column("id", TEXT, "That of its first message."),
        _LINE,
        _TIME,
        Column("model_seconds", REAL, "Time in which the model answered and no tool ran."),
        Column("tool_seconds", REAL, "Time in which some tool ran, the time to allow it included."),
        Column("waiting_seconds", REAL, "All other time up to the next turn."),
        Column("context_growth", INTEGER, "Tokens that it added to the context."),
        Column("context_peak", INTEGER, "The most tokens that were in the context."),
        Column("compactions", INTEGER),
        Column("tokens_removed", INTEGER, "By those of its compactions that say how many; NULL if none does."),
        Column("unmeasured_compactions", INTEGER, "Compactions that do not."),
        Column("number", INTEGER, "Its number, from 1; NULL on other branches."),
        Column("ended", INTEGER, "The last time in it."),
        Column("model", TEXT, "The first model that answered."),
        Column("written", BLOB, "The lines in its and its agents' commands of several lines, as numbers."),
    ),
    indexed=("origin", "id"),
)
CALL = FactTable(
    "call",
    "A call of a tool.",
    (
        _ORIGIN,
        Column("id", TEXT, "The id of the tool use.", team="id"),
        Column("message", TEXT, "The response that made the call: `id` of `messages`.", team="id"),
        _LINE,
        _TURN,
        Column("time", TIME, "When the call was made.", team="slot"),
        Column("model", TEXT, "The model that made it.", team="model"),
        Column("tool", TEXT, "The name of the tool.", team="tool"),
        Column("mcp_server", TEXT, "The MCP server whose tool it is."),
        Column("state", TEXT, "`running`, `done`, `failed`, `denied` or `interrupted`.", team="state"),
        Column(
            "failure",
            TEXT,
            "The kind of failure of a failed call: `exit 1`, `timeout`, `no such file` … or `other`.",
            team="failure",
        ),
        Column(
            "is_retry", BOOLEAN, "True if the call before it, of the same tool in the same turn, failed.", team="keep"
        ),
        Column("seconds", REAL, "Seconds from the call to its result.", team="keep"),
        Column("file", TEXT, "The file that it is about, for tools that name one."),
        Column("lines_added", INTEGER, "Lines that it added to files, as an edit.", team="keep"),
        Column("lines_removed", INTEGER, "Lines that it removed from files.", team="keep"),
        Column("command", TEXT, "Of a shell command, the program and what it is told to do: `npm test`."),
        Column("skill", TEXT, "The skill that it loads, or on behalf of which it was made."),
        Column("main_turn", INTEGER, "The turn of the main thread that it was made in, or that began its agent."),
        Column("tests", TEXT, "The beginning of a command that ran tests."),
        Column("undoes", TEXT, "The beginning of a command that puts files back to what git has."),
    ),
    indexed=("origin", "id", "message"),
)
PROMPT = FactTable(
    "prompt",
    "A prompt or a typed command of the main thread.",
    (
        _ORIGIN,
        Column("id", TEXT, "That of the message."),
        _LINE,
        _TIME,
        Column("turn", INTEGER, "The turn that it begins; of one that was rewound, the turn before it."),
        Column("kind", TEXT, "prompt, command …"),
        Column("author", TEXT, "Who wrote it, as `message.author` says: a person, the client …"),
        Column("is_active", INTEGER, "0 if it was rewound."),
        Column("text", TEXT, "The beginning of its text."),
    ),
    indexed=("origin", "id"),
)
CACHE_BREAK = FactTable(
    "cache_break",
    "A request that had to write again what was cached.",
    (
        _ORIGIN,
        Column("id", TEXT, "The id of the response."),
        _LINE,
        _TURN,
        _TIME,
        _MODEL,
        *_PRICED,
        Column("cause", TEXT, "Why the cache could not be used, by the best evidence."),
        Column("evidence", TEXT, "Where the cause is from: server, requests, time, transcript or none."),
        Column("tokens", INTEGER, "Tokens that were written again."),
        Column("hour_tokens", INTEGER, "Those of them that were written for an hour."),
        Column("gap_seconds", REAL, "From the last use of the cache to the request."),
        Column("cached_tokens", INTEGER, "Tokens that the request before had read or written."),
        Column("read_tokens", INTEGER, "Tokens that were still read."),
        Column("detail", TEXT, "The cause in a few words."),
    ),
    indexed=("origin", "id"),
)
AGENT = FactTable(
    "agent",
    "An agent, by its id, and by those of its messages if no record has its id.",
    (
        _FILE,
        Column("id", TEXT),
        Column("agent", TEXT),
        Column("type", TEXT),
        Column("is_warmup", INTEGER, "1 if the client only warms up with it."),
    ),
    indexed=("file",),
)
GIT_COMMIT = FactTable(
    "git_commit",
    "A commit that a session made.",
    (
        _FILE,
        Column("call", TEXT, "The call that made it."),
        Column("turn", INTEGER, "The turn of the main thread; NULL on other branches."),
        _TIME,
        Column("sha", TEXT, "Its hash, as far as the session states it."),
        Column("subject", TEXT),
        Column("branch", TEXT),
    ),
    indexed=("file",),
)
PULL_REQUEST = FactTable(
    "pull_request",
    "A pull request that a session worked on.",
    (
        _FILE,
        Column("call", TEXT, "The call that did it; NULL if the client linked the session to it."),
        Column("number", INTEGER),
        Column("repository", TEXT, "Owner and name."),
        Column("url", TEXT),
        Column("action", TEXT, "created, merged, commented …; NULL if it was only linked."),
    ),
    indexed=("file",),
)
ANSWER = FactTable(
    "answer",
    "The responses of each turn of the main thread, those of its agents included.",
    (_FILE, Column("turn", INTEGER), Column("message", TEXT)),
    indexed=("file",),
)
TYPED = FactTable(
    "typed",
    "The commands that were typed in a session, without the slash, each once.",
    (_FILE, Column("command", TEXT)),
    indexed=("file",),
)
LOADED = FactTable(
    "loaded",
    "The servers, tools and skills that were in the requests of a session.",
    (
        _FILE,
        Column("kind", TEXT, "mcp_server, tool or skill."),
        Column("name", TEXT),
        Column("chars", INTEGER, "Characters of its definition in each request; NULL if only its name is recorded."),
    ),
    indexed=("file",),
)
MEMORY = FactTable(
    "memory",
    "The texts of the memory files of a session.",
    (_FILE, Column("text", TEXT)),
    indexed=("file",),
)
PLACES = FactTable(
    "places",
    "What a search says of the records of a file besides their texts, above all their turns.",
    (
        Column("file", INTEGER, "The file: that of a session, or of one of its agents.", f"PRIMARY KEY {OF_FILE}"),
        *STATE,
        Column("value", BLOB, "The places, packed."),
    ),
)
FILE_CHANGE = FactTable(
    "file_change",
    "A file that a session changed, its agents included.",
    (
        _FILE,
        Column("path", TEXT, "Its path, as the session knows it."),
        Column(
            "versions",
            BLOB,
            "Its versions: the call, the turn and its prompt, and the lines as hashes. NULL until somebody asks.",
        ),
    ),
    indexed=("file",),
)

OF_SESSIONS = (TURN, CALL, CACHE_BREAK, PROMPT)
"""The facts of sessions that have an origin."""
PER_SESSION = (AGENT, ANSWER, GIT_COMMIT, PULL_REQUEST, TYPED, LOADED, MEMORY, FILE_CHANGE)
"""The facts of sessions as a whole."""
TABLES = (FILE, HEADER, PLACES, ORIGIN, SCOPE, SETTLED, LINK, SESSION, RESPONSE, *OF_SESSIONS, *PER_SESSION)
LAST_FAILED = "last_failed"
"""The view of the sessions whose last command failed."""
