"""Start a command whose output can be read, and forward signals, keys and the terminal size to it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from types import FrameType

from reread.errors import NotFound

FORWARDED = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH")
FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGWINCH")
"""Signals that a terminal sends to all its processes: the command gets them without us."""
SIGNAL_EXIT_CODE = 128
"""A shell reports a command that a signal ended as this plus the signal's number."""
END_OF_INPUT = b"\x04"
POSIX = os.name == "posix"


class Child:
    """A running command."""

    def __init__(self, process: subprocess.Popen[bytes], output_fd: int, master: int | None = None) -> None:
        self.process = process
        self.output_fd = output_fd
        """Where to read its standard output."""
        self.master = master
        """The master side of its terminal, if it has one of its own."""

    @property
    def error_fd(self) -> int:
        """Where to read its error output."""
        return self.process.stderr.fileno() if self.process.stderr is not None else -1

    def close_output(self) -> None:
        """Close its standard output: it gets a broken pipe if it writes more."""
        if self.master is not None:
            os.close(self.master)
        elif self.process.stdout is not None:
            self.process.stdout.close()

    def close(self) -> None:
        """Close its other pipes, once it has ended."""
        for pipe in (self.process.stderr, self.process.stdin):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def exit_code(self) -> int:
        """Wait until it ends and return its exit code as a shell reports it."""
        code = self.process.wait()
        return code if code >= 0 else SIGNAL_EXIT_CODE - code

    def send(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if number == getattr(signal, "SIGWINCH", None) and self.master is not None:
            copy_window_size(self.master)
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)


def start(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    terminal: bool = False,
) -> Child:
    """Start a command; with `terminal`, on a terminal of its own."""
    command = [shutil.which(argv[0]) or argv[0], *argv[1:]] if not POSIX else list(argv)
    master = slave = None
    stdout = subprocess.PIPE
    if terminal:
        master, slave = open_terminal()
        stdin = stdout = slave
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=terminal,
            preexec_fn=_make_controlling_terminal if terminal else None,  # safe: no thread runs yet
        )
    except FileNotFoundError as error:
        if cwd and error.filename == cwd:
            raise NotFound(f"No such folder: {cwd}; choose one that exists.") from None
        raise NotFound(f"No such command: {argv[0]}; check that it is installed and on PATH.") from None
    except OSError as error:
        raise NotFound(f"Cannot start {argv[0]}: {error.strerror or error}.") from error
    finally:
        if slave is not None:
            os.close(slave)
    output_fd = master if master is not None else process.stdout.fileno() if process.stdout else -1
    return Child(process, output_fd, master)


def _make_controlling_terminal() -> None:
    """In the new process, make standard input its controlling terminal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def open_terminal() -> tuple[int, int]:
    """Open a terminal of the size of ours that does not change the output; return its master and slave side."""
    import pty
    import termios

    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    copy_window_size(master)
    return master, slave


def copy_window_size(terminal: int) -> None:
    """Set a terminal's size to that of our own."""
    import fcntl
    import termios

    with contextlib.suppress(OSError, ValueError):
        size = fcntl.ioctl(sys.__stdout__.fileno() if sys.__stdout__ else 1, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def forward_keys(terminal: int, keyboard: int = 0) -> Generator[None]:
    """Forward each key as it is pressed, while output to our own terminal is still processed."""
    import termios
    import tty

    threading.Thread(target=_copy_keys, args=(keyboard, terminal), daemon=True).start()
    if not os.isatty(keyboard):
        yield
        return
    before = termios.tcgetattr(keyboard)
    try:
        tty.setraw(keyboard)
        modes = termios.tcgetattr(keyboard)
        modes[1] |= termios.OPOST
        termios.tcsetattr(keyboard, termios.TCSADRAIN, modes)
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal is closed
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _copy_keys(keyboard: int, terminal: int) -> None:
    with contextlib.suppress(OSError):
        while keys := os.read(keyboard, 1024):
            os.write(terminal, keys)
        os.write(terminal, END_OF_INPUT)


@contextlib.contextmanager
def forward_signals(send: Callable[[int], None], *, shares_terminal: bool = True) -> Generator[None]:
    """Forward the signals that we get, while the body runs in the main thread.

    If the command shares our terminal, a signal that a key press causes reaches both, and is not sent again.
    """
    numbers = {number for name in FORWARDED if (number := getattr(signal, name, None)) is not None}
    from_terminal = {getattr(signal, name) for name in FROM_TERMINAL if shares_terminal and hasattr(signal, name)}
    has_info = hasattr(signal, "sigwaitinfo")

    def handle(number: int, frame: FrameType | None) -> None:
        if number not in from_terminal or has_info or not _in_foreground():
            send(number)

    before = {number: signal.signal(number, handle) for number in numbers}
    if has_info:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        threading.Thread(target=_forward_each, args=(send, numbers, from_terminal), daemon=True).start()
    try:
        yield
    finally:
        if has_info:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        for number, handler in before.items():
            signal.signal(number, handler)


def _forward_each(send: Callable[[int], None], numbers: set[int], from_terminal: set[int]) -> None:
    while True:
        info = signal.sigwaitinfo(numbers)
        sent_by_kernel = info.si_code > 0  # and so not by a process
        if info.si_signo not in from_terminal or not sent_by_kernel:
            send(info.si_signo)


def _in_foreground() -> bool:
    """True if keys pressed on our terminal send signals to us, and so to the command."""
    try:
        fd = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)
