"""One pass over new bytes: what a search reads is counted at once, and nothing is read for one of them alone."""

from pathlib import Path
from typing import Any

import pytest
from making import jsonl, told, user

import reread
from reread.accounting import workers
from reread.disk.derived_cache import PROOF
from reread.disk.file_set import find_files
from reread.disk.sources import FileSource
from reread.index.store import index_folder
from reread.index.update import LEAST, refresh


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "projects/p").mkdir(parents=True)
    return tmp_path


def write(root: Path, *records: Any) -> Path:
    path = root / "projects/p/a.jsonl"
    path.write_bytes(jsonl(*told(*records)))
    return path


def usage_row(number: int) -> bytes:
    message = {"id": f"m{number}", "model": "claude-opus-5-5", "content": [], "stop_reason": "end_turn"}
    usage = {"usage": {"input_tokens": 1, "output_tokens": number}}
    row = {"type": "assistant", "sessionId": "s", "requestId": f"r{number}", "timestamp": "2026-11-10T10:00:00Z"}
    return jsonl({**row, "uuid": f"u{number}", "message": message | usage})


def test_what_a_search_reads_is_counted_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, user("needle"))
    with path.open("ab") as file:
        file.write(usage_row(3))
    refresh(find_files([root]))
    with path.open("ab") as file:
        file.write(usage_row(4) + usage_row(5)[:-9])  # the last line is still being written
    refresh(find_files([root]))
    with path.open("ab") as file:
        file.write(usage_row(5)[-9:])
    refresh(find_files([root]))
    expected = reread.usage(root=root, cache=False).rows

    def fail(*_: object) -> Any:
        raise AssertionError("read again")

    monkeypatch.setattr(workers, "read", fail)
    assert reread.usage(root=root).rows == expected
    assert sum(row.usage.output_tokens for row in expected) == 12


def test_a_search_reads_nothing_for_usage_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, user("needle " * 100))
    refresh(find_files([root]))
    (index_folder().parent / "cache.sqlite").unlink()
    size, read = path.stat().st_size, list[int]()
    with path.open("ab") as file:
        file.write(usage_row(3))
    original = FileSource.read

    def spy(source: FileSource, offset: int, length: int) -> bytes:
        read.append(offset)
        return original(source, offset, length)

    with monkeypatch.context() as patch:
        patch.setattr(FileSource, "read", spy)
        refresh(find_files([root]))
    assert min(read) >= size - PROOF
    assert reread.usage(root=root).totals.output_tokens == 3


def lines_found(root: Path, query: str, **options: Any) -> list[int]:
    return [hit.line for hit in reread.search(query, root=root, **options)]


def test_a_few_new_lines_are_found_without_a_commit(root: Path) -> None:
    path = write(root, user("needle one"), user("hay"))
    with path.open("ab") as file:
        file.write(jsonl(*told(user("needle torn")))[:-1])
    assert sorted(lines_found(root, "needle", order="newest")) == [1, 3]
    before = (index_folder() / "meta.json").read_bytes()
    with path.open("ab") as file:
        file.write(b"\n" + jsonl(*told(user("needle two"), user("needleThree"))))
    assert sorted(lines_found(root, "needle")) == [1, 3, 4, 5]
    assert sorted(lines_found(root, "need.e", regex=True)) == [1, 3, 4, 5]
    assert sorted(lines_found(root, "needle -torn in:prompts session:a", order="newest")) == [1, 4, 5]
    write(root, user("hay"), user("needle anew"))
    assert lines_found(root, "needle") == [2]
    assert (index_folder() / "meta.json").read_bytes() == before
    refresh(find_files([root]))
    assert (index_folder() / "meta.json").read_bytes() != before
    assert lines_found(root, "needle") == [2]


def test_much_that_is_new_is_indexed(root: Path) -> None:
    path = write(root, user("needle"))
    assert lines_found(root, "needle") == [1]
    before = (index_folder() / "meta.json").read_bytes()
    with path.open("ab") as file:
        file.write(jsonl(*told(user("needle " + "hay " * (LEAST // 4)))))
    assert sorted(lines_found(root, "needle")) == [1, 2]
    assert (index_folder() / "meta.json").read_bytes() != before
