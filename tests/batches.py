"""Tests over many files: each file of this repository is a test, others are tested in batches.

A test for each of thousands of files would take longer to schedule than to run. Slow tests run for a part of the files,
spread evenly over all; `REREAD_HYPOTHESIS=thorough` runs them for each.
"""

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SIZE = 40
THOROUGH = os.environ.get("REREAD_HYPOTHESIS") == "thorough"
"""True if slow tests are to run for every file."""


def each(argument: str, cases: Sequence[Any], *, ids: Callable[[Any], str] = str, every: int = 1) -> Callable[..., Any]:
    """Return a decorator that runs a test for each case; those outside of this folder in batches.

    A case is a path, or a tuple that begins with one. A slow test takes one case of so many that are outside.
    """
    own = [case for case in cases if HERE in _path(case).parents]
    others = some([case for case in cases if HERE not in _path(case).parents], every)
    batches = [[case] for case in own] + [others[start : start + SIZE] for start in range(0, len(others), SIZE)]
    names = [ids(batch[0]) + (f" and {len(batch) - 1} more" if len(batch) > 1 else "") for batch in batches]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**arguments: Any) -> None:
            batch = arguments.pop(argument)
            skips = [skipped for case in batch if (skipped := _run(test, {**arguments, argument: case}, ids(case)))]
            if len(skips) == len(batch):
                raise skips[0]

        return pytest.mark.parametrize(argument, batches, ids=names)(run)

    return decorate


def some(cases: Sequence[Any], every: int) -> Sequence[Any]:
    """Return one case of so many, or all if that was asked for."""
    return cases if THOROUGH else cases[::every]


def _run(test: Callable[..., None], arguments: dict[str, Any], name: str) -> BaseException | None:
    """Run a test for one case, and return the reason if it was skipped; a failure names the case."""
    try:
        test(**arguments)
    except pytest.skip.Exception as skipped:
        return skipped
    except BaseException as error:
        error.add_note(f"in {name}")
        raise
    return None


def _path(case: Any) -> Path:
    return case[0] if isinstance(case, tuple) else case
