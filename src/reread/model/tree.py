"""The tree that `parentUuid` makes of the records, and its branches.

Records are known by their index. File order is the spine: a parent that was never written falls back to the
record before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable
from functools import cached_property

import msgspec

NO_PARENT = -1
ROOT_BRANCH = 0
FAR = 64
"""A parent further back than this many records is looked up in the index of records that lead somewhere."""


class Fork(msgspec.Struct, frozen=True):
    """Where a branch leaves another."""

    parent: int | None = None
    """The branch it leaves; None for the first branch."""
    record: int = NO_PARENT
    """The last record that both branches share."""


class RecordTree:
    """Parents and branches of the records of one file, one record at a time.

    Each record is added by `claim` and `hang`, or by `hang_nowhere`, and completed by `close`.
    """

    def __init__(self) -> None:
        self._read_uuids: Callable[[], dict[str, int]] = dict
        self._asked: dict[str, int] = {}
        """The uuids that `first` found."""
        self.missing: dict[str, list[int]] = {}
        """Parents that have not been seen, with the records that name them."""
        self.forks: list[Fork] = [Fork()]
        """Where each branch begins, by branch id."""
        self.branch: int = ROOT_BRANCH
        """The branch of the record being added."""
        self._parents = array("i")
        self._speaks = bytearray()
        """1 for records that say something: a prompt, an answer, a result."""
        self._runs = [0]
        """The records at which the branch changes."""
        self._run_branches = [ROOT_BRANCH]
        """The branch from each of these records on."""
        self._last = NO_PARENT
        self._leads = bytearray()
        """1 for records that lead to one that speaks, as far as the index has been built."""
        self._continued = ROOT_BRANCH
        self._pinned: int | None = None
        self._limits: tuple[tuple[int, int], dict[int, int]] = ((-1, -1), {})

    @cached_property
    def uuids(self) -> dict[str, int]:
        """The first record of each uuid."""
        return self._read_uuids()

    def restore_uuids(self, read: Callable[[], dict[str, int]]) -> None:
        """Set what reads the uuids of a tree that was saved, once they are needed."""
        self._read_uuids = read

    def first(self, uuid: str | None) -> int | None:
        """Return the first record with a uuid; if it was asked for before, a tree that was saved reads no uuids."""
        if uuid is None:
            return None
        found = self._asked.get(uuid)
        if found is None and (found := self.uuids.get(uuid)) is not None:
            self._asked[uuid] = found
        return found

    def __len__(self) -> int:
        return len(self._speaks)

    @property
    def active_branch(self) -> int:
        """The branch that the session continued on."""
        return self._continued if self._pinned is None else self._pinned

    def parent(self, index: int) -> int:
        """Return the parent of a record, or NO_PARENT."""
        return self._parents[index]

    def branch_of(self, index: int) -> int:
        """Return the branch that a record is on."""
        return self._run_branches[bisect_right(self._runs, index) - 1]

    def claim(self, uuid: str, index: int) -> int:
        """Return the first record with this uuid; a new one becomes the parent of records that waited for it."""
        first = self.uuids.setdefault(uuid, index)
        if first == index and self.missing:
            for child in self.missing.pop(uuid, ()):
                self._parents[child] = index
                self._leads.clear()
        return first

    def hang(self, index: int, parent_uuid: str | None, elsewhere: Container[str]) -> int:
        """Add a record below its parent and return that; `elsewhere` holds uuids of records outside this tree."""
        if parent_uuid is None:
            parent = NO_PARENT
        else:
            parent = self.uuids.get(parent_uuid, NO_PARENT)
            if parent == index:
                parent = NO_PARENT
            elif parent < 0:
                if parent_uuid not in elsewhere:
                    self.missing.setdefault(parent_uuid, []).append(index)
                parent = self._last
            elif parent < self._runs[-1]:
                self.branch = self.branch_of(parent)
            else:
                self.branch = self._run_branches[-1]
        self._parents.append(parent)
        self._last = index
        return parent

    def hang_nowhere(self) -> None:
        """Add a record that has no place in the tree."""
        self._parents.append(NO_PARENT)

    def close(self, speaks: bool) -> None:
        """Finish adding a record, once its branch is known."""
        if self.branch != self._run_branches[-1]:
            self._runs.append(len(self._speaks))
            self._run_branches.append(self.branch)
        self._speaks.append(speaks)

    def fork(self, parent: int) -> None:
        """Begin a branch: the record being added is its first."""
        self.forks.append(Fork(self.branch_of(parent), parent))
        self.branch = len(self.forks) - 1

    def continue_here(self, *, pin: bool) -> None:
        """Note that the session continued on the current branch; a pinned branch stays the active one."""
        self._continued = self.branch
        if pin:
            self._pinned = self.branch

    def continue_from(self, uuid: str | None) -> None:
        """Note that the session continues from the record with this uuid."""
        index = self.uuids.get(uuid or "")
        if index is not None:
            self.branch = self._continued = self.branch_of(index)

    def leads_somewhere(self, parent: int, index: int) -> bool:
        """True if an earlier child of `parent` leads to anything but an unanswered call.

        A new prompt under such a parent leaves a branch behind. Siblings that only record parallel calls, hooks
        and attachments, or a call that an interrupt cut short, do not.
        """
        if index - parent > FAR:
            return bool(self._index_leads(index)[parent])
        below = {parent}
        for at in range(parent + 1, index):
            if self._parents[at] in below:
                if self._speaks[at]:
                    return True
                below.add(at)
        return False

    def _index_leads(self, end: int) -> bytearray:
        """Mark which of the records before `end` lead somewhere; each record is visited once."""
        leads, parents, speaks = self._leads, self._parents, self._speaks
        start = len(leads)
        leads += bytes(max(0, end - start))
        for at in range(start, end):
            if speaks[at]:
                below, above = at, parents[at]
                while 0 <= above < below and not leads[above]:
                    leads[above] = 1
                    below, above = above, parents[above]
        return leads

    def limits(self, branch: int) -> dict[int, int]:
        """Return, for each branch on the way to this one, the last record that both share."""
        if self._limits[0] != (branch, len(self)):
            limits = {branch: len(self)}
            fork = self.forks[branch]
            while fork.parent is not None:
                limits[fork.parent] = min(fork.record, limits.get(fork.parent, fork.record))
                fork = self.forks[fork.parent]
            self._limits = ((branch, len(self)), limits)
        return self._limits[1]

    def is_on(self, index: int, branch: int) -> bool:
        """True if a record is on the way from the root to the leaf of a branch."""
        limits, own = self.limits(branch), self.branch_of(index)
        return own in limits and index <= limits[own]

    def chain(self, head: str | None, tail: str | None) -> list[int]:
        """Return the records from the one with uuid `head` down to `tail`, by their parents."""
        first, at = self.uuids.get(head or ""), self.uuids.get(tail or "")
        if first is None or at is None:
            return []
        out: dict[int, None] = {}
        while at >= first and at not in out:
            out[at] = None
            if at != first:
                at = self._parents[at]
        return list(reversed(out))


def no_path_text(known: Iterable[int], path: int) -> str:
    """Return the message of an error about a path through the conversation that does not exist."""
    *others, last = map(str, sorted(known))
    names = f"paths {', '.join(others)} and {last}" if others else f"only path {last}"
    return f"No path {path}; this session has {names}."
