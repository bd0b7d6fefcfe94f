"""Rows that several machines have: which of them count.

Each machine writes what its own files hold, without asking the others: it needs no server and no lock that machines
share, and its rows stay right whatever the others add or delete. So a session that was copied to another machine, or
synchronised, has rows under both. A machine is where a copy was seen, not what a response is: whoever reads the tables
of several machines takes each row once. Rows are the same if they agree in the columns of `COPIES`; all rows that are
the same come from one machine, the one that has the best of them.

Deciding at the time of writing who owns a row would be wrong as soon as two machines write at once, or the owner's
file is deleted.
"""

from __future__ import annotations

from typing import NamedTuple

from reread.dataset.figures import DIGITS, RANDOM_ID
from reread.dataset.schema import CALLS, EDITS, FILES, MESSAGES, RECORDS, SESSIONS, USAGE

NAME = r"""regexp_extract("path", '[^/\\]*$')"""
"""The name of the transcript, which its copies share."""
RECORD = 'coalesce("uuid", "line"::VARCHAR)'
"""The record that a row comes from; a record without a uuid is found by its line."""


def hashed_id(column: str) -> str:
    """Return an id as tables for a team have it, from tables that have it in clear or hashed."""
    return f"""CASE WHEN regexp_full_match("{column}", '{RANDOM_ID}') THEN left(sha256("{column}"), {DIGITS}) \
ELSE "{column}" END"""


MESSAGE, REQUEST, SESSION = map(hashed_id, ("message", "request", "session"))


class CopyRule(NamedTuple):
    """Which rows of a table are copies of each other, in SQL."""

    key: tuple[str, ...]
    """The fields that copies agree in."""
    best: tuple[str, ...]
    """The machine that counts has the row that comes first in this order."""


COPIES = {
    SESSIONS.name: CopyRule(('"session"', NAME, '"started"', '"captured"'), ('-"records"', '-"size"')),
    RECORDS.name: CopyRule(
        (NAME, '"session"', '"type"', """coalesce("uuid", concat_ws(' ', "line", "offset", "length", "time"))"""), ()
    ),
    MESSAGES.name: CopyRule(
        (NAME, '"session"', '"agent"', '"id"', RECORD), ('"stop_reason" IS NULL', '-"calls"', 'NOT "active"')
    ),
    CALLS.name: CopyRule(
        (NAME, '"session"', '"agent"', '"id"', RECORD), ("\"state\" = 'running'", '"ended"', 'NOT "active"')
    ),
    # The rule for copies of a response in several files, as far as a row tells: see `accounting.dedupe`. The best one
    # has ended, then it has more output. What counters report has no message: session, time and model tell it.
    USAGE.name: CopyRule(
        (
            MESSAGE,
            f"coalesce({REQUEST}, {SESSION})",
            """if("message" IS NULL, concat_ws(' ', "time", "model"), NULL)""",
        ),
        ('-"responses"', '"unconfirmed_responses"', '-"output_tokens"', '-"reported_cost_usd"'),
    ),
    "turns": CopyRule((NAME, '"session"', '"id"', '"line"'), ('-epoch_us("ended")', '-"waiting_seconds"')),
    "prompts": CopyRule((NAME, '"session"', '"id"', '"line"'), ('NOT "active"',)),
    "cache_breaks": CopyRule((NAME, '"session"', '"agent"', '"id"', '"line"'), ()),
    "commits": CopyRule((NAME, '"session"', '"call"', '"sha"'), ()),
    "pull_requests": CopyRule((NAME, '"session"', '"call"', '"number"', '"repository"', '"action"'), ()),
    EDITS.name: CopyRule((NAME, '"session"', '"file"', '"index"', '"call"', RECORD), ('NOT "whole"',)),
    FILES.name: CopyRule((NAME, '"session"', '"file"'), ('-"versions"',)),
}


def counted(table: str, rows: str) -> str:
    """Return the condition for the rows of a table to count, among `rows` of several machines."""
    rule = COPIES[table]
    parts = ", ".join(f"coalesce(({part})::VARCHAR, '')" for part in rule.key)
    key, best = f"concat_ws(chr(31), {parts})", ", ".join((*rule.best, '"machine"'))
    condition = f'({key}, "machine") IN (SELECT ({key}, arg_min("machine", row({best}))) FROM {rows} GROUP BY {key})'
    if table != USAGE.name:
        return condition
    # A copy without a request id, such as that of a stream, is one of the response that has it in the same session.
    named = f'SELECT ({MESSAGE}, {SESSION}) FROM {rows} WHERE "request" IS NOT NULL'
    is_known = f'"request" IS NULL AND "message" IS NOT NULL AND ({MESSAGE}, {SESSION}) IN ({named})'
    return f"{condition} AND NOT ({is_known})"
