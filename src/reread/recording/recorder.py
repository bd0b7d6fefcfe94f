"""The recorder: runs a command or reads a stream, passes on what comes at once, and keeps every line of it."""

from __future__ import annotations

import os
import re
import select
import subprocess
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePath
from types import TracebackType
from typing import IO, Any, cast

from reread.catalog.store import DEFAULT, RESULT, ConversationWriter, Store, StoredConversation
from reread.catalog.stored_line import ERR, IN, OUT
from reread.errors import Misuse, Unwritable
from reread.recording.child import POSIX, Child, start
from reread.records.decode import Decoder, Record

CHUNK = 1 << 16
LONGEST = 1 << 26
"""A line longer than this is kept in pieces: they are as good to replay, and memory stays bounded."""
QUIET = 2.0
"""Seconds without a word after which a stream is given up whose command has ended: a child of its own holds it open."""
PULSE = 0.25
STREAM_JSON = "stream-json"

_PRINT = re.compile(r"--print|-[cv]*p[cv]*")

Notice = Callable[[str], None]


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
    """Run a command, or read a binary stream, and keep every line; iterate for its records as they come.

    A conversation that exists is gone on with: another run is added to it.
    """
    return Capture(
        source,
        Recorder(Store(root), conversation or fresh_id(), workspace=workspace, agent=agent, fsync=fsync, strict=True),
        title=title,
        cwd=str(cwd) if cwd is not None else None,
        env=env,
    )


def fresh_id() -> str:
    """An id for a new conversation."""
    return str(uuid.uuid4())


class Recorder:
    """Keeps lines in a conversation as long as the store takes them; unless strict, its failure ends nothing else."""

    def __init__(
        self,
        store: Store,
        conversation: str,
        *,
        workspace: str = DEFAULT,
        agent: str = DEFAULT,
        fsync: str = RESULT,
        strict: bool = False,
        notice: Notice = lambda _: None,
    ) -> None:
        self.conversation = conversation
        self.path = store.path_of(conversation, workspace=workspace, agent=agent)
        self.fault: Unwritable | None = None
        """Why the rest was not kept."""
        self._notice = notice
        self._strict = strict
        self._writer: ConversationWriter | None = None
        try:
            self._writer = store.writer(conversation, workspace=workspace, agent=agent, fsync=fsync)
        except Unwritable as error:
            self._fail(error)
        else:
            if self._writer.repaired:
                notice(self._writer.repaired)

    @property
    def lines(self) -> int:
        """How many lines have been kept."""
        return self._writer.lines if self._writer is not None else 0

    def begin(self, argv: Sequence[str], cwd: str | None, title: str | None) -> None:
        """Note that a run begins."""
        self._try(lambda writer: writer.begin(argv, cwd=cwd, title=title))

    def keep(self, lines: Sequence[bytes], stream: str) -> None:
        """Keep some lines, each with its end."""
        if lines:
            self._try(lambda writer: writer.extend(lines, stream=stream))

    def finish(self, exit_code: int | None) -> None:
        """Note that the run ended, and let go of the conversation."""
        self._try(lambda writer: writer.finish(exit_code))
        if self._writer is not None:
            self._writer.close()

    def give_up(self) -> None:
        """Let go of a conversation in which no run began; one that holds nothing is not left behind."""
        if self._writer is not None:
            self._writer.close(discard_empty=True)

    def _try(self, write: Callable[[ConversationWriter], None]) -> None:
        if self._writer is None or self.fault is not None:
            return
        try:
            write(self._writer)
        except Unwritable as error:
            self._fail(error)

    def _fail(self, error: Unwritable) -> None:
        if self._strict and self._writer is None:
            raise error
        self.fault = error
        self._notice(f"{error}; {self.lines} lines of this run were kept, what follows is passed on but not kept")


