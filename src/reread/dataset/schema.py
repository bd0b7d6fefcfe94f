"""The tables: their columns with types and meaning. Everything that makes or reads rows goes by this list."""

from __future__ import annotations

from typing import Any, NamedTuple

VERSION = 4
"""Changes when a column changes its name, type or meaning, and when rows would be made differently."""

STRING, INTEGER, FLOAT, BOOLEAN, TIME = "string", "integer", "float", "boolean", "time"
"""Types of columns. An integer has 64 bits; a time is in UTC, and in rows it is milliseconds since 1970."""


Row = tuple[Any, ...]
"""The values of a row, in the order of the columns of its table."""


class Column(NamedTuple):
    """One column of a table."""

    name: str
    type: str
    doc: str
    text: bool = False
    """True if it holds what was said, and is left out unless asked for."""


class TableSchema(NamedTuple):
    """One table."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    """Those with text come last."""

    def selected(self, *, text: bool) -> tuple[Column, ...]:
        """Return the columns, without those that hold text unless asked for."""
        return self.columns if text else tuple(column for column in self.columns if not column.text)

    def names(self, *, text: bool) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.selected(text=text)]


PARTITIONS = (
    Column("machine", STRING, "The machine that the row comes from: `REREAD_MACHINE`, or a name made once."),
    Column("month", STRING, "The month in which the file begins, such as `2026-11`; null if no record has a time."),
)
"""The first columns of every table. In Parquet they are the names of folders, and not in the files."""


def _table(name: str, doc: str, *columns: Column) -> TableSchema:
    return TableSchema(name, doc, (*PARTITIONS, *columns))


def _text(name: str, doc: str) -> Column:
    return Column(name, STRING, doc, text=True)


_PATH = Column("path", STRING, "The transcript, as a path on that machine.")
_SESSION = Column("session", STRING, "The id of the session that the file belongs to.")
_LINE = Column("line", INTEGER, "The line of the transcript, from 1.")
_UUID = Column("uuid", STRING, "The uuid of the record on that line.")
_AGENT = Column("agent", STRING, "The id of the agent whose thread it is; null in the main thread.")
_AGENT_TYPE = Column(
    "agent_type",
    STRING,
    "The type of that agent, such as `Explore`; null if neither the file nor its metadata says. "
    "`usage` also has it from the call that started the agent.",
)
_CALLED_AGENT_TYPE = Column("agent_type", STRING, "The type of that agent, such as `Explore`; null if nothing says.")
_TURN = Column("turn", INTEGER, "The turn of its thread, from 1; null on an abandoned branch.")
_BRANCH = Column("branch", INTEGER, "The branch of its thread, from 0.")
_DROPPED = Column("dropped", BOOLEAN, "True if only an earlier state of the file has it: `line` is that in this state.")

SESSIONS = _table(
    "sessions",
    "One row for each session file. Agents' files are not sessions.",
    _PATH,
    Column("session", STRING, "The id of the session; `session` of other tables refers to it."),
    Column("title", STRING, "Its title: a person's, else the client's, or what it says first."),
    Column("project", STRING, "The folder it worked in."),
    Column("git_branch", STRING, "The git branch that it was on last."),
    Column("version", STRING, "The version of the client that wrote it last."),
    Column("model", STRING, "The model that answered last in the main thread."),
    Column("entrypoint", STRING, "How the client was started: `cli`, `sdk-py` …"),
    Column("started", TIME, "The earliest time in the file."),
    Column("ended", TIME, "The latest time in the file."),
    Column("size", INTEGER, "Bytes in the file."),
    Column("records", INTEGER, "Records in the file."),
    Column("messages", INTEGER, "Messages of the main thread, all branches."),
    Column("turns", INTEGER, "Turns of the active branch."),
    Column("calls", INTEGER, "Calls of the main thread, all branches."),
    Column("agents", INTEGER, "Agents that it started, all depths."),
    Column("branches", INTEGER, "Branches of the main thread."),
    Column("compactions", INTEGER, "How often it was summarised."),
    Column("forked_from", STRING, "The session that it was forked from, if its records say so."),
    Column("captured", BOOLEAN, "True if it is a captured conversation: its transcript may be another row."),
)

RECORDS = _table(
    "records",
    "One row for each record of each file, in the order of the file.",
    _PATH,
    _LINE,
    Column("offset", INTEGER, "The offset of its first byte in the file."),
    Column("length", INTEGER, "Its length in bytes, with the line end."),
    Column("session", STRING, "The session that the record names, else the one that the file belongs to."),
    Column("agent", STRING, "The agent that the record or its file belongs to; null in the main thread."),
    Column("uuid", STRING, "Its uuid."),
    Column("parent_uuid", STRING, "The uuid of the record before it in the conversation."),
    Column("type", STRING, "Its type in the native format; `malformed` if it cannot be read."),
    Column("subtype", STRING, "Its subtype."),
    Column("time", TIME, "When it was written."),
    Column("dialect", STRING, "How it is written: `native`, or the name of another dialect."),
    Column("message_id", STRING, "The API's id of the message in it."),
    Column("request_id", STRING, "The API's id of the request behind it."),
    Column("cwd", STRING, "The working directory."),
    Column("git_branch", STRING, "The git branch."),
    Column("version", STRING, "The version of the client."),
    Column("fault", STRING, "Why it cannot be read; null if it can."),
    _DROPPED,
    _text("raw", "The record as written. Bytes that are not UTF-8 are replaced."),
)

MESSAGES = _table(
    "messages",
    "One row for each prompt, response and notice, in the order of the file: its records joined.",
    _PATH,
    _SESSION,
    _LINE,
    _UUID,
    _AGENT,
    _AGENT_TYPE,
    Column("index", INTEGER, "The position in its thread, from 0."),
    Column("id", STRING, "The API's id for responses, the uuid otherwise."),
    Column("role", STRING, "`user`, `assistant` or `system`."),
    Column("kind", STRING, "`prompt`, `response`, `command`, `notice` …"),
    Column("author", STRING, "`person`, `model`, `command`, `hook`, `peer`, `task` or `client`."),
    Column("time", TIME, "When its first record was written."),
    _TURN,
    _BRANCH,
    Column("active", BOOLEAN, "True if it is on the branch that the session continued on."),
    Column("model", STRING, "The model of a response."),
    Column("stop_reason", STRING, "Why a response ended."),
    Column("calls", INTEGER, "How many calls it made."),
    _DROPPED,
    _text("text", "What it says; of a person's message, without the client's additions."),
    _text("thinking", "What the model thought."),
)

CALLS = _table(
    "calls",
    "One row for each tool use, with its result.",
    _PATH,
    _SESSION,
    _LINE,
    _UUID,
    _AGENT,
    _AGENT_TYPE,
    Column("id", STRING, "The id of the tool use."),
    Column("message_id", STRING, "The response that made the call: `id` of `messages`."),
    Column("name", STRING, "The name of the tool."),
    Column("state", STRING, "`running`, `done`, `failed`, `denied` or `interrupted`."),
    Column(
        "failure", STRING, "The kind of failure of a failed call: `exit 1`, `timeout`, `no such file` … or `other`."
    ),
    Column("exit_code", INTEGER, "The exit code of the program it ran, if the result says so."),
    Column("started", TIME, "When the call was made."),
    Column("ended", TIME, "When its result was written."),
    Column("duration", FLOAT, "Seconds from the call to its result."),
    _TURN,
    _BRANCH,
    Column("active", BOOLEAN, "True if it is on the branch that the session continued on."),
    Column("model", STRING, "The model that made it."),
    Column("file", STRING, "The file that it is about, for tools that name one."),
    Column("result_line", INTEGER, "The line of the result."),
    _DROPPED,
    _text("title", "What it does, in one line, in the tool's own words."),
    _text("input", "The input, as JSON."),
    _text("result", "The text of the result."),
    _text("error", "What the result says if the call failed, was denied or interrupted."),
)

USAGE = _table(
    "usage",
    "One row for each response of the API over all files, however many of them have it: the figures of `reread usage`. "
    "Rows with no response hold what is billed or reported apart. `month` is that of the response.",
    Column("path", STRING, "The transcript that the response belongs to: of several copies, the original."),
    Column("session", STRING, "The session that the response belongs to."),
    Column("project", STRING, "The folder it worked in."),
    Column("git_branch", STRING, "The git branch."),
    _AGENT,
    _CALLED_AGENT_TYPE,
    Column("message_id", STRING, "The API's id of the message: `id` of `messages`."),
    Column("request_id", STRING, "The API's id of the request, if a row states one."),
    Column("time", TIME, "When it was written."),
    Column("model", STRING, "The model that answered."),
    Column("responses", INTEGER, "1; 0 for what is billed or reported apart."),
    Column("input_tokens", INTEGER, "Input that was neither written to the cache nor read from it."),
    Column("output_tokens", INTEGER, "Output, thinking included."),
    Column("cache_write_5m_tokens", INTEGER, "Input that was written to the cache for five minutes."),
    Column("cache_write_1h_tokens", INTEGER, "Input that was written to the cache for an hour."),
    Column("cache_read_tokens", INTEGER, "Input that was read from the cache."),
    Column("web_searches", INTEGER, "Searches by the API's own tool."),
    Column("cost_usd", FLOAT, "Cost of the tokens by the price table; null if the model has no price."),
    Column("reported_cost_usd", FLOAT, "Cost as the client reported it; null if it reported none."),
    Column("unconfirmed_responses", INTEGER, "1 if no row has a stop reason: its output is a lower bound."),
    Column("cache_break_cause", STRING, "Why it had to write again what was cached; null if it had not."),
    Column("cache_rewritten_tokens", INTEGER, "Tokens that it wrote to the cache again; null if it is no cache break."),
    Column("cache_rewritten_usd", FLOAT, "What that cost more than reading them; null if the model has no price."),
)

EDITS = _table(
    "edits",
    "One row for each version of each file that a session changed, its agents included.",
    Column("path", STRING, "The session's transcript."),
    _SESSION,
    Column("line", INTEGER, "The line of the record that tells of it, in that transcript or in its agent's."),
    Column("uuid", STRING, "The uuid of the record with the call that made it."),
    _AGENT,
    Column("call", STRING, "The call that made it, or that showed a change from outside: `id` of `calls`."),
    Column("file", STRING, "The file that changed, as that machine wrote it."),
    Column("index", INTEGER, "The number of the version in the session, from 0."),
    Column(
        "action",
        STRING,
        "`create`, `edit`, `write`, `shell`, `rename`, `delete`; `outside`, `rewind` if no call made it.",
    ),
    Column("time", TIME, "When it came about."),
    Column("turn", INTEGER, "The turn of the main thread, from 1."),
    _BRANCH,
    Column("added", INTEGER, "Lines added."),
    Column("removed", INTEGER, "Lines removed."),
    Column("source", STRING, "How the text after it is known: `stated`, `applied` or `backup`; null if it is not."),
    Column("whole", BOOLEAN, "True if the whole text after it is known, or that the file is gone."),
    Column("exact", BOOLEAN, "True if line ends and encoding are known too."),
    Column("other", STRING, "The path that the file was renamed from or to."),
    _text("diff", "The change, as a unified diff without a header."),
)

FILES = _table(
    "files",
    "One row for each file that a session changed, its agents included.",
    Column("path", STRING, "The session's transcript."),
    _SESSION,
    Column("file", STRING, "The file that changed, as that machine wrote it."),
    Column("versions", INTEGER, "Its versions, changes from outside included."),
    Column("edits", INTEGER, "The versions that calls of the session made."),
    Column("added", INTEGER, "Lines that the session added, in all."),
    Column("removed", INTEGER, "Lines that the session removed, in all."),
    Column("turns", INTEGER, "The number of turns in which the session changed it."),
    Column("agents", INTEGER, "The number of agents that changed it."),
    Column("first", TIME, "When the session first changed it."),
    Column("last", TIME, "When the session last changed it."),
    Column("gone", BOOLEAN, "True if it does not exist after its last version."),
)

TABLES = {table.name: table for table in (SESSIONS, RECORDS, MESSAGES, CALLS, USAGE, EDITS, FILES)}
"""All tables by name."""
PER_FILE = tuple(name for name in TABLES if name != USAGE.name)
"""The tables whose rows come from one file and what belongs to it; `usage` takes all files together."""
