"""Every real transcript: the library, Parquet and DuckDB have the same figures, and so has a folder that two wrote."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import reread
from reread.dataset.place import LocalPlace
from reread.dataset.schema import TABLES
from reread.dataset.sql import Database
from reread.reports.usage_report import FIGURES, figures

REAL = Path(os.environ.get("REREAD_REAL_CLIENT", "")) / "data"
FOLDERS = sorted(REAL.iterdir()) if os.environ.get("REREAD_REAL_CLIENT") else []
OWN = sorted(path for path in (Path(__file__).parents[1] / "tests" / "real").iterdir() if path.is_dir())


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine, a store and a cache of the test's own."""
    for name, value in {"REREAD_MACHINE": "here", "REREAD_HOME": "store", "REREAD_CACHE": "cache"}.items():
        monkeypatch.setenv(name, value if name == "REREAD_MACHINE" else str(tmp_path / value))
    yield


@pytest.mark.parametrize("folder", [*OWN, *FOLDERS], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_library_parquet_and_duckdb_agree(folder: Path, tmp_path: Path) -> None:
    read = reread.tables(root=folder, text=True)
    report = read.write(tmp_path / "out")
    written = reread.tables(tmp_path / "out", text=True)
    with closing(Database(LocalPlace(tmp_path / "out"))) as database:
        for name in TABLES:
            given, stored = read[name].read_all(), written[name].read_all()
            [[asked]] = database.query(f"select count(*) from {name}").rows
            assert given.num_rows == stored.num_rows == report.rows[name] == asked, name
            assert Counter(map(repr, stored.to_pylist())) == Counter(map(repr, given.to_pylist())), name
        [sums] = database.query(f"select {', '.join(f'sum({name})' for name in FIGURES)} from usage").rows
        expected = figures(reread.usage(root=folder, cache=False).totals)
        for name, value in zip(FIGURES, sums, strict=True):
            wanted = expected[name]
            assert value == wanted or float(value or 0) == pytest.approx(wanted or 0), name
        found = Counter(database.query("select path, id, state from calls where agent is null").rows)
    calls: Counter[tuple[str, str, str]] = Counter()
    for header in reread.sessions(root=folder):
        session = reread.open(header)
        session.stop_merging()
        calls.update((str(session.path), call.id, call.state) for call in session.calls)
    assert found == calls
    assert report.unread == ()
