"""What every test has: a store and a cache of its own, so that nothing of the machine is read or written."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
