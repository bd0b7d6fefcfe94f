"""How a call ended: the one rule, applied to whatever shape its result has."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.base.choices import DENIED, DONE, FAILED, HOOK, INTERRUPTED, PERSON, RULE, CallState, DeniedBy
from reread.base.coerce import as_dict, as_int
from reread.base.structs import FrozenStruct
from reread.records import blocks as b
from reread.records.envelope import NOTHING

ERROR_PREFIXES = (
    "Error:",
    "InputValidationError",
    "User rejected tool use",
    "Sibling tool call errored",
    "Cancelled:",
    "<tool_use_error>",
)
"""How a structured result begins that is only an error text."""
TEXT_ERROR_PREFIXES = ("Error:", "<tool_use_error>")
"""How a result's text begins that is only an error text."""
FAILED_STATUSES = frozenset({"failed", "error", "timeout", "timed_out"})
FETCHED = ("retrieval_status", "shellId")
"""Fields of a result that reports on a background task."""
DENIALS: dict[str, DeniedBy] = {
    "The user doesn't want to proceed with this tool use": PERSON,
    "User rejected tool use": PERSON,
    "The user doesn't want to take this action right now": PERSON,
    "Permission to use": RULE,
    "Claude requested permissions": RULE,
    "This command requires approval": RULE,
    "PreToolUse:": HOOK,
    "Exit plan mode?": PERSON,
    "Enter plan mode?": PERSON,
    "Answer questions?": PERSON,
}
"""How the text of a failed call begins that was not allowed, and who did not allow it."""
DENIAL_WORDS: dict[str, DeniedBy] = {
    "operation blocked by hook": HOOK,
    "was blocked. For security": RULE,
    "needs approval.": RULE,
    "while in plan mode.": PERSON,
}
"""Words that the first line of such a text may have instead. A person chooses plan mode."""
REJECTED = "user-rejected"
"""What the client calls the no of a person. It calls a rule whatever else says no, also a hook or who uses the SDK."""
INTERRUPTS = ("[Request interrupted by user", "Interrupted by user", "Request interrupted")

_EXIT = re.compile(r"(?:Error: )?Exit code (-?\d{1,9})(?!\d)\s*")
_TAG, _END_TAG = "<tool_use_error>", "</tool_use_error>"


class Outcome(FrozenStruct):
    """How a call ended, if it has ended."""

    state: CallState
    """running, done, failed, denied or interrupted."""
    message: str = ""
    """The result's message about a call that is not done, without its wrapping."""
    exit_code: int | None = None
    denied_by: DeniedBy | None = None
    """Who denied it: person, rule or hook; None if nothing says."""


def outcome_of(
    result: b.Block | None, data: Any = None, *, is_error: bool = False, denial: str | None = None
) -> Outcome:
    """Return how an answered call ended, from its result block, structured result and marks."""
    content = getattr(result, "content", None)
    recorded = data if isinstance(data, str) else ""
    text = (content_text(content) or recorded).strip()
    fields = as_dict(data)
    is_error = is_error or getattr(result, "is_error", None) is True
    code = _stated_code(content, fields)
    if code is None and (is_error or not fields):  # else the text is what the program printed
        code = exit_code(recorded)
        code = exit_code(text) if code is None else code
    if fields.get("interrupted") is True:
        return Outcome(state=INTERRUPTED, exit_code=code)
    said = error_text(text)
    if denial == INTERRUPTED or (not fields and said.startswith(INTERRUPTS)):
        return Outcome(state=INTERRUPTED, message=said, exit_code=code)
    failed = is_error or _says_failure(text, data, content) or (code not in (None, 0) and not _is_fetched(fields))
    bare = text.removeprefix("Error: ")
    said_by = _denied_by(bare)
    if denial or (failed and said_by):
        denied_by = PERSON if denial == REJECTED and said_by != HOOK else said_by
        return Outcome(state=DENIED, message=bare, exit_code=code, denied_by=denied_by)
    if failed:
        return Outcome(state=FAILED, message=said or _api_error(content), exit_code=code)
    return Outcome(state=DONE, exit_code=code)


