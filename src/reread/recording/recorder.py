"""Run a command or read a stream, pass its output on at once, and record every line."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from reread.base.async_iteration import finish_in_thread, iterate_in_thread
from reread.base.claude_argv import takes_stream_json, with_stream_json
from reread.base.text import plural
from reread.catalog.store import DEFAULT, Store
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import ERR, IN, OUT
from reread.catalog.writer import RESULT, ConversationWriter
from reread.errors import Misuse, Unwritable
from reread.recording.child import POSIX, Child, start
from reread.records.decode import Decoder, Record
from reread.records.lines import LineSplitter
from reread.storage.atomic import write_all

CHUNK = 1 << 16
MAX_LINE = 1 << 26
"""A longer line is recorded in pieces: a replay emits the same bytes, and memory stays bounded."""
LINGER_SECONDS = 2.0
"""How long a stream may be silent after its command has ended: a child of the command may keep it open."""
POLL_SECONDS = 0.25


def capture(
    source: Sequence[str] | IO[bytes] | int,
    *,
    conversation: str | None = None,
    workspace: str = DEFAULT,
    agent: str = DEFAULT,
    title: str | None = None,
    root: str | Path | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    fsync: str = RESULT,
) -> Capture:
    """Run a command, or read a binary stream, and record every line.

    Iterate over the capture for records, with `for` or `async for`. If the `conversation` exists, another run is added
    to it; by default it is a new one. It is stored for `workspace` and `agent`, with a `title`, in the store `root`.
    The command runs in `cwd`, with the environment `env`. `fsync` says when lines are forced onto the disk: never,
    after each result, or after each line.
    """
    return Capture(
        source,
        Recorder(Store(root), conversation or new_id(), workspace=workspace, agent=agent, fsync=fsync, strict=True),
        title=title,
        cwd=str(cwd) if cwd is not None else None,
        env=env,
    )


def new_id() -> str:
    """Return an id for a new conversation."""
    return str(uuid.uuid4())


class Recorder:
    """Record lines in a conversation for as long as the store can be written.

    If it cannot, the rest is dropped and `error` is set, so that a full disk does not end the command. A strict
    recorder raises if the conversation cannot be opened.
    """

    def __init__(
        self,
        store: Store,
        conversation: str,
        *,
        workspace: str = DEFAULT,
        agent: str = DEFAULT,
        fsync: str = RESULT,
        strict: bool = False,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.conversation = conversation
        self.path: Path = store.path_of(conversation, workspace=workspace, agent=agent)
        self.error: Unwritable | None = None
        """Why the rest was not recorded."""
        self._notify = notify
        self._writer: ConversationWriter | None = None
        try:
            self._writer = store.writer(conversation, workspace=workspace, agent=agent, fsync=fsync)
        except Unwritable as error:
            if strict:
                raise
            self._fail(error)
        else:
            if self._writer.repair:
                notify(self._writer.repair)

    def start_run(self, argv: Sequence[str], cwd: str | None, title: str | None) -> None:
        """Record that a run starts."""
        self._try(lambda writer: writer.start_run(argv, cwd=cwd, title=title))

    def record(self, lines: Sequence[bytes], stream: str) -> None:
        """Record lines, each with its line end."""
        if lines:
            self._try(lambda writer: writer.extend(lines, stream=stream))

    def end_run(self, exit_code: int | None) -> None:
        """Record that the run has ended, and close the conversation."""
        self._try(lambda writer: writer.end_run(exit_code))
        if self._writer is not None:
            self._writer.close()

    def abandon(self) -> None:
        """Close a conversation in which no run has started; an empty file is deleted."""
        if self._writer is not None:
            self._writer.close(discard_empty=True)

    def _try(self, write: Callable[[ConversationWriter], None]) -> None:
        if self._writer is None or self.error is not None:
            return
        try:
            write(self._writer)
        except Unwritable as error:
            self._fail(error)

    def _fail(self, error: Unwritable) -> None:
        self.error = error
        lines = plural(self._writer.line_count if self._writer is not None else 0, "line")
        self._notify(str(error))
        self._notify(f"Recorded {lines} of this run; the rest is passed on but not recorded.")


class _StreamRecorder:
    """Split one stream of a command into lines and record them."""

    def __init__(self, recorder: Recorder, stream: str) -> None:
        self._recorder = recorder
        self._stream = stream
        self._splitter = LineSplitter(MAX_LINE)

    def feed(self, chunk: bytes) -> None:
        """Record the lines that a chunk completes."""
        self._recorder.record(self._splitter.feed(chunk), self._stream)

    def flush(self) -> None:
        """Record a last line without line end."""
        if tail := self._splitter.flush():
            self._recorder.record([tail], self._stream)


class Capture:
    """A run that is being captured: iterate over it for its records, or over `chunks()` for its output as it comes.

    As a context manager (`with` or `async with`), it terminates the command if the body is left while it still runs.
    """

    def __init__(
        self,
        source: Sequence[str] | IO[bytes] | int,
        recorder: Recorder,
        *,
        title: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        record_input: bool | None = None,
        input_fd: int | None = None,
        error_fd: int | None = None,
        terminal: bool = False,
    ) -> None:
        self.recorder = recorder
        self.exit_code: int | None = None
        """The command's exit code as a shell reports it; None while it runs."""
        self.child: Child | None = None
        self._input_fd = input_fd
        """Where to read the input of a command whose input is recorded."""
        self._error_fd = error_fd
        """Where to write the command's error output."""
        self._input = _StreamRecorder(recorder, IN)
        argv = with_stream_json(_command(source))
        try:
            if argv:
                pipe_input = takes_stream_json(argv) if record_input is None else record_input
                stdin = subprocess.PIPE if pipe_input else None
                self.child = start(argv, cwd=cwd, env=env, stdin=stdin, terminal=terminal)
            self._output_fd = self.child.output_fd if self.child is not None else _descriptor(source)
        except BaseException:
            recorder.abandon()
            raise
        recorder.start_run(argv, cwd or _working_folder(), title)
        self._chunks = _Locked(self._run())

    @property
    def conversation(self) -> str:
        """The id of the conversation it is recorded in."""
        return self.recorder.conversation

    @property
    def stored(self) -> StoredConversation:
        """The conversation it is recorded in."""
        return StoredConversation(self.recorder.path)

    def __iter__(self) -> Iterator[Record]:
        """Yield the records of the output as they come."""
        decoder = Decoder()
        for chunk in self._chunks:
            yield from decoder.feed(chunk)
        yield from decoder.flush()
        if self.recorder.error is not None:
            raise self.recorder.error

    def __aiter__(self) -> AsyncIterator[Record]:
        return iterate_in_thread(iter(self), self._terminate)

    def chunks(self) -> Iterator[bytes]:
        """Yield the output in the pieces in which it comes; each complete line has been recorded by then."""
        return self._chunks

    def wait(self) -> int | None:
        """Wait until the run ends and return the exit code."""
        for _ in self._chunks:
            pass
        return self.exit_code

    def send(self, data: bytes) -> None:
        """Write to the command's standard input, and record it."""
        if self.child is None or self.child.process.stdin is None:
            raise Misuse("Cannot send input; only a command that runs with --input-format stream-json takes it.")
        self._input.feed(data)
        write_all(self.child.process.stdin.fileno(), data)

    def close_input(self) -> None:
        """Close the command's standard input."""
        if self.child is not None and self.child.process.stdin is not None:
            self._input.flush()
            self.child.process.stdin.close()

    def close(self) -> None:
        """Stop reading, and terminate the command if it still runs."""
        if self.exit_code is None and self.child is not None:
            self._terminate()
            self.wait()
        self._chunks.close()
        if self.exit_code is None:
            self._end(None)

    def _terminate(self) -> None:
        if self.child is not None:
            self.child.process.terminate()

    def stop_reading(self) -> None:
        """Close the command's output, so that it gets a broken pipe if it writes more, and wait until it ends."""
        self._chunks.close()

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Capture:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await finish_in_thread(self.close)

    def _run(self) -> Generator[bytes]:
        """Record and yield the output until it ends; error output and input are handled in threads."""
        output = _StreamRecorder(self.recorder, OUT)
        errors = None
        if self.child is not None:
            errors = _in_thread(self._record_errors, self.child.error_fd)
            if self._input_fd is not None and self.child.process.stdin is not None:
                _in_thread(self._forward_input, self._input_fd)
        try:
            for chunk in _read_chunks(self._output_fd, self.child):
                output.feed(chunk)
                yield chunk
            output.flush()
        finally:
            self._end(errors)

    def _end(self, errors: threading.Thread | None) -> None:
        self.exit_code = 0
        if self.child is not None:
            self.child.close_output()
            self.exit_code = self.child.exit_code()
            if errors is not None:
                errors.join()
            self.child.close()
        self.recorder.end_run(self.exit_code)

    def _record_errors(self, source: int) -> None:
        errors = _StreamRecorder(self.recorder, ERR)
        for chunk in _read_chunks(source, self.child):
            errors.feed(chunk)
            if self._error_fd is not None:
                with suppress(OSError):  # nobody reads it any more
                    write_all(self._error_fd, chunk)
        errors.flush()

    def _forward_input(self, source: int) -> None:
        with suppress(OSError):  # the command has closed its input
            for chunk in _read_chunks(source, None):
                self.send(chunk)
        with suppress(OSError):
            self.close_input()


