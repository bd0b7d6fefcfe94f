"""Read a source into a conversation: all of it at first, and then as it grows."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from reread.base.gc_pause import gc_paused
from reread.disk.sources import Source, identity_at
from reread.model.conversation import Conversation
from reread.model.fold import Fold
from reread.records.decode import Decoder
from reread.records.lines import Lines
from reread.session.saved_fold import SMALLEST, BrokenFold, read_fold, restore_fold, save_fold

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
        self.conversation = conversation
        self._fold = Fold(conversation)
        self._decoder = Decoder(self._fold.push_lines)
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
        """The physical lines read so far."""
        return Lines(self._decoder.starts, lambda: self._decoder.size, self.source.read)

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return self._read

    def restore(self) -> bool:
        """Restore what was saved of the source's file, as far as the file still has it; False if nothing was.

        If it is False, something may have been restored of a broken fold: use another loader and conversation.
        """
        path = self.source.path
        if path is None or self._read or not self.source.read(SMALLEST, 1):
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

    def read_endings(self) -> None:
        """Look at the results of all calls of a large file, so that its saved fold tells which plainly succeeded."""
        if self._read >= SMALLEST:
            for call in self.conversation.calls:
                if call.answer >= 0:
                    self.conversation.bodies.is_plainly_done(call.answer)

    def save(self) -> bool:
        """Save what was read, so that it can be restored; False if it cannot be, or too little of it is new."""
        path = self.source.path
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
        self._flushed = self._decoder.size != before

    def load_lines(self, progress: Progress | None = None) -> range:
        """Read the whole lines that are new, and return the indexes of their records."""
        first = len(self.conversation.records)
        push, feed, read = self._fold.push, self._decoder.feed, self.source.read
        with gc_paused():
            while data := read(self._read, CHUNK):
                self._read += len(data)
                for record in feed(data):
                    push(record)
                if progress is not None:
                    progress(self._read)
        self._proof = read(max(0, self._read - PROOF), PROOF)
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
        return self.source.read(max(0, self._read - PROOF), len(self._proof)) == self._proof
