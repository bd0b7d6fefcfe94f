"""The cache file: what is kept, when it is rebuilt, and that it never raises."""

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reread.accounting.digest import UsageCache
from reread.disk import cache
from reread.disk.cache import CacheFile, CacheTable, FileState, Statement
from reread.facts.store import FactStore

WORDS = CacheTable("words", "word TEXT PRIMARY KEY, number INTEGER", 1)
OTHERS = CacheTable("others", "word TEXT PRIMARY KEY", 1)
STATE = FileState(1, 2, 3, 4)
INSERT = "REPLACE INTO words VALUES (?, ?)"
SELECT = "SELECT word, number FROM words ORDER BY word"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "folder"))
    return tmp_path / "folder" / cache.NAME


@contextmanager
def opened(*tables: CacheTable) -> Iterator[CacheFile]:
    with closing(CacheFile(*tables)) as file:
        yield file


def test_what_was_written_is_there_the_next_time(path: Path) -> None:
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1), ("two", 2)]))
    with opened(WORDS) as file:
        assert file.read(SELECT) == [("one", 1), ("two", 2)]
        assert file.read("SELECT number FROM words WHERE word = ?", "two") == [(2,)]
    assert path.exists()


def test_a_table_of_another_format_is_emptied_and_the_others_are_kept(path: Path) -> None:
    with opened(WORDS, OTHERS) as file:
        file.write(Statement(INSERT, [("one", 1)]), Statement("INSERT INTO others VALUES ('x')"))
    with opened(CacheTable("words", "word TEXT", 2)) as file:
        assert file.read("SELECT * FROM words") == []
    with opened(OTHERS) as file:
        assert file.read("SELECT * FROM others") == [("x",)]


def test_all_tables_share_one_file(path: Path) -> None:
    with closing(UsageCache()), closing(FactStore()) as store:
        assert store.is_lasting
    assert [file.name for file in path.parent.iterdir()] == [cache.NAME]


def test_tables_of_earlier_versions_are_dropped_with_all_that_they_said(path: Path) -> None:
    with opened(WORDS):
        pass
    with closing(sqlite3.connect(path)) as database, database:
        for name in cache.GONE:
            database.execute(f"CREATE TABLE {name} (path TEXT PRIMARY KEY, value BLOB)")
            database.execute(f"INSERT INTO {name} VALUES ('p', 'a secret')")
            database.execute("INSERT INTO formats VALUES (?, 9)", (name,))
    with opened(WORDS):
        assert b"a secret" in path.read_bytes(), "that version may go on"
    with opened(WORDS, OTHERS) as file:
        assert file.read("SELECT name FROM formats ORDER BY name") == [("others",), ("words",)]
    assert b"a secret" not in path.read_bytes()


def test_rows_that_sqlite_cannot_hold_are_left_out(path: Path) -> None:
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1), ("\udcff", 2), ("large", 1 << 63), ("least", -(1 << 63))]))
        assert file.read(SELECT) == [("least", -(1 << 63)), ("one", 1)]
        assert file.read("SELECT * FROM words WHERE word = ?", "\udcff") == []
        assert file.read("SELECT * FROM words WHERE number = ?", 1 << 63) == []


def test_a_transaction_that_fails_leaves_nothing(path: Path) -> None:
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1)]))
        file.write(Statement(INSERT, [("two", 2)]), Statement("INSERT INTO nowhere VALUES (1)"))
        assert file.read(SELECT) == []  # rebuilt: a missing table means that the file is broken
        file.write(Statement(INSERT, [("three", 3)]))
        assert file.read(SELECT) == [("three", 3)]


def test_a_query_that_fails_rebuilds_the_file(path: Path) -> None:
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1)]))
        assert file.read("SELECT * FROM nowhere") == []
        assert file.read(SELECT) == []
    with opened(WORDS) as file:
        assert file.read(SELECT) == []


@pytest.mark.parametrize("mark", ["application_id", "user_version"])
def test_a_file_of_another_program_or_layout_is_rebuilt(path: Path, mark: str) -> None:
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1)]))
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA {mark} = 77")
    with opened(WORDS) as file:
        assert file.read(SELECT) == []
        file.write(Statement(INSERT, [("two", 2)]))
    with opened(WORDS) as file:
        assert file.read(SELECT) == [("two", 2)]


def test_a_locked_file_is_done_without_and_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BUSY_SECONDS", 0.05)
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1)]))
        with closing(sqlite3.connect(path)) as database:
            database.execute("BEGIN EXCLUSIVE")
            file.write(Statement(INSERT, [("two", 2)]))
            assert file.read(SELECT) == []
            with opened(WORDS) as another:
                assert another.read(SELECT) == []
        assert file.read(SELECT) == [("one", 1)]


def test_a_commit_that_a_reader_blocks_is_rolled_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BUSY_SECONDS", 0.05)
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1)]))
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute(SELECT).fetchall()
            file.write(Statement(INSERT, [("two", 2)]))
        file.write(Statement(INSERT, [("three", 3)]))
        assert file.read(SELECT) == [("one", 1), ("three", 3)]


def test_a_folder_in_place_of_the_file_is_no_trouble(path: Path) -> None:
    path.mkdir(parents=True)
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("one", 1)]))
        assert file.read(SELECT) == []


def test_processes_that_create_the_file_at_once(path: Path) -> None:
    code = """
from reread.disk.cache import CacheFile, CacheTable, Statement
file = CacheFile(CacheTable("words", "word TEXT PRIMARY KEY, number INTEGER", 1))
for n in range(20):
    file.write(Statement("INSERT OR IGNORE INTO words VALUES (?, ?)", [(f"{n:03}", n)]))
print(len(file.read("SELECT * FROM words")))
"""
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert {run.communicate()[0].strip() for run in runs} == {"20"}
    assert {run.returncode for run in runs} == {0}


@pytest.mark.skipif(sys.platform == "win32", reason="no permission bits")
def test_nobody_else_can_read_the_cache(path: Path) -> None:
    with opened(WORDS):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_forgotten_is_overwritten(path: Path) -> None:
    with opened(WORDS) as file:
        file.write(Statement(INSERT, [("a secret word", 1)]))
        assert b"a secret word" in path.read_bytes()
        file.write(Statement("DELETE FROM words"))
    assert b"a secret word" not in path.read_bytes()
