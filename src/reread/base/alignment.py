"""What two sequences have in common: their equal ends, and the steps from one to the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher

Step = tuple[str, int, int, int, int]
"""`equal`, `replace`, `delete` or `insert`, with the range of the first sequence and that of the second."""
EQUAL = "equal"


def equal_ends(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """Return how many items two sequences begin with alike, and with how many of the others they end alike."""
    start = _equal(zip(one, other, strict=False))
    rest = min(len(one), len(other)) - start
    return start, min(_equal(zip(reversed(one), reversed(other), strict=False)), rest)


def steps(one: Sequence[Hashable], other: Sequence[Hashable], most_pairs: int) -> list[Step]:
    """Return the steps from one sequence to another; if too many lie between the ends, all of that is replaced."""
    start, end = equal_ends(one, other)
    to, other_to = len(one) - end, len(other) - end
    between = one[start:to], other[start:other_to]
    if len(between[0]) * len(between[1]) > most_pairs:
        inner: list[Step] = [("replace", start, to, start, other_to)]
    else:
        codes = SequenceMatcher(None, *between, autojunk=False).get_opcodes()
        inner = [(tag, start + a, start + b, start + c, start + d) for tag, a, b, c, d in codes]
    ends: list[Step] = [(EQUAL, 0, start, 0, start), (EQUAL, to, len(one), other_to, len(other))]
    return [step for step in (ends[0], *inner, ends[1]) if step[1] < step[2] or step[3] < step[4]]


def _equal(pairs: Iterable[tuple[Hashable, Hashable]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count
