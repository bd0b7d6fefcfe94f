"""The schema of saved folds: which attributes of each part of a fold are saved, and the version of all that.

Every attribute is listed, because a session that is restored without one would be subtly wrong. A test fails for an
attribute that is in neither list.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast


class FoldPart(NamedTuple):
    """An object that a fold consists of."""

    path: str
    """Where it is, from the fold."""
    saved: str
    """The attributes that hold its state."""
    not_saved: str = ""
    """The others: other parts, what they own and share, what is computed again, and what belongs to the source."""


PARTS = (
    FoldPart(
        "",
        "_number _agent_of_uuid _agent_of_call _latest_agent _is_agent_file _depth _streaming _last_message "
        "_last_boundary _model _caveats _hook_failures _typed_command",
        "conversation _tree _ledger _metadata _messages _calls_by_id _messages_by_id _attaching _pairing _queue "
        "_agents",
    ),
    FoldPart(
        "conversation",
        "id depth call_id parent_uuid from_progress _lines",  # of an agent
        "bodies tree messages calls calls_by_id messages_by_id compactions metadata ledger inline_agents marks owner "
        "_linked _branches _turns _rows _requests _tool_call call parent path meta",
    ),
    FoldPart(
        "conversation.tree",
        "_asked missing forks branch _parents _speaks _runs _run_branches _last _continued _pinned",
        "_read_uuids uuids _leads _limits",  # uuids are a section of their own
    ),
    FoldPart("conversation.ledger", "agents targets _codes", "_records _tree _messages _calls"),
    FoldPart(
        "conversation.metadata",
        "ids ids_at cwds git_branches versions slugs entrypoints permission_modes models first_stamp last_stamp "
        "custom_title ai_title summaries pr_links results runs inits requests request_parts continued_in "
        "forked_from _last",
    ),
    FoldPart("_attaching", "_loose _orphans", "_messages _calls_by_id _ledger"),
    FoldPart("_pairing", "_unanswered _early", "_attaching _conversation _calls _by_id"),
    FoldPart("_queue", "_waiting _order _first", "_marks"),
    FoldPart(
        "conversation.bodies",
        "superseded positional_results of_agent _endings",
        "records read_spilled _calls _bodies _states",
    ),
    FoldPart(
        "conversation.marks",
        "setups before setup ends ended sessions files states queued queued_after requeued last_of_type waiting "
        "session last",
    ),
    FoldPart("conversation.bodies.records", "origin _lines _offsets _lengths", "read _kept"),
)


def saved_attributes(fold: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each part of a fold with the attributes of it that are saved, always in the same order."""
    for row in PARTS:
        part = fold
        for name in row.path.split(".") if row.path else ():
            part = getattr(part, name)
        values = cast(dict[str, Any], vars(part))
        yield part, {name: values[name] for name in row.saved.split() if name in values}


@cache
def code_format() -> str:
    """Return the version of what is kept of a fold: it changes with the schema and the code that folds records."""
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    digest = blake2b(digest_size=12)
    root = Path(__file__).parent.parent
    for folder in ("model", "records", "session"):
        for path in sorted((root / folder).rglob("*.py")):
            stat = path.stat()
            digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