class Capture:
    """A run that is being captured: iterate it for its records, or `chunks()` for what it prints as it prints it.

    As a context manager it ends the command where the body is left before that has ended.
    """

    def __init__(
        self,
        source: Sequence[str] | IO[bytes] | int,
        keeper: Recorder,
        *,
        title: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        keep_input: bool | None = None,
        feed: int | None = None,
        echo_errors: int | None = None,
        terminal: bool = False,
    ) -> None:
        self.keeper = keeper
        self.exit_code: int | None = None
        """How the command ended, once it has: as a shell says it."""
        self.child: Child | None = None
        self._echo_errors = echo_errors
        self._said = ChunkSplitter()
        self._input = feed
        argv = with_stream_json(_words(source))
        try:
            if argv:
                talks = takes_stream_json(argv) if keep_input is None else keep_input
                stdin = subprocess.PIPE if talks else None
                self.child = start(argv, cwd=cwd, env=env, stdin=stdin, terminal=terminal)
            self._out = self.child.out if self.child is not None else _descriptor(source)
        except BaseException:
            keeper.give_up()
            raise
        keeper.begin(argv, cwd or _here(), title)
        self._pieces = self._run()

    @property
    def conversation(self) -> str:
        """The id of the conversation that it is kept in."""
        return self.keeper.conversation

    @property
    def kept(self) -> StoredConversation:
        """The conversation that it is kept in."""
        return StoredConversation(self.keeper.path)

    def __iter__(self) -> Iterator[Record]:
        decoder = Decoder()
        for chunk in self._pieces:
            yield from decoder.feed(chunk)
        yield from decoder.flush()
        if self.keeper.fault is not None:
            raise self.keeper.fault

    def chunks(self) -> Iterator[bytes]:
        """What is printed, in the pieces in which it comes; the whole lines among them have been kept by then."""
        return self._pieces

    def wait(self) -> int | None:
        """Let it run to its end; gives the exit code."""
        for _ in self._pieces:
            pass
        return self.exit_code

    def send(self, data: bytes) -> None:
        """Tell the command something on its standard input, and keep that too."""
        if self.child is None or self.child.process.stdin is None:
            raise Misuse("only a command that runs with --input-format stream-json takes input")
        self.keeper.keep(self._said.feed(data), IN)
        write_all(self.child.process.stdin.fileno(), data)

    def close_input(self) -> None:
        """Say that no more input comes."""
        if self.child is not None and self.child.process.stdin is not None:
            self.keeper.keep(self._said.flush(), IN)
            self.child.process.stdin.close()

    def close(self) -> None:
        """Stop reading, and end the command if it still runs."""
        if self.exit_code is None and self.child is not None:
            self.child.process.terminate()
            self.wait()
        self._pieces.close()
        if self.exit_code is None:
            self._end(None)

    def hang_up(self) -> None:
        """Stop reading: a command that goes on printing learns that nobody listens. Waits for its end."""
        self._pieces.close()

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> Generator[bytes]:
        lines = ChunkSplitter()
        errors = None
        if self.child is not None:
            errors = _in_background(self._take_errors, self.child.errors)
            if self._input is not None and self.child.process.stdin is not None:
                _in_background(self._feed, self._input)
        try:
            for chunk in _chunks(self._out, self.child):
                self.keeper.keep(lines.feed(chunk), OUT)
                yield chunk
            self.keeper.keep(lines.flush(), OUT)
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
        self.keeper.finish(self.exit_code)

    def _take_errors(self, errors: int) -> None:
        lines = ChunkSplitter()
        for chunk in _chunks(errors, self.child):
            self.keeper.keep(lines.feed(chunk), ERR)
            if self._echo_errors is not None:
                with suppress(OSError):  # nobody listens any more
                    write_all(self._echo_errors, chunk)
        self.keeper.keep(lines.flush(), ERR)

    def _feed(self, source: int) -> None:
        with suppress(OSError):  # the command has closed its end
            for chunk in _chunks(source, None):
                self.send(chunk)
        with suppress(OSError):
            self.close_input()


class ChunkSplitter:
    """Chunks in, whole lines out; a line that grows beyond all measure comes in pieces."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that a chunk completes, each with its end."""
        cut = chunk.rfind(b"\n") + 1
        rest = chunk[cut:]
        lines = BytesIO(b"".join([*self._pending, chunk[:cut]])).readlines() if cut else []
        if cut:
            self._pending, self._size = [], 0
        if rest:
            self._pending.append(rest)
            self._size += len(rest)
        return lines + self.flush() if self._size > LONGEST else lines

    def flush(self) -> list[bytes]:
        """What has no end."""
        rest = b"".join(self._pending)
        self._pending, self._size = [], 0
        return [rest] if rest else []


def _chunks(fd: int, child: Child | None) -> Iterator[bytes]:
    """What can be read, as it comes; of a command, until some time after it ended."""
    quiet = 0.0
    while True:
        if child is not None and POSIX and not _is_ready(fd):
            quiet += PULSE if child.process.poll() is not None else 0
            if quiet >= QUIET:
                return
            continue
        try:
            chunk = os.read(fd, CHUNK)
        except OSError:  # so a terminal says that nobody holds its other end
            return
        if not chunk:
            return
        quiet = 0.0
        yield chunk


def _is_ready(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(PULSE * 1000))


def write_all(fd: int, data: bytes) -> None:
    """Write all of it, however little the other end takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _in_background(work: Callable[[int], None], fd: int) -> threading.Thread:
    thread = threading.Thread(target=work, args=(fd,), daemon=True)
    thread.start()
    return thread


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # the folder that we run in was deleted
        return None


def _words(source: Sequence[str] | IO[bytes] | int) -> list[str]:
    """A command's words; none where the source is a stream."""
    if isinstance(source, int) or hasattr(source, "read"):
        return []
    if isinstance(source, str | bytes):
        raise Misuse("give the command as a list of words: ['claude', '-p', '…']")
    words = list(cast(Sequence[str], source))
    if not words:
        raise Misuse("name a command to run")
    return words


def _descriptor(source: Any) -> int:
    if isinstance(source, int):
        return source
    try:
        return source.fileno()
    except (AttributeError, OSError):
        raise Misuse("give a stream that the system knows: an open file or a pipe, in binary mode") from None


def with_stream_json(argv: list[str]) -> list[str]:
    """A command that prints its messages: `claude -p` is told to, unless it was told something else."""
    if not argv or PurePath(argv[0]).stem.lower() != "claude" or not any(_PRINT.fullmatch(word) for word in argv):
        return argv
    added: list[str] = []
    form = option(argv, "--output-format")
    if form is None:
        added += ["--output-format", STREAM_JSON]
    if form in (None, STREAM_JSON) and "--verbose" not in argv:
        added.append("--verbose")
    return [argv[0], *added, *argv[1:]]


def takes_stream_json(argv: Sequence[str]) -> bool:
    """Whether a command is told its messages on standard input."""
    return option(argv, "--input-format") == STREAM_JSON


def wants_terminal(argv: Sequence[str]) -> bool:
    """Whether a command is likely to talk with a person rather than to print messages."""
    return STREAM_JSON not in " ".join(with_stream_json(list(argv)))


def option(argv: Sequence[str], name: str) -> str | None:
    """The value that a command line gives an option."""
    for word, following in zip(argv, [*argv[1:], None], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None
