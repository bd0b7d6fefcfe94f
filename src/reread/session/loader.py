"""Read a source into a conversation: all of it at first, and then as it grows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from reread.base.gc_pause import gc_paused
from reread.disk.sources import FileSource, OwnSource, Source, identity_at, own_source
from reread.disk.spilled import spilled_text
from reread.errors import Unreadable
from reread.model.conversation import Agent, Conversation
from reread.model.fold import Fold
from reread.records.decode import Decoder
from reread.records.lines import Lines
from reread.session.finding import Finding, state_findings
from reread.session.saved_fold import SMALLEST, BrokenFold, read_fold, restore_fold, save_fold

if TYPE_CHECKING:
    from reread.disk.joined import JoinedFile

CHUNK = 1 << 18
PROOF = 256
"""How many bytes before the end are compared, to see that a grown file was only appended to."""

MANY_ENDINGS = 1000
"""If the results in so many more records were looked at, a fold is saved again, so that they need not be."""

Progress = Callable[[int], None]
"""Called with the number of bytes read so far."""


class Loader:
    """Reads a source through a decoder into a conversation."""

    def __init__(self, source: Source, conversation: Conversation) -> None:
        self.source = source
        path = source.path
        if path is not None:
            conversation.bodies.read_spilled = partial(spilled_text, path)
        if isinstance(source, FileSource) and source.is_whole:
            conversation.bodies.keep()
        self.conversation = conversation
        self._fold = Fold(conversation)
        self._decoder = Decoder(self._fold.push_lines)
        self._own = (0, array("Q"))
        """Of how many lines it was found out which are the file's own, and where these begin."""
        if self.joined is not None:
            conversation.records.origin = self.joined.origin
        self._read = 0
        self._saved = 0
        """Bytes that were restored or saved."""
        self._saved_endings = 0
        """In how many of them the results were looked at."""
        self._proof = b""
        self._flushed = False
        """True once a last line without an end was read: then nothing can be appended to it."""

    @property
    def lines(self) -> Lines:
        """The physical lines of the file itself, read so far."""
        joined = self.joined
        if joined is None:
            return Lines(lambda: self._decoder.starts, lambda: self._decoder.size, self.source.read)
        return Lines(self._own_starts, lambda: joined.own_end(self._decoder.size), joined.read_own)

    def _own_starts(self) -> array[int]:
        """Return where the lines of the file itself begin, without those of its earlier states."""
        known, joined = self._decoder.starts, self.joined
        if joined is not None and len(known) != self._own[0]:
            found = (joined.own_start(start) for start in known)
            self._own = (len(known), array("Q", (start for start in found if start is not None)))
        return self._own[1]

    @property
    def joined(self) -> JoinedFile | None:
        """The file and its earlier states, if these have something that it has not."""
        return self.source.joined if isinstance(self.source, FileSource) else None

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return self._read

    def alone(self) -> Loader:
        """Return a loader of the file itself, without its earlier states: rules are about the lines of one file."""
        source, known = own_source(self.source), self.conversation
        if source is self.source:
            return self
        is_agent = isinstance(known, Agent)
        own = Agent(known.id, source.read, path=known.path, meta=known.meta) if is_agent else Conversation(source.read)
        loader = Loader(source, own)
        if isinstance(own, Agent):
            own.set_lines(loader.lines)
        loader.load()
        return loader

    def state_findings(self) -> Iterator[Finding]:
        """Yield what is found of the earlier states of the file."""
        return state_findings(self.joined)

    @property
    def own_size(self) -> int:
        """Bytes of the file itself, read so far."""
        return self._read if self.joined is None else self.joined.own_end(self._read)

    def restore(self) -> bool:
        """Restore what was saved of the source's file, as far as the file still has it; False if nothing was.

        If it is False, something may have been restored of a broken fold: use another loader and conversation.
        """
        path = self.source.path
        if path is None or self._read or isinstance(self.source, OwnSource) or not self.source.read(SMALLEST, 1):
            return False
        with gc_paused():
            saved = read_fold(path, self.source.read)
            if saved is None:
                return False
            try:
                restore_fold(saved, self._fold)
            except BrokenFold:
                return False
        starts = array("Q")
        starts.frombytes(saved.starts)
        self._decoder.resume(starts, saved.head.size)
        self._read = self._saved = saved.head.size
        self._saved_endings = self.conversation.bodies.known_endings
        self._proof = saved.head.proof
        return True

    def save(self) -> bool:
        """Save what was read, so that it can be restored; False if it cannot be, or too little of it is new."""
        path = self.source.path if not isinstance(self.source, OwnSource) else None
        if path is None or self._flushed or not self._decoder.is_lines or self._read < SMALLEST:
            return False
        endings = self.conversation.bodies.known_endings
        if self._read - self._saved < SMALLEST and endings - self._saved_endings < MANY_ENDINGS:
            return False
        self._saved, self._saved_endings = self._read, endings
        return save_fold(path, self._fold, self._decoder.starts, self._read, self._proof)

    def load(self, progress: Progress | None = None) -> None:
        """Read everything, a torn tail included."""
        self.load_lines(progress)
        before = self._decoder.size
        for record in self._decoder.flush():
            self._fold.push(record)
        self._flushed = self._flushed or self._decoder.size != before

    def load_lines(self, progress: Progress | None = None) -> range:
        """Read the whole lines that are new, and return the indexes of their records."""
        first = len(self.conversation.records)
        if self._flushed:  # the rest of that line may have been written since `can_continue` was asked
            return range(first, first)
        push, feed, read = self._fold.push, self._decoder.feed, self.source.read
        with gc_paused():
            while data := read(self._read, CHUNK):
                self._read += len(data)
                self._proof = (self._proof + data[-PROOF:])[-PROOF:]  # as it was read: the file may be another by now
                for record in feed(data):
                    push(record)
                if progress is not None:
                    progress(self._read)
        return range(first, len(self.conversation.records))

    def can_continue(self) -> bool:
        """True if the file is still the same, or the same and longer."""
        path = self.source.path
        if path is None:
            return True
        try:
            identity, size = identity_at(path)
        except OSError:
            return self._read == 0
        if identity != self.source.identity() or size < self._read:
            return False
        if self._flushed and size != self._read:
            return False
        try:
            return self.source.read(max(0, self._read - PROOF), len(self._proof)) == self._proof
        except Unreadable:  # another file has its inode by now, or it was rewritten
            return False
