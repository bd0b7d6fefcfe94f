"""The outcome of a hook: it said something to the person, failed or blocked, or can be passed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.late_pattern import late_pattern

QUIET_TYPES = frozenset(
    """
    async_hook_response hook_additional_context hook_deferred_tool hook_permission_decision hook_success
    """.split()
)
"""Attachments by hooks that are passed over unless their output says more."""
REFUSALS = ("block", "deny", "ask")
"""The decisions of a hook that does not let a call pass."""
SUCCESS = (None, "", "success")
OUTCOMES = {
    "hook_blocking_error": "blocked",
    "hook_cancelled": "was cancelled",
    "hook_error_during_execution": "failed",
    "hook_non_blocking_error": "failed",
    "hook_stopped_continuation": "stopped the turn",
}
"""How a hook ended, by the type of its attachment."""
PASSING = frozenset({"failed", "was cancelled"})
"""How a hook ended if the session went on."""
BLOCKS = 2
"""The exit code by which a hook blocks."""
_OLD_REPORT = late_pattern(r"(?:\x1b\[\d+m)*[A-Z][A-Za-z]+(?::[^\x1b\s]+)?(?:\x1b\[\d+m)* \[")
"""How 1.0 reports a hook: its event, then its command."""
OLD_FAILURE = "] failed with non-blocking status code"


def is_quiet(payload: dict[str, Any]) -> bool:
    """True if an attachment by a hook tells the person nothing: context, or a success without words."""
    if payload.get("type") not in QUIET_TYPES or payload.get("exitCode") not in (None, 0):
        return False
    return hook_words(payload) is None and as_str(payload.get("decision")) not in REFUSALS


def is_quiet_summary(native: dict[str, Any]) -> bool:
    """True if the summary of stop hooks reports neither an error nor a stop."""
    return not (native.get("preventedContinuation") or native.get("stopReason") or as_list(native.get("hookErrors")))


def is_quiet_response(native: dict[str, Any]) -> bool:
    """True if the response of a hook in a stream is a success without words."""
    done = native.get("exit_code") in (None, 0) and native.get("outcome") in SUCCESS
    return done and hook_words(native) is None


def is_quiet_notice(native: dict[str, Any]) -> bool:
    """True for the notice of 1.0 that a hook has run without an error."""
    text = native.get("content")
    if not isinstance(text, str) or native.get("level") != "info" or native.get("subtype"):
        return False
    return "completed successfully" in text and _OLD_REPORT.match(text) is not None


def is_repeated_failure(record: dict[str, Any], known: set[str]) -> bool:
    """True if a hook failed as it did before; a failure that is new is added to the known ones."""
    name = failure_name(record)
    if name is None or name in known:
        return name is not None
    known.add(name)
    return False


def failure_name(record: dict[str, Any]) -> str | None:
    """Return a name for the failure of a hook that blocked nothing: its event, its command and how it ended.

    None if a record is about anything else, or says something to the person. A stream does not tell the command; there
    the output stands for it.
    """
    if not has_failed(record) or hook_words(record) is not None:
        return None
    if OLD_FAILURE in (text := str(record.get("content"))):
        return text.partition(OLD_FAILURE)[0]
    event = record.get("hookEvent") or record.get("hook_event") or record.get("hookName")
    hook = record.get("command") or record.get("stderr") or record.get("stdout")
    return repr((record.get("type"), event, hook, record.get("exitCode"), record.get("exit_code")))


def has_failed(record: Mapping[str, Any]) -> bool:
    """True if an attachment or a system record says that a hook failed or was cancelled, and blocked nothing."""
    if OUTCOMES.get(str(record.get("type"))) in PASSING:
        return True
    if record.get("subtype") == "hook_response":
        return record.get("outcome") not in SUCCESS and record.get("exit_code") != BLOCKS
    text = record.get("content")
    return isinstance(text, str) and OLD_FAILURE in text and _OLD_REPORT.match(text) is not None


def hook_words(payload: dict[str, Any]) -> str | None:
    """Return what the output of a hook tells the person; None if it is empty or only for the model."""
    response = as_dict(payload.get("response"))
    for output in (response, *map(_output, (payload.get("stdout"), payload.get("output")))):
        said = [words for name in ("systemMessage", "stopReason") if (words := as_str(output.get(name)))]
        decided = as_dict(output.get("hookSpecificOutput"))
        refuses = (as_str(output.get("decision")) or as_str(decided.get("permissionDecision"))) in REFUSALS
        if refuses or output.get("continue") is False:
            reason = as_str(output.get("reason")) or as_str(decided.get("permissionDecisionReason"))
            said.append(reason or ("refused" if refuses else "stopped"))
        if any(words.strip() for words in said):
            return "\n".join(dict.fromkeys(said))
    return None


def _output(text: object) -> dict[str, Any]:
    """Return the output of a hook if it is a JSON object."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        return as_dict(jsontext.loads_clean(text.strip().encode(errors="replace")))
    except ValueError:
        return {}


def hook_label(native: dict[str, Any]) -> str:
    """Return the name of the hook that a record is about, and how it ended."""
    payload = as_dict(native.get("attachment")) or native
    name = as_str(payload.get("hookName")) or as_str(payload.get("hook_name")) or ""
    return " ".join(word for word in ("hook", name, OUTCOMES.get(str(payload.get("type")), "")) if word)


QUIET_TESTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": is_quiet_notice,
    "hook_response": is_quiet_response,
    "stop_hook_summary": is_quiet_summary,
}
"""By subtype, whether a system record about hooks can be passed over."""
