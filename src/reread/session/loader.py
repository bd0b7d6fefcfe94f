"""A source folded into a conversation, all of it at first and then as it grows."""

from __future__ import annotations

from collections.abc import Callable

from reread.base.gc_pause import gc_paused
from reread.disk.sources import Source, identity_at
from reread.model.conversation import Conversation
from reread.records.decode import Decoder
from reread.records.lines import Lines

CHUNK = 1 << 18
PROOF = 256
"""How many bytes before the end are compared, to see that a grown file was only appended to."""

Progress = Callable[[int], None]


class Loader:
    """Reads a source through a decoder into a conversation."""

    def __init__(self, source: Source, conversation: Conversation) -> None:
        self.source = source
        self.conversation = conversation
        self._decoder = Decoder(conversation.push_lines)
        self._taken = 0
        self._proof = b""
        self._flushed = False
        """Whether a last line without end has been given out: then nothing can be appended to it."""

    @property
    def lines(self) -> Lines:
        """The physical lines read so far."""
        return Lines(self._decoder.starts, lambda: self._decoder.size, self.source.read)

    def load(self, progress: Progress | None = None) -> None:
        """Take in all there is, a torn tail included."""
        self.take_in(progress)
        before = self._decoder.size
        for record in self._decoder.flush():
            self.conversation.push(record)
        self._flushed = self._decoder.size != before

    def take_in(self, progress: Progress | None = None) -> None:
        """Take in the whole lines that have come since."""
        push, feed, read = self.conversation.push, self._decoder.feed, self.source.read
        with gc_paused():
            while data := read(self._taken, CHUNK):
                self._taken += len(data)
                for record in feed(data):
                    push(record)
                if progress is not None:
                    progress(self._taken)
        self._proof = read(max(0, self._taken - PROOF), PROOF)

    def grows(self) -> bool:
        """Whether the file is the same one and nothing but longer."""
        path = self.source.path
        if path is None:
            return True
        try:
            identity, size = identity_at(path)
        except OSError:
            return self._taken == 0
        if identity != self.source.identity() or size < self._taken:
            return False
        if self._flushed and size != self._taken:
            return False
        return self.source.read(max(0, self._taken - PROOF), len(self._proof)) == self._proof
