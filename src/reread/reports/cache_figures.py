"""The cache breaks of sessions, each counted once, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from reread.accounting.billing import to_dollars, to_nanos
from reread.reports.session_facts import ResponseFact, SessionFacts
from reread.session.cache_breaks import CacheBreak


class CacheFigures(msgspec.Struct, frozen=True):
    """Cache breaks of one group, or all."""

    breaks: int
    tokens: int
    """Tokens that were written again."""
    cost_usd: float | None
    """What writing them cost more than reading them would have; None if none of their models has a price."""
    share: float
    """Their part of all that was written to the cache, from 0 to 1."""


def places_of(
    sessions: Iterable[SessionFacts], counts: Callable[[CacheBreak | ResponseFact], bool]
) -> tuple[list[tuple[SessionFacts, CacheBreak]], int]:
    """Return the breaks of sessions, each once however many have a copy, and all that was written to the cache."""
    places: list[tuple[SessionFacts, CacheBreak]] = []
    seen: set[str] = set()
    written = 0
    for facts in sessions:
        fresh = {response.id: response for response in facts.responses if response.id not in seen}
        written += sum(response.cache_write_tokens for response in fresh.values() if counts(response))
        places += [(facts, item) for item in facts.cache_breaks if item.message in fresh and counts(item)]
        seen.update(fresh)
    return places, written


def figures_of(found: Sequence[CacheBreak], written: int) -> CacheFigures:
    """Return the figures of some breaks."""
    tokens = sum(item.tokens for item in found)
    nanos = [to_nanos(item.cost_usd) or 0 for item in found if item.cost_usd is not None]
    cost = to_dollars(sum(nanos)) if nanos or not found else None
    return CacheFigures(len(found), tokens, cost, tokens / written if written else 0.0)
