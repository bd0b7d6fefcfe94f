"""The reader, started when an editor first asks for it, and ended with the language server."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock, Thread

from reread.base.paths import SAMPLES
from reread.base.worker import Say, Worker, WorkerLost
from reread.errors import Unreadable

_ADDRESS = re.compile(r"http://[^#\s]+")


class ReaderProcess:
    """A server of its own, on a free port."""

    def __init__(self, roots: Sequence[str | Path] | None = None) -> None:
        self._roots = [Path(root) for root in roots or ()]
        self._worker: Worker | None = None
        self._address = ""
        self._lock = Lock()

    def address(self) -> str:
        """Return where the reader is, which is started if it is not running."""
        with self._lock:
            if self._worker is None or not self._worker.is_running:
                self.close()
                self._worker = Worker(f"{__name__}:serve_reader")
                try:
                    self._address = self._worker.ask(self._roots)
                except WorkerLost:
                    self.close()
                    self._worker = None  # it may still be running
                    raise Unreadable("Cannot start the reader; try `reread serve`.") from None
            return self._address

    def close(self) -> None:
        """End the reader."""
        if self._worker is not None:
            self._worker.close()


def serve_reader(questions: Iterator[list[Path]], say: Say) -> None:
    """Serve the sessions below the first folders that are asked for, say where, and end with whoever asked."""
    from reread.server.run import serve

    def run(roots: list[Path]) -> None:
        try:
            serve(roots=roots, port=0, demo=SAMPLES in roots, open_browser=False, echo=tell)
        finally:
            os._exit(1)

    def tell(text: str) -> None:
        found = _ADDRESS.search(text)
        say(found[0] if found is not None else "")

    for roots in questions:
        Thread(target=run, args=(roots,), daemon=True).start()