def content_text(content: Any) -> str:
    """Return the text in the content of a result."""
    if isinstance(content, str):
        return content
    texts = (block.text for block in b.to_blocks(content) if isinstance(block, b.Text))
    return "\n".join(text for text in texts if isinstance(text, str))


def exit_code(text: str) -> int | None:
    """Return the exit code that an error text begins with; None if there is none."""
    found = _EXIT.match(text)
    return int(found[1]) if found else None


def error_text(text: str) -> str:
    """Return an error message without its wrapping."""
    start = text.find(_TAG)
    end = text.find(_END_TAG, start) if start >= 0 else -1
    if end >= 0:
        text = text[:start] + text[start + len(_TAG) : end] + text[end + len(_END_TAG) :]
    found = _EXIT.match(text)
    return text[found.end() if found else 0 :].removeprefix("Error: ").strip()


def _denied_by(text: str) -> DeniedBy | None:
    """Return who denied a call by the words of its result; None if they are not those of a denial."""
    first = text.partition("\n")[0]
    by: DeniedBy
    for words, by in DENIALS.items():
        if text.startswith(words):
            return by
    return next((by for words, by in DENIAL_WORDS.items() if words in first), None)


def _says_failure(text: str, data: Any, content: Any) -> bool:
    """True if a result that is not marked as an error states one."""
    if getattr(content, "error_code", None):
        return True
    if isinstance(data, str):
        return data.startswith(ERROR_PREFIXES)
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        status = fields.get("status")
        has_failed = isinstance(status, str) and status in FAILED_STATUSES and not _is_fetched(fields)
        return fields.get("success") is False or has_failed
    return text.startswith(TEXT_ERROR_PREFIXES)


def _is_fetched(fields: dict[str, Any]) -> bool:
    """True if a result reports on a background task: how that ended is not how the call ended."""
    return any(name in fields for name in FETCHED)


def _stated_code(content: Any, fields: dict[str, Any]) -> int | None:
    """Return the exit code in a field of a result."""
    for value in (fields, as_dict(fields.get("task"))):
        code = as_int(value.get("exitCode"))
        if code is not None:
            return code
    return as_int(getattr(content, "return_code", None))


def _api_error(content: Any) -> str:
    """Return the error of a tool that the API ran."""
    words = (getattr(content, name, None) for name in ("error_code", "error_message"))
    return ": ".join(word for word in words if isinstance(word, str) and word)


class _ResultBlock(msgspec.Struct, gc=False):
    type: str = ""
    is_error: bool | None = None
    content: msgspec.Raw = NOTHING


class _ResultMessage(msgspec.Struct, gc=False):
    content: list[_ResultBlock] = []


class _PlainData(msgspec.Struct, gc=False):
    interrupted: bool = False
    status: None = None
    success: bool = True
    exitCode: None = None
    task: None = None


class _ResultRecord(msgspec.Struct, gc=False):
    message: _ResultMessage
    toolUseResult: _PlainData | None = None
    tool_use_result: _PlainData | None = None
    isError: bool | None = None
    toolDenialKind: str | None = None


_decode_record = msgspec.json.Decoder(_ResultRecord).decode
_HEAD = 64
_SUSPECT = tuple(prefix.encode() for prefix in (*TEXT_ERROR_PREFIXES, *INTERRUPTS, "Exit code"))


def is_plainly_done(line: bytes) -> bool:
    """True if `outcome_of` needs not be asked about the results in a native record: nothing in it can mean a failure.

    It decodes a fraction of the record, so that counting the failures of a long session stays fast.
    """
    try:
        record = _decode_record(line)
    except jsontext.DECODE_ERRORS:
        return False
    if record.isError or record.toolDenialKind:
        return False
    for data in (record.toolUseResult, record.tool_use_result):
        if data is not None and (data.interrupted or not data.success):
            return False
    blocks = record.message.content
    return bool(blocks) and all(map(_is_plain, blocks))


def _is_plain(block: _ResultBlock) -> bool:
    if block.type != "tool_result" or block.is_error:
        return False
    head = bytes(memoryview(block.content)[:_HEAD])
    return not any(mark in head for mark in _SUSPECT)
