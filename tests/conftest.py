"""What every test has: a store and a cache of its own, so that nothing of the machine is read or written.

`making` is imported before any test is, because it says how property tests are run.
"""

from pathlib import Path

import making  # noqa: F401
import pytest


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
