"""Killing what changes files, at any step. The process is forked: to start Python would take longer than the rest."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Collection
from typing import Any

CHANGES = ("os.link", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.utime")


def killed(act: Callable[[], object], step: int, place: object = "", events: Collection[str] = CHANGES) -> bool:
    """Do something in a child that is killed before its n-th such event at a place; False if it came to its end."""
    return end_of(act, lambda: _kill_at(step, str(place), events))


def end_of(act: Callable[[], object], prepare: Callable[[], object]) -> bool:
    """Prepare a child and do something in it; True if it was killed, False if it came to its end."""
    _, status = os.waitpid(_started(prepare, act), 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child has failed"
    return os.WIFSIGNALED(status)


def at_once(*acts: Callable[[], object]) -> None:
    """Do some things at the same time, each in a child of its own."""
    children = [_started(act) for act in acts]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(acts), "a child has failed"


def _started(*acts: Callable[[], object]) -> int:
    """Return the id of a child that does some things in turn, and ends whatever happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process may have threads, and none holds a lock
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        for act in acts:
            act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _kill_at(step: int, place: str, events: Collection[str]) -> None:
    left = step

    def count(event: str, arguments: Any) -> None:
        nonlocal left
        if event in events and place in str(arguments):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
