"""Run the command line as a process, away from this machine's own sessions.

The process is forked from this one, which has imported the program already; to start Python for each call would take
most of the tests' time. What depends on how Python starts is really started.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result
from limits import PATIENCE

from reread.__main__ import main
from reread.cli import reread

REREAD = [str(Path(sys.executable).with_name("reread"))]
LIMIT_SECONDS = 150
STARTING = ("PYTHON", "LC_", "LANG")
"""What Python reads when it starts: a call that sets one is not forked."""


def cli(*words: object, input: str | None = None) -> Result:
    """Run `reread` in this process. An exception that is no exit is raised."""
    return CliRunner().invoke(reread, [str(word) for word in words], input=input, catch_exceptions=False)


def offered(*words: str) -> list[str]:
    """Return what the shell offers for the last of these words."""
    request = {"_REREAD_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return CliRunner().invoke(reread, prog_name="reread", env=request).output.split()


def run(
    *words: str, stdin: bytes | None = None, home: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `reread` with these words."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "COLUMNS"},
        "HOME": str(home or "/nonexistent"),
        "CLAUDE_CONFIG_DIR": str(home or "/nonexistent"),
        **(env or {}),
    }
    start = started if any(name.startswith(STARTING) for name in env or ()) else forked
    done = start(words, stdin=stdin, env=environment)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def started(
    words: Sequence[str], *, stdin: bytes | None = None, env: Mapping[str, str], cwd: Path | str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Start the installed program."""
    return subprocess.run(
        [*REREAD, *words], input=stdin, capture_output=True, env=env, cwd=cwd, check=False, timeout=LIMIT_SECONDS
    )


def forked(
    words: Sequence[str], *, stdin: bytes | None = None, env: Mapping[str, str], cwd: Path | str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a child of this process; where there is no fork, start it."""
    if not hasattr(os, "fork"):
        return started(words, stdin=stdin, env=env, cwd=cwd)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin or b"")
        given.seek(0)
        child = fork_reread(words, (given.fileno(), out.fileno(), err.fileno()), env=env, cwd=cwd)
        late = threading.Timer(LIMIT_SECONDS, os.kill, (child, 9))
        late.start()
        try:
            _, status = os.waitpid(child, 0)
        except BaseException:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise
        finally:
            late.cancel()
        out.seek(0)
        err.seek(0)
        code = os.waitstatus_to_exitcode(status)
        return subprocess.CompletedProcess([*REREAD, *words], code, out.read(), err.read())


def in_terminal(words: Sequence[str], keys: Sequence[str] = (), *, env: Mapping[str, str]) -> tuple[str, int]:
    """Run the program in a terminal, and press a key each time it asks for one; return what it printed and its code."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    leader, follower = pty.openpty()
    child = fork_reread(words, (follower,) * 3, env=env)
    os.close(follower)
    late = threading.Timer(PATIENCE, os.kill, (child, signal.SIGKILL))
    late.start()
    printed, pressed = b"", 0
    try:
        with suppress(OSError):  # Linux says so when the other end is closed
            while True:
                if not _readable(leader):
                    # A key is asked for; one that comes before the program listens for single keys would be lost.
                    waits = printed.count(b"[q]uit") > pressed < len(keys)
                    if waits and not termios.tcgetattr(leader)[3] & termios.ICANON:
                        os.write(leader, keys[pressed].encode())
                        pressed += 1
                elif piece := os.read(leader, 1 << 16):
                    printed += piece
                else:
                    break
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
        late.cancel()
        os.close(leader)
    return printed.decode("utf-8", "replace"), os.waitstatus_to_exitcode(status)


def _readable(descriptor: int) -> bool:
    ready = select.poll()  # `select` refuses large descriptors
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(50))


def fork_reread(
    words: Sequence[str], streams: Sequence[int], *, env: Mapping[str, str], cwd: Path | str | None = None
) -> int:
    """Run the program in a child with these descriptors for its input, output and errors; return the child's id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads, and none holds a lock
        child = os.fork()
    if child == 0:
        _be_reread(words, streams, env, cwd)
    return child


def _be_reread(
    words: Sequence[str], streams: Sequence[int], env: Mapping[str, str], cwd: Path | str | None
) -> NoReturn:
    """Become the program: its streams, its environment, its words; and end as it does."""
    code = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        own = dict(env)
        os.environ.clear()
        os.environ.update(own)
        time.tzset()
        if cwd is not None:
            os.chdir(cwd)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.argv = [*REREAD, *words]
        warnings.simplefilter("ignore")
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
