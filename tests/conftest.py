"""Settings that all tests share: their own store and cache, and signals that reach the processes they start.

`making` is imported before any test because it configures the property tests.
"""

import signal
from pathlib import Path

import making  # noqa: F401
import pytest


def pytest_configure() -> None:
    """Let child processes receive the signals that this process was started to ignore.

    A child inherits an ignored signal but not a handler, so a handler that does nothing replaces "ignore". Otherwise,
    under `nohup` or after `&` in a script, tests that interrupt a child would wait forever.
    """
    for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the store and the cache of this machine."""
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that cannot write large files would leave half of a module's bytecode, which can never be imported."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
