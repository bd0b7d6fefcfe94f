"""The schema of saved folds: the parts of a fold, what of each is not saved, and the version of all that.

All else is saved, because a session that is restored without an attribute would be subtly wrong; one that cannot be
saved keeps the fold from being saved, which tests notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

PARTS = {
    "": "conversation _tree _ledger _metadata _messages _calls_by_id _messages_by_id _attaching _pairing _queue "
    "_agents",
    "conversation": "bodies tree messages calls calls_by_id messages_by_id compactions metadata ledger inline_agents "
    "marks owner _linked _branches _turns _rows _requests _tool_call call parent path meta",
    "conversation.tree": "_read_uuids uuids _leads _limits",  # uuids are a section of their own
    "conversation.ledger": "_records _tree _messages _calls",
    "conversation.metadata": "",
    "_attaching": "_messages _calls_by_id _ledger",
    "_pairing": "_attaching _conversation _calls _by_id",
    "_queue": "_marks",
    "conversation.bodies": "records read_spilled _calls _bodies _diffs _states",
    "conversation.marks": "",
    "conversation.bodies.records": "read _kept",
}
"""The objects that a fold consists of, by where they are from the fold. What is not saved of each: other parts, what
they own and share, what is computed again, and what belongs to the source."""

CODE = (".py", ".txt")
"""Files of code: modules, and the tables that types of records are made of."""


def saved_attributes(fold: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each part of a fold with the attributes of it that are saved, always in the same order."""
    for path, others in PARTS.items():
        part = fold
        for name in path.split(".") if path else ():
            part = getattr(part, name)
        left = set(others.split())
        yield part, {name: value for name, value in cast(dict[str, Any], vars(part)).items() if name not in left}


@cache
def code_format() -> str:
    """Return the version of what is kept of a fold: it changes with the schema and the code that folds records."""
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    digest = blake2b(digest_size=12)
    root = Path(__file__).parent.parent
    for folder in ("model", "records", "session"):
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in CODE):
            stat = path.stat()
            digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
