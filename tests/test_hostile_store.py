"""What reread derives and keeps, if someone else has put something in its place: it is dropped, and made anew."""

import os
import re
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import cli
from damage import replace_bytes
from effort import SAMPLE, one_in, sampled
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread.base.paths import SAMPLES
from reread.disk import cache
from reread.disk.cache import STRICT_VERSION, CacheFile, CacheTable, Statement
from reread.disk.derived_cache import decompressed
from reread.disk.fact_table import ANY, BLOB, REAL, TEXT
from reread.facts.schema import TABLES
from reread.index import segments, store
from reread.session import fold_columns, saved_fold
from reread.session import loader as loading
from reread.session.saved_fold import fold_path
from reread.session.session import threads_of
from reread.storage import frames, safe_open
from reread.storage.frames import BadFrame, pack, unpack
from reread.storage.safe_open import NotRegular, make_own_folder, open_own, read_own

ID = "11111111-1111-4111-8111-111111111111"
linux = pytest.mark.skipif(not hasattr(os, "geteuid") or sys.platform == "win32", reason="owners are those of Unix")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a session, and nothing derived yet."""
    file = str(tmp_path / "a.py")
    Path(file).write_text("one\n")
    write = use("w", "Write", file_path=file, content="one\n")
    response = reply("needle", write)
    response["message"]["usage"] = {"input_tokens": 5, "output_tokens": 7}
    created = {"type": "create", "filePath": file, "content": "one\n", "structuredPatch": []}
    path = tmp_path / f"claude/projects/-p/{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*told(user("hello", cwd="/p"), response, answer(result("w", "done"), data=created))))
    for name in ("cache", "store"):
        monkeypatch.setenv({"cache": "REREAD_CACHE", "store": "REREAD_HOME"}[name], str(tmp_path / name))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path


def answers(home: Path) -> list[str]:
    """Return what everything that uses the cache answers."""
    report = reread.stats()
    return [
        repr([header.title for header in reread.sessions()]),
        repr(reread.usage().totals),
        repr([hit.match for hit in reread.search("needle")]),
        repr((report.sessions, len(report.items), report.unread)),
        repr([line.session for line in reread.blame(home / "a.py")]),
    ]


BOMB = zlib.compress(bytes(1 << 20))
WRONG: tuple[object, ...] = (
    None,
    7,
    -(2**63),
    1.5e300,
    "text",
    b"",
    b"\xff\x00",
    BOMB,
    b"\xc1",
)


FACTS = {table.name for table in TABLES}


def spoil(value: object, *, facts: bool) -> set[tuple[str, str]]:
    """Put a wrong value into every column of every table of facts, or of every other one; return those that have it."""
    taken = set[tuple[str, str]]()
    with closing(sqlite3.connect(cache.cache_folder() / cache.NAME)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        spoiled = tables & FACTS if facts else tables - FACTS - {cache.FORMATS.name}
        assert len(spoiled) > 1
        for table in spoiled:
            for _, column, *_ in database.execute(f"PRAGMA table_info({table})").fetchall()[1:]:
                with suppress(*([sqlite3.IntegrityError] if facts else [])):
                    changed = database.execute(f"UPDATE {table} SET {column} = ?", (value,)).rowcount
                    taken |= {(table, column)} if changed else set()
        database.commit()
    return taken


def test_values_of_any_type_are_derived_again(home: Path) -> None:
    wanted = answers(home)
    for value in WRONG:
        spoil(value, facts=False)
        assert answers(home) == wanted, value
        assert answers(home) == wanted


STRICT = pytest.mark.skipif(sqlite3.sqlite_version_info < STRICT_VERSION, reason="this SQLite has no strict tables")


@STRICT
@pytest.mark.parametrize(
    ("value", "takes"), [("text", {TEXT, ANY}), (b"\xff\x00", {BLOB, ANY}), (1.5e300, {REAL, TEXT})]
)
def test_facts_of_another_type_cannot_be_stored(home: Path, value: object, takes: set[str]) -> None:
    answers(home)
    with closing(sqlite3.connect(cache.cache_folder() / cache.NAME)) as database:
        strict = {name for _, name, *_, strict in database.execute("PRAGMA table_list") if strict}
    assert strict == FACTS
    types = {(table.name, column.name): column.type for table in TABLES for column in table.columns}
    taken = {types[column] for column in spoil(value, facts=True)}
    assert taken and taken <= takes


ABSURD = (None, -(2**63), 2**63 - 1, -1, "", "a\0\n", 1e308, float("inf"), b"\xff\x00")
ASKING = ["usage --by session", "usage --by cache", "usage --by month --json", "stats --list", "stats --by hour"]
ASKING += ["advise", "digest --since 2020", "ls"]
SPOILED_ALONE = [[(table.name, column.name)] for table in TABLES for column in table.stored]
SPOILED_AT_ONCE = [[("cache_break", "cause")]]
SPOILED_AT_ONCE += [[(table.name, table.names[at % len(table.names)]) for table in TABLES] for at in (3, 11)]
"""A column of each table, so that many are tried in little time."""


@sampled
@pytest.mark.timeout(900)
def test_every_verb_answers_whatever_fact_is_absurd(home: Path) -> None:
    shutil.copy(next(SAMPLES.glob("projects/*/d2a94e17*.jsonl")), home / "claude/projects/-p")
    for words in ASKING:
        cli(*words.split())
    path = home / "cache" / cache.NAME
    good = path.read_bytes()
    for columns in SPOILED_AT_ONCE if SAMPLE else SPOILED_ALONE:
        for value in ABSURD:
            path.write_bytes(good)
            with closing(sqlite3.connect(path)) as database:
                taken = 0
                for table, column in columns:
                    with suppress(sqlite3.IntegrityError):
                        taken += database.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,)).rowcount
                database.commit()
            spoiled = path.read_bytes()
            for words in ASKING if taken else ():
                path.write_bytes(spoiled)
                assert cli(*words.split()).exit_code in (0, 1), (columns, value, words)


def script(sql: str) -> Callable[[Path], object]:
    """Return a function that runs SQL on a cache file."""

    def attack(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.executescript(sql)

    return attack


def corrupt(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def sparse(path: Path) -> None:
    os.truncate(path, cache.LARGEST + 1)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    victim = path.parent.parent / "victim.sqlite"
    with closing(sqlite3.connect(victim)) as database:
        database.executescript("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
    path.unlink()
    path.symlink_to(victim)


def dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "nowhere")


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n"
ATTACKS: dict[str, Callable[[Path], object]] = {
    "a view that never ends": script(f"DROP TABLE header; CREATE VIEW header AS {ENDLESS}"),
    "a trigger": script("CREATE TRIGGER t AFTER DELETE ON header BEGIN SELECT 1; END"),
    "a virtual table": script("CREATE VIRTUAL TABLE more USING fts5(a)"),
    "an index of an expression": script("CREATE INDEX i ON header (abs(size))"),
    "columns of another type": script("DROP TABLE usage_digests; CREATE TABLE usage_digests (path, a, b)"),
    "columns without types": script(
        "DROP TABLE usage_digests;"
        "CREATE TABLE usage_digests (path, device, inode, size, modified, offset, proof, value)"
    ),
    "formats in a view": script("DROP TABLE formats; CREATE VIEW formats AS SELECT 'header' AS name, 1 AS format"),
    "formats of another type": script("UPDATE formats SET format = x'00'"),
    "no tables": script("DROP TABLE header; DROP TABLE usage_digests; DROP TABLE places"),
    "write-ahead logging": script("PRAGMA journal_mode = WAL"),
    "bytes that are no database": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5000)),
    "an empty file": lambda path: path.write_bytes(b""),
    "corrupt pages": corrupt,
    "a huge file": sparse,
    "a pipe": pipe,
    "a link": link,
    "a dangling link": dangling_link,
}


@one_in(4)
@linux
@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_cache_is_made_anew(home: Path, name: str) -> None:
    wanted = answers(home)
    path = home / "cache" / cache.NAME
    ATTACKS[name](path)
    assert answers(home) == wanted
    assert path.is_file() and not path.is_symlink()
    assert path.stat().st_size < 1 << 20
    assert not (home / "nowhere").exists()
    with closing(sqlite3.connect(path)) as database:
        made = database.execute("SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    own = {sql for table in TABLES for sql in (table.in_cache.sql, *table.in_cache.indexes)}
    assert {kind for kind, sql in made if sql not in own} == {"table"}
    assert not [sql for _, sql in made if "PRIMARY KEY" not in sql and sql not in own]
    if (home / "victim.sqlite").exists():
        with closing(sqlite3.connect(home / "victim.sqlite")) as database:
            assert database.execute("SELECT * FROM mine").fetchall() == [(1,)]


def test_a_value_that_is_too_large_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST_VALUE", 1 << 20)
    table = CacheTable("words", "word TEXT, value BLOB", 1)
    with closing(CacheFile(table)):
        pass
    with closing(sqlite3.connect(home / "cache" / cache.NAME)) as database:
        database.execute("INSERT INTO words VALUES ('a', zeroblob(9000000))")
        database.commit()
    with closing(CacheFile(table)) as file:
        assert file.read("SELECT * FROM words") == []
    with closing(CacheFile(table)) as file:
        assert file.read("SELECT count(*) FROM words") == [(0,)]


def test_a_cache_does_not_grow_without_bound(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST", 1 << 20)
    with closing(CacheFile(CacheTable("words", "word TEXT, value BLOB", 1))) as file:
        for number in range(9):
            file.write(Statement("INSERT INTO words VALUES (?, ?)", [(str(number), os.urandom(300_000))]))
        assert 0 < len(file.read("SELECT * FROM words")) < 4
        assert file.path.stat().st_size <= 1 << 20


@linux
def test_what_another_user_put_there_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mine").write_bytes(b"content")
    (home / "link").symlink_to(home / "mine")
    assert read_own(home / "mine", 7) == b"content"
    with pytest.raises(OSError, match="File too large"):
        read_own(home / "mine", 6)
    with pytest.raises(NotRegular, match="it is a link"):
        read_own(home / "link", 7)
    with monkeypatch.context() as patch:
        patch.setattr(safe_open.os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(NotRegular, match="it belongs to another user"):
            open_own(home / "mine")
        with pytest.raises(OSError, match="it belongs to another user"):
            make_own_folder(home)


@linux
def test_a_folder_of_another_user_is_done_without(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = answers(home)
    shutil.rmtree(home / "cache")
    (home / "cache").mkdir()
    monkeypatch.setattr(safe_open.os, "geteuid", lambda: os.getuid() + 1)
    assert answers(home) == wanted
    assert list((home / "cache").iterdir()) == []


@linux
def test_a_linked_folder_of_the_own_user_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "elsewhere").mkdir()
    (home / "cache").symlink_to(home / "elsewhere")
    assert answers(home) == answers(home)
    assert (home / "elsewhere" / cache.NAME).is_file()


def index_link(folder: Path) -> None:
    move_and_link(folder)


def index_pipe(folder: Path) -> None:
    (folder / "meta.json").unlink()
    os.mkfifo(folder / "meta.json")


def linked_segment(folder: Path) -> None:
    move_and_link(next(folder.glob("*.idx")))


def linked_list(folder: Path) -> None:
    move_and_link(folder / segments.META)


def move_and_link(path: Path) -> None:
    elsewhere = path.parent.parent / "moved"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def every_byte(folder: Path) -> None:
    for path in folder.glob("*.idx"):
        data = path.read_bytes()
        replace_bytes(path, bytes(byte ^ 0x55 for byte in data[:-200]) + data[-200:])


def not_a_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


INDEX_ATTACKS = {
    function.__name__: function
    for function in (index_link, index_pipe, linked_segment, linked_list, every_byte, not_a_folder)
}


@linux
@pytest.mark.skipif(not store.is_available(), reason="needs the search engine")
@pytest.mark.parametrize("name", INDEX_ATTACKS)
def test_a_hostile_index_is_built_anew(home: Path, name: str) -> None:
    wanted = [hit.match for hit in reread.search("needle")]
    INDEX_ATTACKS[name](store.index_folder())
    assert [hit.match for hit in reread.search("needle")] == wanted
    assert [hit.match for hit in reread.search("needle")] == wanted
    assert store.open_reader() is not None
    folder = store.index_folder()
    assert not [path for path in (folder, *folder.iterdir()) if path.is_symlink()]


def test_whoever_sees_that_a_session_is_gone_forgets_all_of_it(home: Path) -> None:
    answers(home)
    path = home / f"claude/projects/-p/{ID}.jsonl"
    with closing(sqlite3.connect(home / "cache" / cache.NAME)) as database:
        made = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        tables = [name for name, sql in made if re.search(r"\bpath (TEXT|ANY)", sql)]
        kept = [name for name in tables if database.execute(f"SELECT * FROM {name} WHERE path = ?", (str(path),))]
        assert database.execute("SELECT title FROM header").fetchall() == [("hello",)]
    assert "file" in kept, "facts, which go with their file"
    path.unlink()
    assert list(reread.sessions()) == []
    content = (home / "cache" / cache.NAME).read_bytes()
    assert ID.encode() not in content and b"needle" not in content


@linux
def test_only_the_owner_can_read_what_is_derived(home: Path) -> None:
    before = os.umask(0o022)
    try:
        answers(home)
    finally:
        os.umask(before)
    made = [home / "cache", *(home / "cache").rglob("*")]
    assert len(made) > 10 and not [path for path in made if path.stat().st_mode & 0o077]


def totals() -> list[int]:
    return [reread.search(query).total for query in ("needle", "hello", "one", "nee*", "tool:write")]


def flip(path: Path, at: int, bits: int = 8) -> None:
    """Change bits of one byte of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ bits]))


