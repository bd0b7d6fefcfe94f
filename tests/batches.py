"""Tests over many files or rows, in batches: a test for each of thousands would take longer to schedule than to run.

By default a test reads a sample. Of the files of this repository it takes all, and a slow test one of three. Of others
it takes one of each kind, so that every scenario and every version is among them, and a slow test a part of these.
`REREAD_TESTS=all` reads each file, or a part of the other files if the test is slow; `thorough` reads each.
"""

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from effort import SAMPLE, THOROUGH, sampled

HERE = Path(__file__).parent
LARGER = Path(os.environ.get("REREAD_REAL_CLIENT") or "/nonexistent") / "data"
SIZE, OWN_SIZE = 40, 8
OWN_EVERY = 3
"""One of so many files of this repository is read by a slow test."""


def each(argument: str, cases: Sequence[Any], *, ids: Callable[[Any], str] = str, every: int = 1) -> Callable[..., Any]:
    """Return a decorator that runs a test for each case, in batches.

    A case is a path, or a tuple that begins with one. A slow test takes one case of so many that are outside.
    """
    own = [case for case in cases if _is_below(HERE, case)]
    others = some([case for case in cases if not _is_below(HERE, case)], every)
    own = own[::OWN_EVERY] if SAMPLE and every > 1 else own
    batches = [own[start : start + OWN_SIZE] for start in range(0, len(own), OWN_SIZE)]
    batches += [others[start : start + SIZE] for start in range(0, len(others), SIZE)]
    names = [ids(batch[0]) + (f" and {len(batch) - 1} more" if len(batch) > 1 else "") for batch in batches]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**arguments: Any) -> None:
            batch = arguments.pop(argument)
            skips = [skipped for case in batch if (skipped := _run(test, {**arguments, argument: case}, ids(case)))]
            if len(skips) == len(batch):
                raise skips[0]

        return sampled(pytest.mark.parametrize(argument, batches, ids=names)(run))

    return decorate


def table(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[..., Any]:
    """Return a decorator that runs a test for each row, as one test: for many rows of little work, which share nothing.

    It is used as `pytest.mark.parametrize` is. A failure names its row.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = list(rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(*instance: Any, **arguments: Any) -> None:
            skips: list[BaseException] = []
            for number, row in enumerate(rows):
                values = [row] if len(columns) == 1 else row
                given = arguments | dict(zip(columns, values, strict=True))
                skipped = _run(functools.partial(test, *instance), given, f"row {number}")
                skips += [skipped] if skipped else []
            if len(skips) == len(rows):
                raise skips[0]

        others = [one for name, one in signature.parameters.items() if name not in columns]
        run.__signature__ = signature.replace(parameters=others)  # pyright: ignore[reportAttributeAccessIssue]
        return run

    return decorate


def some(cases: Sequence[Any], every: int = 1) -> Sequence[Any]:
    """Return one case of so many: of all, or of one of each kind, or every case, as the effort is."""
    if THOROUGH:
        return cases
    return (_one_of_each_kind(cases) if SAMPLE else cases)[::every]


def part(cases: Iterable[Any], every: int) -> list[Any]:
    """Return one case of so many in a sample, else all: for slow tests that are much alike, marked with `sampled`."""
    return list(cases)[:: every if SAMPLE else 1]


def _one_of_each_kind(cases: Sequence[Any]) -> list[Any]:
    """Return a case for each scenario, of another version for each."""
    kinds: dict[str, list[Any]] = {}
    for case in cases:
        kinds.setdefault(_kind(case), []).append(case)
    return [alike[number % len(alike)] for number, alike in enumerate(kinds.values())]


def _kind(case: Any) -> str:
    """The scenario of a file of the real client (below `data/VERSION/SCENARIO`); any other is a kind of its own."""
    path = _path(case)
    return path.parts[len(LARGER.parts) + 1] if _is_below(LARGER, case) else str(path)


def _is_below(folder: Path, case: Any) -> bool:
    return str(_path(case)).startswith(f"{folder}{os.sep}")  # `parents` would take a second for all cases


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
