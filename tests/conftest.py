"""Settings that all tests share: their own store and cache, and signals that reach the processes they start.

`bytecode` is imported before what is worth keeping compiled, and `effort` before any test because it configures the
property tests.
"""

import atexit
import gc
import itertools
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import bytecode  # noqa: F401
import effort
import pytest


def pytest_configure() -> None:
    """Leave other scanners, work in the background and this machine's zone out; let children receive all signals.

    A child inherits a signal that this process was started to ignore but not a handler, so a handler that does nothing
    replaces "ignore". Otherwise, under `nohup` or after `&` in a script, tests that interrupt a child would wait
    forever.
    """
    os.environ["REREAD_KINGFISHER"] = os.environ["REREAD_BACKGROUND"] = "off"
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()
    for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A worker more than there are processors, because tests wait: for programs, for files, for pages."""
    return (os.cpu_count() or 1) + 1


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the property tests and those of pages: they take a sample."""
    if effort.in_browser(item):
        item.add_marker(effort.one_in(24))
    elif getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker(effort.sampled)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in the sample, unless tests were asked for by name."""
    if effort.SAMPLE and not config.option.keyword and not any("::" in word for word in config.args):
        left = effort.left_out(items)
        config.hook.pytest_deselected(items=left)
        without = {*left}
        items[:] = [item for item in items if item not in without]


def pytest_collection() -> None:
    """Collect no garbage while tests are collected."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude tests and modules from garbage collection: with them, each opening of sessions would take 0.3 s more."""
    gc.collect()
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)  # DuckDB complains of what is left when the process ends


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test away from the store and the cache of this machine.

    The folders are named and not made: most tests write to neither, and to make `tmp_path` for each takes longer than
    most tests do. The fixture `monkeypatch` is left to the tests: else what they patch would still be patched when
    `tmp_path` is deleted.
    """
    with _own_folders(tmp_path_factory):
        yield


@pytest.fixture(autouse=True, scope="session")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Do the same for what several tests share, which is made before `own_store`."""
    with _own_folders(tmp_path_factory):
        yield


@contextmanager
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    own = tmp_path_factory.getbasetemp() / f"own-{next(_numbers)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REREAD_HOME", str(own / "store"))
        patch.setenv("REREAD_CACHE", str(own / "cache"))
        yield


@pytest.fixture
def no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that cannot write large files would leave half of a module's bytecode, which can never be imported."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
