"""The catalogue: whether a value still belongs to its file, and what is forgotten."""

import os
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from making import jsonl, reply, told, use, user

import reread
from reread.base.paths import SAMPLES
from reread.catalog import headers
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.derived_cache import PROOF, DerivedValue, DerivedValues, proof_at, values_table
from reread.disk.file_set import gone_files
from reread.index.hit_locations import ConversationLocations, LocationsTable, forget_places


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def derive(path: Path, offset: int) -> DerivedValue:
    data = path.read_bytes()
    return DerivedValue(str(path), FileState.at(path), offset, proof_at(reader(data), offset), b"value")


def reader(data: bytes):
    return lambda offset, length: data[offset : offset + length]


def is_continued(derived: DerivedValue, path: Path) -> bool:
    return derived.is_continued(FileState.at(path), reader(path.read_bytes()))


def test_a_value_covers_the_beginning_of_a_file_that_grew(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"line\n" * 100 + b"torn")
    derived = derive(path, 500)
    assert len(derived.proof) == PROOF
    assert is_continued(derived, path)
    with path.open("ab") as file:
        file.write(b" end\nmore\n")
    assert is_continued(derived, path)


@pytest.mark.parametrize("content", [b"line\n" * 90, b"line\n" * 99 + b"LINE\n", b"else\n" * 150, b""])
def test_a_value_does_not_cover_a_file_that_was_rewritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"line\n" * 100)
    derived = derive(path, 500)
    path.write_bytes(content)
    os.utime(path, ns=(0, derived.state.modified + 1))
    assert not is_continued(derived, path)


def test_a_value_does_not_cover_another_file_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"line\n" * 100)
    derived = derive(path, 500)
    (tmp_path / "b").write_bytes(b"line\n" * 200)
    (tmp_path / "b").replace(path)
    assert not is_continued(derived, path)


def test_a_value_has_the_last_state_of_its_file() -> None:
    with closing(DerivedValues(values_table("values_", format=1))) as values:
        first, second = FileState(1, 2, 3, 4), FileState(1, 2, 3, 5)
        for state, value in ((first, b"first"), (second, b"second")):
            values.save([DerivedValue("a", state, 3, b"", value)])
            assert (values.derived()["a"].state, values.files()["a"].state) == (state, state)
            assert values.derived()["a"].value == values.derived(["a"])["a"].value == values.values(["a"])["a"] == value
        values.save([], ["a"])
        assert values.files() == {}


def test_places_are_of_one_state_of_a_file_and_go_with_its_facts(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"line\n")
    place = ConversationLocations(None, (None, None), b"", b"", b"", [], b"", b"", [], [])
    with closing(LocationsTable()) as table:
        table.add(str(path), FileState.at(path), place)
        table.flush()
        assert table.has(str(path), str(path)) and table.read(str(path), str(path)) is not None
        path.write_bytes(b"another line\n")
        assert not table.has(str(path), str(path)) and table.read(str(path), str(path)) is None
        table.add(str(path), FileState.at(path), place)
        table.flush()
        forget_places([str(path)])
        assert not table.has(str(path), str(path))


def test_gone_files_are_those_below_the_folders_that_no_longer_exist(tmp_path: Path) -> None:
    here = tmp_path / "here" / "a"
    here.parent.mkdir()
    here.touch()
    known = [str(here), f"{tmp_path}/here/b", f"{tmp_path}/heretic/c", f"{tmp_path}/here/d"]
    assert gone_files(known, {f"{tmp_path}/here/d"}, [str(tmp_path / "here")]) == [f"{tmp_path}/here/b"]


def test_a_header_is_read_once_and_again_when_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("First question"))))
    read: list[str] = []
    read_header = headers.read_header
    monkeypatch.setattr(headers, "read_header", lambda path: read.append(str(path)) or read_header(path))

    def titles() -> list[str]:
        return [header.title for header in reread.sessions(root=tmp_path / "root")]

    assert titles() == titles() == ["First question"]
    assert read == [str(path)]
    path.write_bytes(jsonl(*told(user("Another question"))))
    assert titles() == ["Another question"]
    assert len(read) == 2


def test_the_header_of_a_deleted_session_is_forgotten(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("A secret question"))))
    (path.parent / "b.jsonl").write_bytes(jsonl(*told(user("Other"))))
    assert len(list(reread.sessions(root=tmp_path / "root"))) == 2
    assert b"A secret question" in (cache / "cache.sqlite").read_bytes()
    path.unlink()
    assert len(list(reread.sessions(root=tmp_path / "root"))) == 1
    assert b"A secret question" not in (cache / "cache.sqlite").read_bytes()


def test_a_header_that_is_known_is_that_of_the_file_as_long_as_its_row_is_whole(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    said = told(user("Hello", timestamp="2026-11-19T10:00:00.123456Z", gitBranch="main", version="2.1.0"))
    path.write_bytes(jsonl(*said))
    (path.parent / "b.jsonl").touch()
    roots = [tmp_path / "root", SAMPLES]
    files = list(layout.session_paths(roots))
    fresh = [headers.read_header(file) for file in files]
    assert len(fresh) > 3 and any(header.captured for header in fresh)
    assert list(headers.read_headers(files)) == fresh
    read: list[str] = []
    read_header = headers.read_header
    monkeypatch.setattr(headers, "read_header", lambda path: read.append(str(path)) or read_header(path))
    assert list(headers.read_headers(files)) == fresh and not read
    damages = ("sessions = '['", f"updated = {1 << 62}", "id = NULL", "captured = 7")
    for change in (*damages, "title = x'00'", "captured = 'maybe'", "started = 'x'"):
        with closing(sqlite3.connect(cache / "cache.sqlite")) as database, suppress(sqlite3.IntegrityError), database:
            database.execute(f"UPDATE header SET {change} WHERE file = (SELECT id FROM file WHERE path = '{path}')")
        assert list(headers.read_headers(files)) == fresh, change
        assert read == [str(path)] or (change not in damages and not read), "a value of another type is refused"
        read.clear()


def test_what_is_listed_first_is_still_known_once_facts_are(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "root/projects/p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("First question"))))
    for ask in (reread.sessions, reread.stats, reread.sessions):
        assert len(list(ask(root=tmp_path / "root"))) in (0, 1)
        with closing(sqlite3.connect(cache / "cache.sqlite")) as database:
            assert database.execute("SELECT title FROM header").fetchall() == [("First question",)], ask


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode")
def test_what_is_known_of_a_file_whose_name_is_not_unicode_is_forgotten_with_it(tmp_path: Path, cache: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/root/projects/p/\xff.jsonl"))
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("A question"), reply(use("c1", command="secret-command run")))))
    assert reread.stats(root=tmp_path / "root").totals.calls == 1
    assert b"secret-command run" in (cache / "cache.sqlite").read_bytes()
    with closing(DerivedValues(values_table("values_", format=1))) as values:
        assert values.forget(lambda name: name == str(path))
    assert b"secret-command run" not in (cache / "cache.sqlite").read_bytes()
