"""The cache of digests: which files are read again, and what happens if the cache is broken."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.accounting import collect, file_scan, workers
from reread.accounting.digest import UsageCache
from reread.accounting.file_scan import ReadResult
from reread.accounting.scan import ReadBuffer, Scanner
from reread.disk import cache, layout
from reread.disk.derived_cache import DerivedValue
from reread.render.report_table import report_lines
from reread.render.text_table import LOUD


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache."""
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.delenv("REREAD_KEEP_DELETED", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for session in "ab":
        write(tmp_path / "tree" / "projects" / "p" / f"{session}.jsonl", row(session, 1), row(session, 2))
    return tmp_path / "tree"


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The offsets at which files were read."""
    found: list[int] = []

    class Spy(Scanner):
        def free_space(self) -> memoryview:
            if not self.__dict__.setdefault("started", False):
                found.append(self.offset)
                self.started = True
            return super().free_space()

    monkeypatch.setattr(file_scan, "Scanner", Spy)
    return found


def cached_files() -> dict[str, DerivedValue]:
    with closing(UsageCache()) as usage_cache:
        return usage_cache.files()


def row(session: str, number: int, output: int = 1) -> str:
    message = {"id": f"m{number}-{session}", "model": "claude-opus-5-5", "stop_reason": "end_turn"}
    usage = {"usage": {"input_tokens": 1, "output_tokens": output}}
    line = {"type": "assistant", "sessionId": session, "requestId": f"r{number}-{session}", "message": message | usage}
    return json.dumps({**line, "timestamp": f"2026-11-10T10:{number:02}:00Z"}) + "\n"


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def output(tree: Path, **options: Any) -> int:
    return reread.usage(root=tree, **options).totals.output_tokens


def test_unchanged_files_are_not_read_again(tree: Path, starts: list[int]) -> None:
    assert output(tree) == 4
    assert len(starts) == 2
    assert output(tree, by="model,week") == 4
    assert output(tree, by="block") == 4
    assert len(starts) == 2


def test_a_file_that_grew_is_read_from_where_it_ended(tree: Path, starts: list[int]) -> None:
    path = tree / "projects/p/a.jsonl"
    output(tree)
    size = path.stat().st_size
    append(path, row("a", 3, 10))
    assert output(tree) == 14
    assert starts[2:] == [size]


def test_an_incomplete_last_line_is_read_again_when_it_is_complete(tree: Path, starts: list[int]) -> None:
    path = tree / "projects/p/a.jsonl"
    whole = row("a", 3, 10)
    append(path, whole[:-20])
    assert output(tree) == 4
    append(path, whole[-20:-1])
    assert output(tree) == 14
    assert output(tree) == 14
    append(path, "\n" + row("a", 4, 100))
    assert output(tree) == 114
    assert output(tree) == 114


def test_a_rewritten_file_is_read_from_the_start(tree: Path, starts: list[int]) -> None:
    path = tree / "projects/p/a.jsonl"
    output(tree)
    write(path, row("a", 1, 5), row("a", 2, 6), row("a", 3, 7))
    assert output(tree) == 20
    assert starts[2:] == [0]


def test_a_shorter_file_is_read_from_the_start(tree: Path) -> None:
    output(tree)
    write(tree / "projects/p/a.jsonl", row("a", 1, 5))
    assert output(tree) == 7


def test_a_file_of_the_same_size_is_read_again_if_its_time_changed(tree: Path) -> None:
    path = tree / "projects/p/a.jsonl"
    output(tree)
    write(path, row("a", 1, 2), row("a", 2, 3))
    os.utime(path, ns=(1, 1))
    assert output(tree) == 7


def test_another_file_in_its_place_is_read_from_the_start(tree: Path, starts: list[int]) -> None:
    path = tree / "projects/p/a.jsonl"
    output(tree)
    other = tree / "other"
    write(other, row("a", 1), row("a", 2), row("a", 3, 10))
    other.replace(path)
    assert output(tree) == 14
    assert starts[2:] == [0]


def test_a_deleted_file_is_dropped(tree: Path) -> None:
    output(tree)
    (tree / "projects/p/a.jsonl").unlink()
    assert output(tree) == 2
    assert output(tree, keep_deleted=True) == 2


def test_a_deleted_file_is_kept_on_request(tree: Path) -> None:
    output(tree)
    (tree / "projects/p/a.jsonl").unlink()
    assert output(tree, keep_deleted=True) == 4
    assert output(tree, keep_deleted=True) == 4
    assert reread.usage(tree, keep_deleted=True).totals.output_tokens == 4
    assert output(tree) == 2


def test_files_of_other_folders_are_not_dropped(tree: Path, tmp_path: Path) -> None:
    output(tree)
    write(tmp_path / "more/projects/p/c.jsonl", row("c", 1))
    assert output(tmp_path / "more") == 1
    assert len(cached_files()) == 3


def test_without_a_cache_nothing_is_stored(tree: Path, folder: Path) -> None:
    assert output(tree, cache=False) == 4
    assert not folder.exists()


def test_a_large_session_is_counted_from_the_cache_and_not_folded(
    tree: Path, starts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "CACHED_FROM", 100)
    path = tree / "projects/p/a.jsonl"
    assert output(tree) == 4
    session = reread.open(path)
    assert session.usage.output_tokens == 2
    assert "folding" not in vars(session)
    assert len(starts) == 2
    append(path, row("a", 3, 10))
    assert session.usage.output_tokens == 12
    assert len(starts) == 3
    path.unlink()
    assert session.usage.output_tokens == 12


def test_a_small_session_uses_no_cache(tree: Path, folder: Path) -> None:
    assert reread.open(tree / "projects/p/a.jsonl").usage.output_tokens == 2
    assert not folder.exists()


def test_the_result_for_one_folder_is_kept_when_another_is_counted(tree: Path, tmp_path: Path) -> None:
    output(tree)
    write(tmp_path / "more/projects/p/c.jsonl", row("c", 1))
    output(tmp_path / "more")
    with closing(sqlite3.connect(cache.cache_folder() / cache.NAME)) as database:
        assert database.execute("SELECT count(*) FROM scope").fetchone() == (2,)


def test_a_file_that_cannot_be_read_is_reported(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = str(tree / "projects/p/a.jsonl")
    read = workers.read

    def fail(job: workers.ScanJob, buffer: ReadBuffer | None = None) -> ReadResult:
        if job.path == unreadable:
            raise PermissionError
        return read(job, buffer)

    monkeypatch.setattr(workers, "read", fail)
    for _ in range(2):
        report = reread.usage(root=tree)
        assert (report.totals.output_tokens, report.unread) == (2, (unreadable,))
    notes = [text for style, text in report_lines(report) if style == LOUD]
    assert unreadable in notes[0]
    monkeypatch.undo()
    assert reread.usage(root=tree, cache=False).unread == ()


BREAKAGES = {
    "garbage": lambda path: path.write_bytes(b"not a database at all" * 99),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "overwritten": lambda path: path.write_bytes(path.read_bytes()[:2000] + b"\xff" * 9000 + path.read_bytes()[11000:]),
    "other tables": lambda path: (path.unlink(), run_sql(path, "CREATE TABLE mine (x)")),
    "other format": lambda path: run_sql(path, "PRAGMA user_version = 999"),
    "no digests": lambda path: run_sql(path, "DROP TABLE usage_digests", "DELETE FROM settled"),
    "invalid digests": lambda path: run_sql(path, "UPDATE usage_digests SET value = x'00ff'", "DELETE FROM settled"),
    "no responses": lambda path: run_sql(path, "DROP TABLE response"),
    "other columns": lambda path: run_sql(path, "ALTER TABLE origin ADD COLUMN more TEXT"),
}


def run_sql(path: Path, *statements: str) -> None:
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_or_foreign_cache_is_rebuilt_silently(tree: Path, folder: Path, breakage: str) -> None:
    for session in "cdefghijklmnop":
        write(tree / "projects/p" / f"{session}.jsonl", *(row(session, n) for n in range(40)))
    expected = output(tree)
    BREAKAGES[breakage](folder / cache.NAME)
    assert output(tree) == expected
    assert output(tree) == expected
    assert output(tree, by="block") == expected
    assert len(cached_files()) == 16


def test_a_cache_folder_that_cannot_be_created_is_ignored(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "file" / "below"))
    assert output(tree) == 4


def test_two_runs_at_once(tree: Path, folder: Path) -> None:
    for session in "cdefghijklmnop":
        write(tree / "projects/p" / f"{session}.jsonl", *(row(session, n) for n in range(100)))
    code = f"import reread; print(reread.usage(root={str(tree)!r}).totals.output_tokens)"
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert {run.communicate()[0].strip() for run in runs} == {"1404"}
    assert all(run.returncode == 0 for run in runs)
    assert output(tree) == 1404


def test_a_locked_cache_is_not_used(tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output(tree)
    append(tree / "projects/p/a.jsonl", row("a", 3, 10))
    monkeypatch.setattr(cache, "BUSY_SECONDS", 0.05)
    database = sqlite3.connect(folder / cache.NAME)
    database.execute("BEGIN EXCLUSIVE")
    assert output(tree) == 14
    database.rollback()
    database.close()
    assert output(tree) == 14


def test_many_bytes_are_read_by_several_processes(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for session in "cdefgh":
        write(tree / "projects/p" / f"{session}.jsonl", *(row(session, n) for n in range(50)))
    expected = reread.usage(root=tree, by="session", cache=False)
    monkeypatch.setattr(workers, "process_count", lambda size: 3)
    assert reread.usage(root=tree, by="session", cache=False) == expected
    assert reread.usage(root=tree, by="session") == expected
    assert len(cached_files()) == 8


def test_one_large_file_is_read_by_one_process(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "process_count", lambda size: 2)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("another process was started"))
    assert reread.usage([tree / "projects/p/a.jsonl"], cache=False).totals.responses


def test_the_files_of_a_process_that_died_are_read_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "process_count", lambda size: 2)
    monkeypatch.setattr(workers, "send_results", _die)
    assert output(tree, cache=False) == 4


def _die(*_: Any) -> None:
    os._exit(1)


@pytest.mark.skipif(sys.platform != "linux", reason="another folder elsewhere")
def test_folders_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    monkeypatch.delenv("REREAD_CACHE")
    monkeypatch.delenv("REREAD_HOME", raising=False)
    for value in ("/somewhere/else", "", "not/absolute"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("XDG_DATA_HOME", value)
        assert cache.cache_folder() == Path(platformdirs.user_cache_dir("reread", appauthor=False))
        assert layout.default_store() == Path(platformdirs.user_data_dir("reread", appauthor=False))


def test_folders_are_looked_at_once_for_many_files(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        write(tree / f"projects/p{number % 4}/s{number}.jsonl", row(f"s{number}", 1))
    looked = list[str]()
    original = cache.single_state_test
    monkeypatch.setattr(
        cache, "single_state_test", lambda folder, around: looked.append(folder) or original(folder, around)
    )
    assert reread.usage(root=tree).totals.responses == 44
    assert len(looked) == len(set(looked)) == 5
