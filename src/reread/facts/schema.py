"""The tables of facts and their columns. All that fills or asks the store goes by this list.

A fact belongs to an origin, which says in which file, session, project, branch and agent it came about. Times are
milliseconds since 1970. What is not known is NULL.
"""

from __future__ import annotations

from reread.catalog.header_table import HEADER
from reread.disk.fact_table import (
    BLOB,
    FILE,
    ID,
    INTEGER,
    OF_FILE,
    REAL,
    STATE,
    TEXT,
    FactColumn,
    FactTable,
)

_ORIGIN = FactColumn(
    "origin", INTEGER, "Where it came about: a row of `origin`.", "NOT NULL REFERENCES origin (id) ON DELETE CASCADE"
)
_FILE = FactColumn("file", INTEGER, "The transcript.", OF_FILE)
_LINE = FactColumn("line", INTEGER, "The line of its first record, from 1.")
_TURN = FactColumn("turn", INTEGER, "The turn of the main thread; NULL in agents and on other branches.")
_MODEL = FactColumn("model", TEXT, "The model that answered.")
_TIME = FactColumn("time", INTEGER, "When it began.")
_PRICED = (
    FactColumn("mode", INTEGER, "The request modes that change the price, as bits."),
    FactColumn("prompt", INTEGER, "The length of the prompt that decides the price, in tokens."),
)

ORIGIN = FactTable(
    "origin",
    "Where facts came about, as their records say.",
    (
        ID,
        FactColumn(
            "scope", INTEGER, "The set of files in which responses were counted; NULL for facts of one session."
        ),
        FactColumn("file", INTEGER, "The transcript: for facts of a session, that of the session.", OF_FILE),
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
        ID,
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
        *STATE,
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
        FactColumn("file", INTEGER, "The transcript.", f"PRIMARY KEY {OF_FILE}"),
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
        FactColumn("number", INTEGER, "Its number, from 1; NULL on other branches."),
        FactColumn("ended", INTEGER, "The last time in it."),
        FactColumn("model", TEXT, "The first model that answered."),
        FactColumn("written", BLOB, "The lines in its and its agents' commands of several lines, as numbers."),
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
        FactColumn("main_turn", INTEGER, "The turn of the main thread that it was made in, or that began its agent."),
        FactColumn("tests", TEXT, "The beginning of a command that ran tests."),
        FactColumn("undoes", TEXT, "The beginning of a command that puts files back to what git has."),
    ),
    indexed=("origin", "id", "message"),
)
PROMPT = FactTable(
    "prompt",
    "A prompt or a typed command of the main thread.",
    (
        _ORIGIN,
        FactColumn("id", TEXT, "That of the message."),
        _LINE,
        _TIME,
        FactColumn("turn", INTEGER, "The turn that it begins; of one that was rewound, the turn before it."),
        FactColumn("kind", TEXT, "prompt, command …"),
        FactColumn("author", TEXT, "Who wrote it: person, client …"),
        FactColumn("is_active", INTEGER, "0 if it was rewound."),
        FactColumn("text", TEXT, "The beginning of its text."),
    ),
    indexed=("origin", "id"),
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
    (
        _FILE,
        FactColumn("id", TEXT),
        FactColumn("agent", TEXT),
        FactColumn("type", TEXT),
        FactColumn("is_warmup", INTEGER, "1 if the client only warms up with it."),
    ),
    indexed=("file",),
)
GIT_COMMIT = FactTable(
    "git_commit",
    "A commit that a session made.",
    (
        _FILE,
        FactColumn("call", TEXT, "The call that made it."),
        FactColumn("turn", INTEGER, "The turn of the main thread; NULL on other branches."),
        _TIME,
        FactColumn("sha", TEXT, "Its hash, as far as the session states it."),
        FactColumn("subject", TEXT),
        FactColumn("branch", TEXT),
    ),
    indexed=("file",),
)
PULL_REQUEST = FactTable(
    "pull_request",
    "A pull request that a session worked on.",
    (
        _FILE,
        FactColumn("call", TEXT, "The call that did it; NULL if the client linked the session to it."),
        FactColumn("number", INTEGER),
        FactColumn("repository", TEXT, "Owner and name."),
        FactColumn("url", TEXT),
        FactColumn("action", TEXT, "created, merged, commented …; NULL if it was only linked."),
    ),
    indexed=("file",),
)
ANSWER = FactTable(
    "answer",
    "The responses of each turn of the main thread, those of its agents included.",
    (_FILE, FactColumn("turn", INTEGER), FactColumn("message", TEXT)),
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
FILE_CHANGE = FactTable(
    "file_change",
    "A file that a session changed, its agents included.",
    (
        _FILE,
        FactColumn("path", TEXT, "Its path, as the session knows it."),
        FactColumn("versions", BLOB, "The lines that each version changed, as numbers: no word can be had from them."),
    ),
    indexed=("file",),
)

OF_SESSIONS = (TURN, CALL, CACHE_BREAK, PROMPT)
"""The facts of sessions that have an origin."""
PER_SESSION = (AGENT, ANSWER, GIT_COMMIT, PULL_REQUEST, TYPED, LOADED, MEMORY, FILE_CHANGE)
"""The facts of sessions as a whole."""
TABLES = (FILE, HEADER, ORIGIN, SCOPE, SETTLED, LINK, SESSION, RESPONSE, *OF_SESSIONS, *PER_SESSION)