class _Locked(Iterator[bytes]):
    """A generator of which one thread at a time takes an item: a cancelled task leaves a thread that still waits."""

    def __init__(self, chunks: Generator[bytes]) -> None:
        self._chunks = chunks
        self._lock = threading.Lock()

    def __next__(self) -> bytes:
        with self._lock:
            return next(self._chunks)

    def close(self) -> None:
        """Close the generator."""
        with self._lock:
            self._chunks.close()


def _read_chunks(fd: int, child: Child | None) -> Iterator[bytes]:
    """Yield what can be read as it comes; a command's stream ends at the latest some time after the command."""
    silence = 0.0
    while True:
        if child is not None and POSIX and not _is_readable(fd):
            silence += POLL_SECONDS if child.process.poll() is not None else 0
            if silence >= LINGER_SECONDS:
                return
            continue
        try:
            chunk = os.read(fd, CHUNK)
        except OSError:  # how a terminal reports that its other end is closed
            return
        if not chunk:
            return
        silence = 0.0
        yield chunk


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(POLL_SECONDS * 1000))


def _in_thread(work: Callable[[int], None], fd: int) -> threading.Thread:
    thread = threading.Thread(target=work, args=(fd,), daemon=True)
    thread.start()
    return thread


def _working_folder() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it has been deleted
        return None


def _command(source: Sequence[str] | IO[bytes] | int) -> list[str]:
    """Return the words of a command; empty if the source is a stream."""
    if isinstance(source, int) or hasattr(source, "read"):
        return []
    if isinstance(source, str | bytes):
        raise Misuse("The command is a string; use a list of words: ['claude', '-p', '…'].")
    words = list(cast(Sequence[str], source))
    if not words:
        raise Misuse("The command is empty; use a list of words: ['claude', '-p', '…'].")
    return words


def _descriptor(source: Any) -> int:
    if isinstance(source, int):
        return source
    try:
        return source.fileno()
    except (AttributeError, OSError):
        raise Misuse("Cannot read this stream; use an open file or a pipe in binary mode.") from None
