"""The tables: their columns with types and meaning. Everything that makes or reads rows goes by this list."""

from __future__ import annotations

from typing import Any, NamedTuple

from reread.disk.fact_table import BOOLEAN, INTEGER, REAL, TEXT, TIME, Column
from reread.facts.schema import CALL, ORIGIN, RESPONSE

VERSION = 4
"""Changes when a column is new or changes its name, type or meaning, and when rows would be made differently."""

Row = tuple[Any, ...]
"""The values of a row, in the order of the columns of its table."""


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
    Column("machine", TEXT, "The machine that the row comes from: `REREAD_MACHINE`, or a name made once."),
    Column("month", TEXT, "The month in which the file begins, such as `2026-11`; null if no record has a time."),
)
"""The first columns of every table. In Parquet they are the names of folders, and not in the files."""


def _table(name: str, doc: str, *columns: Column) -> TableSchema:
    return TableSchema(name, doc, (*PARTITIONS, *columns))


def _text(name: str, doc: str) -> Column:
    return Column(name, TEXT, doc, text=True)


_PATH = Column("path", TEXT, "The transcript, as a path on that machine.", team="path")
_SESSION, _AGENT, _AGENT_TYPE = (
    column for column in ORIGIN.columns if column.name in ("session", "agent", "agent_type")
)
_LINE, _TURN = (column for column in CALL.columns if column.name in ("line", "turn"))
_UUID = Column("uuid", TEXT, "The uuid of the record on that line.", team="id")
_BRANCH = Column("branch", INTEGER, "The branch of its thread, from 0.", team="keep")
_ACTIVE = Column("active", BOOLEAN, "True if it is on the branch that the session continued on.", team="keep")
_DROPPED = Column(
    "dropped", BOOLEAN, "True if only an earlier state of the file has it: `line` is that in this state.", team="keep"
)

SESSIONS = _table(
    "sessions",
    "One row for each session file. Agents' files are not sessions.",
    _PATH,
    _SESSION,
    Column("title", TEXT, "Its title: a person's, else the client's, or what it says first."),
    Column("project", TEXT, "The folder it worked in.", team="project"),
    Column("git_branch", TEXT, "The git branch that it was on last."),
    Column("version", TEXT, "The version of the client that wrote it last.", team="version"),
    Column("model", TEXT, "The model that answered last in the main thread.", team="model"),
    Column("entrypoint", TEXT, "How the client was started: `cli`, `sdk-py` …", team="entrypoint"),
    Column("started", TIME, "The earliest time in the file.", team="slot"),
    Column("ended", TIME, "The latest time in the file.", team="slot"),
    Column("size", INTEGER, "Bytes in the file.", team="keep"),
    Column("records", INTEGER, "Records in the file.", team="keep"),
    Column("messages", INTEGER, "Messages of the main thread, all branches.", team="keep"),
    Column("turns", INTEGER, "Turns of the active branch.", team="keep"),
    Column("calls", INTEGER, "Calls of the main thread, all branches.", team="keep"),
    Column("agents", INTEGER, "Agents that it started, all depths.", team="keep"),
    Column("branches", INTEGER, "Branches of the main thread.", team="keep"),
    Column("compactions", INTEGER, "How often it was summarised.", team="keep"),
    Column("forked_from", TEXT, "The session that it was forked from, if its records say so.", team="id"),
    Column(
        "captured", BOOLEAN, "True if it is a captured conversation: its transcript may be another row.", team="keep"
    ),
)

