"""Run the real `claude` for a prompt that no recording answers, and record it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from reread.base.claude_argv import STREAM_JSON
from reread.catalog.resolve import looks_like_path
from reread.catalog.store import Store
from reread.disk.layout import expand_path
from reread.errors import NotFound
from reread.fake_claude.caller import CallerMessages
from reread.fake_claude.control_protocol import inner, request_id
from reread.fake_claude.script import frame_of
from reread.recording.child import forward_signals
from reread.recording.recorder import Capture, Recorder, new_id
from reread.records.lines import LineSplitter
from reread.storage.safe_open import read_settings

CLAUDE_VARIABLE = "REREAD_CLAUDE"
RECORD_VARIABLE = "REREAD_RECORD"
OUTPUT_FORMAT = "--output-format"


class RealClient:
    """The real program, and where its runs are recorded."""

    def __init__(self, sources: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._arguments = list(arguments)
        self._environment = {name: value for name, value in environment.items() if name != RECORD_VARIABLE}
        self._claude = find_claude(environment)
        self._store, self._conversation = recording_place(sources)
        self._path = self._store.path_of(self._conversation)
        self._size = self._path.stat().st_size if os.path.isfile(self._path) else 0
        """The size of the recording before the run."""

    def record_prompt(self, piped: bytes) -> int | None:
        """Run it with the prompt of the command line, and return its exit code; None if it gave a result."""
        argv = [self._claude, OUTPUT_FORMAT, STREAM_JSON, "--verbose", *_without_format(self._arguments)]
        run = self._start(argv, error_fd=None)
        if piped:
            run.send(piped)
        run.close_input()
        return self._finish(run, _lines(run))

    def record_messages(self, caller: CallerMessages, write: Callable[[bytes], None]) -> int:
        """Run it with what its caller has sent and will send, print what it prints, and return its exit code.

        The caller has had answers to its first requests already: those of the real program are only recorded.
        """
        run = self._start([self._claude, *self._arguments], error_fd=2)
        answered = set(caller.answered)
        caller.forward(run.send, run.close_input)
        with forward_signals(run.child.send) if run.child is not None else nullcontext():
            code = self._finish(run, _printed(_lines(run), answered, write))
        return (run.exit_code or 0) if code is None else code

    def _start(self, argv: Sequence[str], *, error_fd: int | None) -> Capture:
        recorder = Recorder(self._store, self._conversation, strict=True)
        return Capture(argv, recorder, env=self._environment, record_input=True, error_fd=error_fd)

    def _finish(self, run: Capture, lines: Iterator[bytes]) -> int | None:
        """Read everything; a run that gave no result is not kept, so that the next one tries again."""
        results = [line for line in lines if frame_of("out", line).kind == "result"]
        if run.recorder.error is not None:
            raise run.recorder.error
        if results:
            return None
        if self._size:
            os.truncate(self._path, self._size)
        else:
            self._path.unlink()
        return run.exit_code or 1


def find_claude(environment: Mapping[str, str]) -> str:
    """Return the real program: the one that a variable names, or the first on PATH that is not this one."""
    named = environment.get(CLAUDE_VARIABLE)
    if named:
        return str(expand_path(named))
    own = os.path.realpath(sys.argv[0])
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("claude", path=folder) if folder else None
        if found and os.path.realpath(found) != own and not _is_fake(Path(found)):
            return found
    raise NotFound(f"No claude on PATH that could be recorded; set {CLAUDE_VARIABLE} to its path.")


def _is_fake(path: Path) -> bool:
    """True if a program only starts this one: a copy of it, or a script that names it."""
    with suppress(OSError):
        data = read_settings(path)
        return b"reread-claude" in data or b"reread.fake_claude" in data
    return False


def recording_place(sources: Sequence[str]) -> tuple[Store, str]:
    """Return the store and the conversation to record into: those that the sources name, by default new ones."""
    folders = [source for source in sources if os.path.isdir(expand_path(source)) or looks_like_path(source)]
    names = [source for source in sources if source not in folders]
    root = next((expand_path(folder) for folder in folders if not os.path.isfile(expand_path(folder))), None)
    return Store(root), names[0] if names else new_id()


def _without_format(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments without the output format: a recording has every message, and any format is made of it."""
    words = iter(arguments)
    for word in words:
        if word == OUTPUT_FORMAT:
            next(words, None)
        elif word == "--":
            yield from (word, *words)
        elif not word.startswith(f"{OUTPUT_FORMAT}=") and word != "--verbose":
            yield word


def _lines(run: Capture) -> Iterator[bytes]:
    splitter = LineSplitter()
    for chunk in run.chunks():
        yield from splitter.feed(chunk)
    if tail := splitter.flush():
        yield tail


def _printed(lines: Iterator[bytes], answered: set[str], write: Callable[[bytes], None]) -> Iterator[bytes]:
    """Print the lines except the answers that the caller has had, and return all."""
    for line in lines:
        frame = frame_of("out", line)
        if frame.kind != "control_response" or request_id(inner(frame.value, "response")) not in answered:
            write(line)
        yield line
