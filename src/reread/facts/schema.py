"""The tables of facts and their columns. All that fills or asks the store, and all tables for others, go by this list.

A fact belongs to an origin, which says in which file, session, project, branch and agent it came about. Times are
milliseconds since 1970. What is not known is NULL.

What no report asks is in tables only (`stored=False`): messages, edits and the rest of the calls' columns would make
the store a sixth larger. `earlier` is what a column was called before tables had the names of the store.
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
    "origin",
    INTEGER,
    "Where it came about: a row of `origin`.",
    "NOT NULL REFERENCES origin (id) ON DELETE CASCADE",
    exported=False,
)
_FILE = Column("file", INTEGER, "The transcript.", OF_FILE, exported=False)
_LINE = Column("line", INTEGER, "The line of the transcript that it begins on, from 1.", team="keep")
_TURN = Column("turn", INTEGER, "The turn of its thread, from 1; null on an abandoned branch.", team="keep")
_MODEL = Column("model", TEXT, "The model that answered.", team="model")
_TIME = Column("time", TIME, "When it began.", team="slot")
_PRICED = (
    Column("mode", INTEGER, "The request modes that change the price, as bits.", exported=False),
    Column("prompt", INTEGER, "The length of the prompt that decides the price, in tokens.", exported=False),
)


def _inner(name: str, type: str, doc: str = "", constraint: str = "") -> Column:
    """Return a column that only the store has."""
    return Column(name, type, doc, constraint, exported=False)


def _table(name: str, type: str, doc: str, team: str = "leave out", earlier: str = "") -> Column:
    """Return a column that only tables have."""
    return Column(name, type, doc, team=team, stored=False, earlier=earlier)


def _text(name: str, doc: str) -> Column:
    """Return a column with text, which only tables have."""
    return Column(name, TEXT, doc, text=True, stored=False)


_UUID = _table("uuid", TEXT, "The uuid of the record on that line.", "id")
_PATH_NUMBER = _table(
    "path_number", INTEGER, "The path through its thread that it is on, from 0: `8c1f@1` is 1.", "keep", "branch"
)
_ACTIVE = _table("active", BOOLEAN, "True if it is on the branch that the session continued on.", "keep")
_DROPPED = _table(
    "dropped", BOOLEAN, "True if only an earlier state of the file has it: `line` is that in this state.", "keep"
)
_CHANGED = _table("file", TEXT, "The file that changed, as that machine wrote it.")
_ADDED = _table("lines_added", INTEGER, "Lines added.", earlier="added")
_REMOVED = _table("lines_removed", INTEGER, "Lines removed.", earlier="removed")

ORIGIN = FactTable(
    "origin",
    "Where facts came about, as their records say.",
    (
        ID,
        _inner("scope", INTEGER, "The set of files in which responses were counted; NULL for facts of one session."),
        _FILE._replace(doc="The transcript: for facts of a session, that of the session."),
        Column(
            "session",
            TEXT,
            "The id of the session.",
            "CHECK (session IS NOT NULL OR scope IS NOT NULL)",
            team="id",
        ),
        Column("project", TEXT, "The folder it worked in.", team="project"),
        Column("branch", TEXT, "The branch of git.", earlier="git_branch"),
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
    "One row for each response of the API over all files, however many of them have it: the figures of `reread usage`. "
    "Rows with no response hold what is billed or reported apart. `month` is that of the response.",
    (
        _ORIGIN,
        Column("message", TEXT, "The API's id of the message: `id` of `messages`.", team="id", earlier="message_id"),
        Column("request", TEXT, "The API's id of the request, if a row states one.", team="id", earlier="request_id"),
        _TIME,
        _MODEL,
        *_PRICED,
        Column("responses", INTEGER, "1; 0 for what is billed or reported apart.", team="keep"),
        *COUNTS,
        _inner("reported_nanos", INTEGER, "Its cost as the client reported it, in nano-dollars."),
        Column(
            "unconfirmed_responses",
            INTEGER,
            "1 if no row has a stop reason: its output is a lower bound.",
            team="keep",
        ),
        _table("cost_usd", REAL, "Cost of the tokens by the price table; null if the model has no price.", "keep"),
        _table("reported_cost_usd", REAL, "Cost as the client reported it; null if it reported none.", "keep"),
        _table("cache_break_cause", TEXT, "Why it had to write again what was cached; null if it had not.", "cause"),
        _table(
            "cache_rewritten_tokens",
            INTEGER,
            "Tokens that it wrote to the cache again; null if it is no cache break.",
            "keep",
        ),
        _table(
            "cache_rewritten_usd",
            REAL,
            "What that cost more than reading them; null if the model has no price.",
            "keep",
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
    "One row for each session file. Agents' files are not sessions.",
    (
        _inner("file", INTEGER, "The transcript.", f"PRIMARY KEY {OF_FILE}"),
        _inner("state", BLOB, "The state of all its files."),
        Column("session", TEXT, "The id of the session.", team="id"),
        Column("title", TEXT, "Its title: a person's, else the client's, or what it says first."),
        Column("project", TEXT, "The folder it worked in.", team="project"),
        _inner("began", INTEGER, "The time of its first turn, or else response: of a fork, those of the original."),
        _inner("created", INTEGER, "The first time in its file: of a fork, its own."),
        _inner("extent", INTEGER, "Turns, responses, calls and their outcomes that the file has."),
        _table("branch", TEXT, "The branch of git that it was on last.", earlier="git_branch"),
        _table("version", TEXT, "The version of the client that wrote it last.", "version"),
        _table("model", TEXT, "The model that answered last in the main thread.", "model"),
        _table("entrypoint", TEXT, "How the client was started: `cli`, `sdk-py` …", "entrypoint"),
        _table("started", TIME, "The earliest time in the file.", "slot"),
        _table("ended", TIME, "The latest time in the file.", "slot"),
        _table("size", INTEGER, "Bytes in the file.", "keep"),
        _table("records", INTEGER, "Records in the file.", "keep"),
        _table("messages", INTEGER, "Messages of the main thread, all branches.", "keep"),
        _table("turns", INTEGER, "Turns of the active branch.", "keep"),
        _table("calls", INTEGER, "Calls of the main thread, all branches.", "keep"),
        _table("agents", INTEGER, "Agents that it started, all depths.", "keep"),
        _table("paths", INTEGER, "Paths through the main thread: more than 1 if it was rewound.", "keep", "branches"),
        _table("compactions", INTEGER, "How often it was summarised.", "keep"),
        _table("forked_from", TEXT, "The session that it was forked from, if its records say so.", "id"),
        _table(
            "captured",
            BOOLEAN,
            "True if it is a captured conversation: its transcript may be another row.",
            "keep",
        ),
    ),
)
RECORD = FactTable(
    "record",
    "One row for each record of each file, in the order of the file.",
    (
        _LINE,
        _table("offset", INTEGER, "The offset of its first byte in the file."),
        _table("length", INTEGER, "Its length in bytes, with the line end."),
        _table("session", TEXT, "The session that the record names, else the one that the file belongs to."),
        _table("agent", TEXT, "The agent that the record or its file belongs to; null in the main thread."),
        _table("uuid", TEXT, "Its uuid."),
        _table("parent_uuid", TEXT, "The uuid of the record before it in the conversation."),
        _table("type", TEXT, "Its type in the native format; `malformed` if it cannot be read."),
        _table("subtype", TEXT, "Its subtype."),
        _table("time", TIME, "When it was written."),
        _table("dialect", TEXT, "How it is written: `native`, or the name of another dialect."),
        _table("message", TEXT, "The API's id of the message in it.", earlier="message_id"),
        _table("request", TEXT, "The API's id of the request behind it.", earlier="request_id"),
        _table("cwd", TEXT, "The working directory."),
        _table("branch", TEXT, "The branch of git.", earlier="git_branch"),
        _table("version", TEXT, "The version of the client."),
        _table("fault", TEXT, "Why it cannot be read; null if it can."),
        _DROPPED,
        _text("raw", "The record as written. Bytes that are not UTF-8 are replaced."),
    ),
)
MESSAGE = FactTable(
    "message",
    "One row for each prompt, response and notice, in the order of the file: its records joined.",
    (
        _ORIGIN,
        _LINE,
        _UUID,
        _table("index", INTEGER, "The position in its thread, from 0."),
        _table("id", TEXT, "The API's id for responses, the uuid otherwise."),
        _table("role", TEXT, "`user`, `assistant` or `system`."),
        _table("kind", TEXT, "`prompt`, `response`, `command`, `notice` …"),
        _table("author", TEXT, "`person`, `model`, `command`, `hook`, `peer`, `task` or `client`."),
        _table("time", TIME, "When its first record was written."),
        _TURN,
        _PATH_NUMBER,
        _ACTIVE,
        _table("model", TEXT, "The model of a response."),
        _table("stop_reason", TEXT, "Why a response ended."),
        _table("calls", INTEGER, "How many calls it made."),
        _DROPPED,
        _text("text", "What it says; of a person's message, without the client's additions."),
        _text("thinking", "What the model thought."),
    ),
)
TURN = FactTable(
    "turn",
    "One row for each turn of the main thread, with where its time went.",
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
        Column("compactions", INTEGER, "How often the conversation was summarised in it."),
        Column("tokens_removed", INTEGER, "By those of its compactions that say how many; null if none does."),
        Column("unmeasured_compactions", INTEGER, "Compactions that do not."),
        Column("number", INTEGER, "Its number, from 1; null on an abandoned branch."),
        Column("ended", TIME, "The last time in it."),
        Column("model", TEXT, "The first model that answered."),
        _inner("written", BLOB, "The lines in its and its agents' commands of several lines, as numbers."),
    ),
    indexed=("origin", "id"),
)
CALL = FactTable(
    "call",
    "One row for each tool use, with its result.",
    (
        _ORIGIN,
        Column("id", TEXT, "The id of the tool use.", team="id"),
        Column(
            "message", TEXT, "The response that made the call: `id` of `messages`.", team="id", earlier="message_id"
        ),
        _LINE,
        _TURN,
        Column("time", TIME, "When the call was made.", team="slot", earlier="started"),
        Column("model", TEXT, "The model that made it.", team="model"),
        Column("tool", TEXT, "The name of the tool.", team="tool", earlier="name"),
        Column("mcp_server", TEXT, "The MCP server whose tool it is."),
        Column("state", TEXT, "`running`, `done`, `failed`, `denied` or `interrupted`.", team="state"),
        Column(
            "failure",
            TEXT,
            "The kind of failure of a failed call: `exit 1`, `timeout`, `no such file` … or `other`.",
            team="failure",
        ),
        Column("denied_by", TEXT, "Who denied a denied call: `person`, `rule` or `hook`; null if nothing says."),
        Column(
            "is_retry", BOOLEAN, "True if the call before it, of the same tool in the same turn, failed.", team="keep"
        ),
        Column("seconds", REAL, "Seconds from the call to its result.", team="keep", earlier="duration"),
        Column("file", TEXT, "The file that it is about, for tools that name one."),
        Column("lines_added", INTEGER, "Lines that it added to files, as an edit.", team="keep"),
        Column("lines_removed", INTEGER, "Lines that it removed from files.", team="keep"),
        Column("command", TEXT, "Of a shell command, the program and what it is told to do: `npm test`."),
        Column("skill", TEXT, "The skill that it loads, or on behalf of which it was made."),
        _inner("main_turn", INTEGER, "The turn of the main thread that it was made in, or that began its agent."),
        _inner("tests", TEXT, "The beginning of a command that ran tests."),
        _inner("tests_passed", BOOLEAN, "Whether these tests passed; NULL if how the command ended does not tell."),
        _inner("undoes", TEXT, "The beginning of a command that puts files back to what git has."),
        _UUID,
        _table("exit_code", INTEGER, "The exit code of the program it ran, if the result says so.", "keep"),
        _table("ended", TIME, "When its result was written.", "slot"),
        _PATH_NUMBER,
        _ACTIVE,
        _table("result_line", INTEGER, "The line of the result."),
        _DROPPED,
        _text("title", "What it does, in one line, in the tool's own words."),
        _text("input", "The input, as JSON."),
        _text("result", "The text of the result."),
        _text("error", "What the result says if the call failed, was denied or interrupted."),
    ),
    indexed=("origin", "id", "message"),
)
PROMPT = FactTable(
    "prompt",
    "One row for each prompt and typed command of the main thread.",
    (
        _ORIGIN,
        Column("id", TEXT, "That of the message."),
        _LINE,
        _TIME,
        Column("turn", INTEGER, "The turn that it begins; of one that was rewound, the turn before it."),
        Column("kind", TEXT, "`prompt`, `command` …"),
        Column("author", TEXT, "Who wrote it: `author` of `messages`."),
        _ACTIVE._replace(stored=True),
        Column("text", TEXT, "The beginning of its text.", text=True),
    ),
    indexed=("origin", "id"),
)
CACHE_BREAK = FactTable(
    "cache_break",
    "One row for each request that had to write again what was cached.",
    (
        _ORIGIN,
        Column("id", TEXT, "The response: `id` of `messages`."),
        _LINE,
        _TURN,
        _TIME,
        _MODEL,
        *_PRICED,
        Column("cause", TEXT, "Why the cache could not be used, by the best evidence."),
        Column("evidence", TEXT, "Where the cause is from: `server`, `requests`, `time`, `transcript` or `none`."),
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
    "One row for each commit that a session made.",
    (
        _FILE,
        Column("call", TEXT, "The call that made it: `id` of `calls`."),
        Column("turn", INTEGER, "The turn of the main thread; null on an abandoned branch."),
        _TIME,
        Column("sha", TEXT, "Its hash, as far as the session states it."),
        Column("subject", TEXT, "The first line of its message."),
        Column("branch", TEXT, "The branch of git."),
    ),
    indexed=("file",),
)
PULL_REQUEST = FactTable(
    "pull_request",
    "One row for each pull request that a session worked on.",
    (
        _FILE,
        Column("call", TEXT, "The call that did it: `id` of `calls`; null if the client linked the session to it."),
        Column("number", INTEGER, "Its number."),
        Column("repository", TEXT, "Owner and name."),
        Column("url", TEXT, "Its address."),
        Column("action", TEXT, "`created`, `merged`, `commented` …; null if it was only linked."),
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
EDIT = FactTable(
    "edit",
    "One row for each version of each file that a session changed, its agents included.",
    (
        _table("line", INTEGER, "The line of the record that tells of it, in that transcript or in its agent's."),
        _table("uuid", TEXT, "The uuid of the record with the call that made it."),
        _table("agent", TEXT, "The id of the agent whose thread it is; null in the main thread."),
        _table("call", TEXT, "The call that made it, or that showed a change from outside: `id` of `calls`."),
        _CHANGED,
        _table("index", INTEGER, "The number of the version in the session, from 0."),
        _table(
            "action",
            TEXT,
            "`create`, `edit`, `write`, `shell`, `rename`, `delete`; `outside`, `rewind` if no call made it.",
        ),
        _table("time", TIME, "When it came about."),
        _table("turn", INTEGER, "The turn of the main thread, from 1."),
        _PATH_NUMBER,
        _ADDED,
        _REMOVED,
        _table("source", TEXT, "How the text after it is known: `stated`, `applied` or `backup`; null if it is not."),
        _table("whole", BOOLEAN, "True if the whole text after it is known, or that the file is gone."),
        _table("exact", BOOLEAN, "True if line ends and encoding are known too."),
        _table("other", TEXT, "The path that the file was renamed from or to."),
        _text("diff", "The change, as a unified diff without a header."),
    ),
)
CHANGED_FILE = FactTable(
    "changed_file",
    "One row for each file that a session changed, its agents included.",
    (
        _CHANGED,
        _table("versions", INTEGER, "Its versions, changes from outside included."),
        _table("edits", INTEGER, "The versions that calls of the session made."),
        _ADDED._replace(doc="Lines that the session added, in all."),
        _REMOVED._replace(doc="Lines that the session removed, in all."),
        _table("turns", INTEGER, "The number of turns in which the session changed it."),
        _table("agents", INTEGER, "The number of agents that changed it."),
        _table("first", TIME, "When the session first changed it."),
        _table("last", TIME, "When the session last changed it."),
        _table("gone", BOOLEAN, "True if it does not exist after its last version."),
    ),
)

OF_SESSIONS = (TURN, CALL, CACHE_BREAK, PROMPT)
"""The facts of sessions that have an origin."""
PER_SESSION = (AGENT, ANSWER, GIT_COMMIT, PULL_REQUEST, TYPED, LOADED, MEMORY, FILE_CHANGE)
"""The facts of sessions as a whole."""
TABLES = (FILE, HEADER, PLACES, ORIGIN, SCOPE, SETTLED, LINK, SESSION, RESPONSE, *OF_SESSIONS, *PER_SESSION)