RECORDS = _table(
    "records",
    "One row for each record of each file, in the order of the file.",
    _PATH,
    _LINE,
    Column("offset", INTEGER, "The offset of its first byte in the file."),
    Column("length", INTEGER, "Its length in bytes, with the line end."),
    Column("session", TEXT, "The session that the record names, else the one that the file belongs to."),
    Column("agent", TEXT, "The agent that the record or its file belongs to; null in the main thread."),
    Column("uuid", TEXT, "Its uuid."),
    Column("parent_uuid", TEXT, "The uuid of the record before it in the conversation."),
    Column("type", TEXT, "Its type in the native format; `malformed` if it cannot be read."),
    Column("subtype", TEXT, "Its subtype."),
    Column("time", TIME, "When it was written."),
    Column("dialect", TEXT, "How it is written: `native`, or the name of another dialect."),
    Column("message_id", TEXT, "The API's id of the message in it."),
    Column("request_id", TEXT, "The API's id of the request behind it."),
    Column("cwd", TEXT, "The working directory."),
    Column("git_branch", TEXT, "The git branch."),
    Column("version", TEXT, "The version of the client."),
    Column("fault", TEXT, "Why it cannot be read; null if it can."),
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
    Column("id", TEXT, "The API's id for responses, the uuid otherwise."),
    Column("role", TEXT, "`user`, `assistant` or `system`."),
    Column("kind", TEXT, "`prompt`, `response`, `command`, `notice` …"),
    Column("author", TEXT, "`person`, `model`, `command`, `hook`, `peer`, `task` or `client`."),
    Column("time", TIME, "When its first record was written."),
    _TURN,
    _BRANCH,
    _ACTIVE,
    Column("model", TEXT, "The model of a response."),
    Column("stop_reason", TEXT, "Why a response ended."),
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
    _UUID,
    _AGENT,
    _AGENT_TYPE,
    *CALL.exported(
        "main_turn", "tests", "undoes", message="message_id", time="started", tool="name", seconds="duration"
    ),
    Column("exit_code", INTEGER, "The exit code of the program it ran, if the result says so.", team="keep"),
    Column("ended", TIME, "When its result was written.", team="slot"),
    _BRANCH,
    _ACTIVE,
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
    _PATH._replace(doc="The transcript that the response belongs to: of several copies, the original."),
    *ORIGIN.exported("id", "scope", "file", branch="git_branch"),
    *RESPONSE.exported("mode", "prompt", "reported_nanos", message="message_id", request="request_id"),
    Column("cost_usd", REAL, "Cost of the tokens by the price table; null if the model has no price.", team="keep"),
    Column("reported_cost_usd", REAL, "Cost as the client reported it; null if it reported none.", team="keep"),
    Column("cache_break_cause", TEXT, "Why it had to write again what was cached; null if it had not.", team="cause"),
    Column(
        "cache_rewritten_tokens",
        INTEGER,
        "Tokens that it wrote to the cache again; null if it is no cache break.",
        team="keep",
    ),
    Column(
        "cache_rewritten_usd",
        REAL,
        "What that cost more than reading them; null if the model has no price.",
        team="keep",
    ),
)

EDITS = _table(
    "edits",
    "One row for each version of each file that a session changed, its agents included.",
    _PATH,
    _SESSION,
    Column("line", INTEGER, "The line of the record that tells of it, in that transcript or in its agent's."),
    Column("uuid", TEXT, "The uuid of the record with the call that made it."),
    _AGENT,
    Column("call", TEXT, "The call that made it, or that showed a change from outside: `id` of `calls`."),
    Column("file", TEXT, "The file that changed, as that machine wrote it."),
    Column("index", INTEGER, "The number of the version in the session, from 0."),
    Column(
        "action",
        TEXT,
        "`create`, `edit`, `write`, `shell`, `rename`, `delete`; `outside`, `rewind` if no call made it.",
    ),
    Column("time", TIME, "When it came about."),
    Column("turn", INTEGER, "The turn of the main thread, from 1."),
    _BRANCH,
    Column("added", INTEGER, "Lines added."),
    Column("removed", INTEGER, "Lines removed."),
    Column("source", TEXT, "How the text after it is known: `stated`, `applied` or `backup`; null if it is not."),
    Column("whole", BOOLEAN, "True if the whole text after it is known, or that the file is gone."),
    Column("exact", BOOLEAN, "True if line ends and encoding are known too."),
    Column("other", TEXT, "The path that the file was renamed from or to."),
    _text("diff", "The change, as a unified diff without a header."),
)

FILES = _table(
    "files",
    "One row for each file that a session changed, its agents included.",
    _PATH,
    _SESSION,
    Column("file", TEXT, "The file that changed, as that machine wrote it."),
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
