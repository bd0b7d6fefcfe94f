"""The reader, started when an editor first asks for it, and ended with the language server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from reread.errors import Unreadable

ENDS_WITH_ITS_PARENT = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
from reread.__main__ import main
main()
"""
"""A server that is left alone would go on for ever: this one ends when its standard input does, whatever the reason."""
_ADDRESS = re.compile(r"http://[^#\s]+")


class ReaderProcess:
    """A `reread serve` of its own, on a free port."""

    def __init__(self, roots: Sequence[str | Path] | None = None) -> None:
        self._words = [word for root in roots or () for word in ("--root", str(root))]
        self._process: subprocess.Popen[str] | None = None
        self._address = ""
        self._lock = Lock()

    def address(self) -> str:
        """Return where the reader is, which is started if it is not running."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                command = [
                    sys.executable,
                    "-P",
                    "-c",
                    ENDS_WITH_ITS_PARENT,
                    *self._words,
                    "serve",
                    "--no-open",
                    "--port",
                    "0",
                ]
                pipe = subprocess.PIPE
                self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
                assert self._process.stdout is not None
                found = _ADDRESS.search(self._process.stdout.readline())
                if found is None:
                    raise Unreadable("Cannot start the reader; try `reread serve`.")
                self._address = found[0]
            return self._address

    def close(self) -> None:
        """End the reader."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