@pytest.mark.skipif(not store.is_available(), reason="needs the search engine")
def test_a_bit_that_changed_on_the_disk_loses_no_hits(home: Path) -> None:
    more = home / f"claude/projects/-p/{ID[:-1]}2.jsonl"
    more.write_bytes(jsonl(*told(user("needle"), reply("hello " * 20_000))))
    totals()
    more.write_bytes(jsonl(*told(user("needle"), reply("hallo " * 40_000))))
    wanted = totals()
    folder = store.index_folder()
    files = {path.name: path.read_bytes() for path in folder.iterdir() if len(path.name.partition(".")[0]) == 32}
    assert {name.rpartition(".")[2] for name in files} > {"del", "fast", "idx", "pos", "store", "term"}
    for name, data in files.items():
        body = data.rindex(b'{"version"')
        for at in {0, body // 3, body // 2, body - 1, body, *(len(data) - back for back in (12, 8, 5, 1))}:
            flip(folder / name, at)
            assert segments.damaged_file(folder) == name, at
            replace_bytes(folder / name, data)
    for name in (next(name for name in files if name.endswith(".del")), segments.META):
        flip(folder / name, 4, 0xFF)  # documents that are gone come back
        assert totals() == wanted
        assert totals() == wanted


@pytest.mark.skipif(not store.is_available(), reason="needs the search engine")
def test_a_file_that_is_damaged_before_the_first_search_is_noticed(home: Path) -> None:
    with store.open_update() as update:
        assert update is not None
        update.commit()
    folder = store.index_folder()
    path = next(folder.glob("*.term"))
    flip(path, 9)
    assert segments.damaged_file(folder) == path.name


@pytest.mark.skipif(not store.is_available(), reason="needs the search engine")
def test_a_file_of_the_index_is_read_again_if_it_changed_or_after_a_day(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals()
    read: list[Path] = []
    checksum = segments._checksum  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(segments, "_checksum", lambda path: read.append(path) or checksum(path))
    assert segments.damaged_file(store.index_folder()) is None and not read
    path = next(store.index_folder().glob("*.term"))
    os.utime(path)
    assert segments.damaged_file(store.index_folder()) is None and read == [path]
    status = path.stat()
    flip(path, 9)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert segments.damaged_file(store.index_folder()) is None
    monkeypatch.setattr(segments, "CHECK_SECONDS", 0.0)
    assert segments.damaged_file(store.index_folder()) == path.name


def test_a_panic_of_the_engine_drops_the_index(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [hit.match for hit in reread.search("needle")]
    search, panics = store.IndexReader.search, [type("PanicException", (BaseException,), {})("index out of bounds")]

    class Searcher:
        num_docs = 1

        def search(self, *_: object, **__: object) -> Any:
            raise panics.pop()

    def panic(self: Any, *arguments: Any, **options: Any) -> Any:
        if panics:
            self.searcher = Searcher()
        return search(self, *arguments, **options)

    monkeypatch.setattr(store.IndexReader, "search", panic)
    assert [hit.match for hit in reread.search("needle")] == wanted
    assert panics == []


@pytest.fixture
def saved(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session whose fold is saved."""
    monkeypatch.setattr(loading, "SMALLEST", 0)
    monkeypatch.setattr(saved_fold, "SMALLEST", 1 << 16)
    path = home / f"claude/projects/-p/{ID}.jsonl"
    session = reread.open(path)
    threads_of(session).load_rest()
    threads_of(session).save_fold()
    assert fold_path(path).exists()
    return path


def parts_of(fold: bytes) -> tuple[Any, list[bytes]]:
    """Return the head and the sections of a saved fold."""
    start = saved_fold.HEAD.size + saved_fold.HEAD.unpack_from(fold)[0]
    head = msgspec.msgpack.decode(fold[saved_fold.HEAD.size : start])
    sections = []
    for size in head[5]:
        sections.append(unpack(fold[start : start + size]))
        start += size
    return head, sections


def fold_of(head: Any, sections: list[bytes]) -> bytes:
    """Return a saved fold with these parts."""
    packed = [pack(section, 1) for section in sections]
    head = msgspec.msgpack.encode([*head[:5], list(map(len, packed)), zlib.crc32(packed[-1])])
    return b"".join([saved_fold.HEAD.pack(len(head)), head, *packed])


def test_a_bomb_in_place_of_a_fold_is_not_unpacked(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="more than"):
        decompressed(BOMB, (1 << 20) - 1)
    head, sections = parts_of(fold_path(saved).read_bytes())
    monkeypatch.setattr(frames, "LARGEST_FRAME", 1 << 20)
    assert unpack(pack(bytes(1 << 20), 1)) == bytes(1 << 20)
    for size in ((1 << 20) + 1, 2 << 20):
        with pytest.raises(BadFrame, match="has more than 1,048,576"):
            unpack(pack(bytes(size), 1))
    fold_path(saved).write_bytes(fold_of(head, [bytes(2 << 20), *sections[1:]]))
    assert saved_fold.read_fold(saved, threads_of(reread.open(saved)).source.read) is None
    assert len(reread.open(saved).messages) == 2
    with fold_path(saved).open("wb") as file:
        file.truncate(1 << 40)
    assert len(reread.open(saved).messages) == 2


def test_a_fold_that_could_not_be_read_again_is_not_saved(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fold_path(saved).unlink()
    monkeypatch.setattr(saved_fold, "LARGEST_FRAME", 10)
    session = reread.open(saved)
    threads_of(session).load_rest()
    threads_of(session).save_fold()
    assert not fold_path(saved).exists()


def test_a_fold_with_more_messages_than_bytes_is_not_restored(saved: Path) -> None:
    head, sections = parts_of(fold_path(saved).read_bytes())
    (conversation,) = msgspec.msgpack.decode(sections[1])
    messages = conversation[2]
    rare = next(name for name, column in messages.items() if column[0] == fold_columns.SPARSE)
    messages[rare] = [fold_columns.SPARSE, {0: None}]
    conversation[4] = [1 << 60, 1]
    changed = [sections[0], msgspec.msgpack.encode([conversation]), *sections[2:]]
    fold_path(saved).write_bytes(fold_of(head, changed))
    assert len(reread.open(saved).messages) == 2


def mutants(value: Any) -> list[Any]:
    """Return a value with one of its parts missing or of another type, in every way."""
    out: list[Any] = [None, 7, "text", b"", [], {}, -1, 2**40]
    if isinstance(value, list):
        out += [[*value[:at], inner, *value[at + 1 :]] for at, part in enumerate(value) for inner in mutants(part)]
        out += [value[:-1], [*value, *value]]
    if isinstance(value, dict):
        out += [{**value, key: inner} for key in value for inner in mutants(value[key])[:4]]
        out += [{key: part for key, part in value.items() if key != left} for left in value]
    return out


def test_a_fold_of_any_form_is_restored_or_read_again(saved: Path) -> None:
    head, sections = parts_of(fold_path(saved).read_bytes())
    forms = 0
    for at in (1, 2):
        for value in mutants(msgspec.msgpack.decode(sections[at]))[::7]:
            changed = [*sections[:at], msgspec.msgpack.encode(value), *sections[at + 1 :]]
            fold_path(saved).write_bytes(fold_of(head, changed))
            assert len(threads_of(reread.open(saved)).loader.conversation.messages) <= 2
            forms += 1
    assert forms > 40
