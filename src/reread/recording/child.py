"""Processes: a command started so that what it prints can be read, with signals and a terminal's size passed on."""

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
KEYBOARD = ("SIGINT", "SIGQUIT", "SIGWINCH")
"""What a terminal sends to all its processes: the command has got it too."""
BY_SIGNAL = 128
END_OF_INPUT = b"\x04"
POSIX = os.name == "posix"


class Child:
    """A running command."""

    def __init__(self, process: subprocess.Popen[bytes], out: int, master: int | None = None) -> None:
        self.process = process
        self.out = out
        """Where to read what it prints."""
        self.master = master
        """Its terminal, where it has one of its own."""

    @property
    def errors(self) -> int:
        """Where to read what it prints aside."""
        return self.process.stderr.fileno() if self.process.stderr is not None else -1

    def close_output(self) -> None:
        """Read no more of what it prints: if it goes on printing, it learns that nobody listens."""
        if self.master is not None:
            os.close(self.master)
        elif self.process.stdout is not None:
            self.process.stdout.close()

    def close(self) -> None:
        """Let go of the rest, once it has ended."""
        for pipe in (self.process.stderr, self.process.stdin):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def exit_code(self) -> int:
        """How it ended, as a shell says it; waits for that."""
        code = self.process.wait()
        return code if code >= 0 else BY_SIGNAL - code

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
            preexec_fn=_take_terminal if terminal else None,  # before there are threads
        )
    except FileNotFoundError as error:
        missing = cwd if cwd and error.filename == cwd else argv[0]
        raise NotFound(f"{missing}: no such command or folder; is it installed, and on PATH?") from None
    except OSError as error:
        raise NotFound(f"{argv[0]}: cannot be started: {error.strerror or error}") from error
    finally:
        if slave is not None:
            os.close(slave)
    out = master if master is not None else process.stdout.fileno() if process.stdout else -1
    return Child(process, out, master)


def _take_terminal() -> None:
    """In the new process: make its standard input the terminal that controls it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def open_terminal() -> tuple[int, int]:
    """A new terminal of the size of ours, which passes what is printed on as it is."""
    import pty
    import termios

    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    copy_window_size(master)
    return master, slave


def copy_window_size(terminal: int) -> None:
    """Give a terminal the size of the one we are shown on."""
    import fcntl
    import termios

    with contextlib.suppress(OSError, ValueError):
        size = fcntl.ioctl(sys.__stdout__.fileno() if sys.__stdout__ else 1, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def passing_keys(terminal: int, keyboard: int = 0) -> Generator[None]:
    """Pass each key on as it is pressed, while what is printed is still shown line by line."""
    import termios
    import tty

    threading.Thread(target=_pass_keys, args=(keyboard, terminal), daemon=True).start()
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
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _pass_keys(keyboard: int, terminal: int) -> None:
    with contextlib.suppress(OSError):
        while keys := os.read(keyboard, 1024):
            os.write(terminal, keys)
        os.write(terminal, END_OF_INPUT)


@contextlib.contextmanager
def forwarding(send: Callable[[int], None], *, shared: bool = True) -> Generator[None]:
    """Pass on the signals that we get, while the body runs in the main thread.

    Where the command shares our terminal, what that sends because of a key goes to both: it is not passed on again.
    """
    numbers = {number for name in FORWARDED if (number := getattr(signal, name, None)) is not None}
    keyboard = {getattr(signal, name) for name in KEYBOARD if shared and hasattr(signal, name)}
    has_info = hasattr(signal, "sigwaitinfo")

    def handle(number: int, frame: FrameType | None) -> None:
        if number not in keyboard or has_info or not _in_foreground():
            send(number)

    before = {number: signal.signal(number, handle) for number in numbers}
    if has_info:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        threading.Thread(target=_pass_on, args=(send, numbers, keyboard), daemon=True).start()
    try:
        yield
    finally:
        if has_info:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(send: Callable[[int], None], numbers: set[int], keyboard: set[int]) -> None:
    while True:
        info = signal.sigwaitinfo(numbers)
        from_terminal = info.si_code > 0  # the kernel sent it, no process did
        if info.si_signo not in keyboard or not from_terminal:
            send(info.si_signo)


def _in_foreground() -> bool:
    """Whether keys pressed on our terminal reach us, and so the command."""
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
