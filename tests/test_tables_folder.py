"""Tables in a folder: only what changed is written, several writers and a reader at once, writers that are killed."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import run
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread.base.paths import SAMPLES
from reread.dataset.manifest import TablesManifest, newest_manifest, write_manifest
from reread.dataset.parquet import PartsWriter, parquet, pyarrow
from reread.dataset.schema import TABLES
from reread.dataset.table_files import TableFiles
from reread.errors import Misuse, NotFound, RereadError, Unreadable, Unwritable


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_MACHINE", "here")


def session(id: str, *texts: str, day: str = "2026-03-02") -> bytes:
    """A session in which each text is prompted and answered with a call."""
    records: list[Any] = []
    for n, text in enumerate(texts):
        more = {"sessionId": id, "timestamp": f"{day}T10:00:{n:02}.000Z", "cwd": "/shop"}
        usage = {"input_tokens": 10, "output_tokens": n + 1}
        call = use(f"toolu_{id}_{n}", command="ls")
        records += [user(text, **more), reply(call, id=f"msg_{id}_{n}", requestId=f"req_{id}_{n}", usage=usage, **more)]
        records += [answer(result(f"toolu_{id}_{n}"), **more)]
    return jsonl(*told(*records))


def put(root: Path, id: str, *texts: str, day: str = "2026-03-02") -> Path:
    path = root / "projects" / "-shop" / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(session(id, *texts, day=day))
    return path


def rows(folder: Path, table: str, *, text: bool = False) -> list[dict[str, Any]]:
    return reread.tables(folder, text=text)[table].read_all().to_pylist()


def parquet_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path / "claude", "a", "one", "two")
    put(tmp_path / "claude", "b", "three", day="2026-04-02")
    return tmp_path / "claude"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.filterwarnings("error")
def test_a_full_disk_is_reported_and_leaves_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TableFiles, "write", lambda *_: Path("/dev/full").open("wb"))  # noqa: SIM115
        with pytest.raises(Unwritable, match=r"Cannot write .*out.*: No space left on device"):
            reread.tables(root=root).write(tmp_path / "out")
    gc.collect()
    assert not parquet_files(tmp_path / "out")
    reread.tables(root=root).write(tmp_path / "out")
    assert len(rows(tmp_path / "out", "sessions")) == 2


def test_a_folder_has_the_rows_of_the_transcripts(tmp_path: Path) -> None:
    read = reread.tables(root=SAMPLES, text=True)
    report = read.write(tmp_path / "out")
    written = reread.tables(tmp_path / "out", text=True)
    for name in TABLES:
        given, stored = read[name].read_all(), written[name].read_all()
        assert stored.schema == given.schema and stored.num_rows == report.rows[name]
        assert Counter(map(repr, stored.to_pylist())) == Counter(map(repr, given.to_pylist()))


def test_only_what_changed_is_read_and_written(root: Path, tmp_path: Path) -> None:
    tables, out = reread.tables(root=root), tmp_path / "out"
    assert tables.write(out).read == 2
    before = parquet_files(out)
    assert (tables.write(out).read, parquet_files(out)) == (0, before)
    put(root, "b", "three", "four", day="2026-04-02")
    report = tables.write(out)
    assert (report.read, report.unchanged, report.rows["calls"], report.rows["usage"]) == (1, 1, 4, 4)
    changed = parquet_files(out) ^ before
    assert changed and all("month=2026-04" in name for name in changed)
    assert len(rows(out, "calls")) == 4 and len(rows(out, "messages")) == 8


def test_parts_of_a_month_are_joined_while_they_are_small(root: Path, tmp_path: Path) -> None:
    tables, out = reread.tables(root=root), tmp_path / "out"
    for n in range(5):
        put(root, f"more-{n}", "text")
        tables.write(out)
    assert len([name for name in parquet_files(out) if name.startswith("calls/")]) == 2
    assert len(rows(out, "calls")) == 8


def test_a_part_ends_when_it_is_large_and_its_month_when_others_come(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parts(folder: Path) -> Counter[str]:
        return Counter(name.split("/")[2] for name in parquet_files(folder) if name.startswith("calls/"))

    for month in range(3, 10):
        for id in ("x", "y"):
            put(root, f"{id}{month}", "text", day=f"2026-{month:02}-02")
    reread.tables(root=root).write(tmp_path / "joined")
    assert set(parts(tmp_path / "joined").values()) == {1} and len(parts(tmp_path / "joined")) == 7
    monkeypatch.setattr("reread.dataset.parquet.LARGEST_PART", 1)
    report = reread.tables(root=root).write(tmp_path / "apart")
    assert parts(tmp_path / "apart") == Counter(
        {"month=2026-03": 3, "month=2026-04": 3} | {f"month=2026-{n:02}": 2 for n in range(5, 10)}
    )
    assert (report.machine, report.read, report.unchanged, report.removed, report.unread) == ("here", 16, 0, 0, ())
    for name in TABLES:
        assert len(rows(tmp_path / "apart", name)) == len(rows(tmp_path / "joined", name)) == report.rows[name], name
    monkeypatch.setattr("reread.dataset.update.SMALL_PART", 0)
    put(root, "x5", "other", day="2026-05-02")
    (root / "projects" / "-shop" / "y9.jsonl").unlink()
    before = parquet_files(tmp_path / "apart")
    report = reread.tables(root=root).write(tmp_path / "apart")
    assert (report.read, report.unchanged, report.removed, report.rows["sessions"]) == (1, 14, 1, 15)
    gone = {name.split("/")[2] for name in before - parquet_files(tmp_path / "apart")}
    assert gone == {"month=2026-05", "month=2026-09"} and len(rows(tmp_path / "apart", "sessions")) == 15


def test_deleted_transcripts_go_unless_they_are_kept(root: Path, tmp_path: Path) -> None:
    tables, out = reread.tables(root=root), tmp_path / "out"
    tables.write(out)
    (root / "projects" / "-shop" / "a.jsonl").unlink()
    assert tables.write(out, keep_deleted=True).rows["calls"] == 3
    assert len(rows(out, "usage")) == 3
    assert tables.write(out).removed == 1
    assert {row["session"] for row in rows(out, "usage")} == {row["session"] for row in rows(out, "calls")} == {"b"}


def test_what_other_roots_have_stays(root: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    put(other, "c", "five")
    reread.tables(root=root).write(out)
    assert reread.tables(root=other).write(out).rows["calls"] == len(rows(out, "usage")) == 4


def test_text_is_there_if_asked_for(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    reread.tables(root=root).write(out)
    with pytest.raises(Misuse, match="have no text"):
        rows(out, "messages", text=True)
    reread.tables(root=root, text=True).write(out)
    assert {"one", "two", "three"} <= {row["text"] for row in rows(out, "messages", text=True)}
    assert "text" not in rows(out, "messages")[0]


def test_machines_have_their_own_rows(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    for name in ("here", "there"):
        monkeypatch.setenv("REREAD_MACHINE", name)
        reread.tables(root=root).write(out)
    for name in ("here", "there"):
        own = out / "calls" / f"machine={name}"
        assert sum(parquet.read_table(own / file).num_rows for file in parquet_files(own)) == 3
    assert Counter(row["machine"] for row in rows(out, "calls")) == {"here": 3}, "each call counts once"


def test_a_writer_that_fails_leaves_what_was_there(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, out = reread.tables(root=root), tmp_path / "out"
    tables.write(out)
    before = parquet_files(out)
    put(root, "c", "five")

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartsWriter, "finish", fail)
        with pytest.raises(KeyboardInterrupt):
            tables.write(out)
    assert {path for path in out.rglob("*") if path.name.startswith(".tmp")} == set()
    assert parquet_files(out) == before
    assert tables.write(out).rows["calls"] == 4


def test_a_change_that_another_writer_overtook_is_made_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, tables = TableFiles(tmp_path / "out"), reread.tables(root=root)
    tables.write(tmp_path / "out")
    put(root, "c", "five")
    create, overtaken = TableFiles.create, list[str]()

    def late(self: TableFiles, name: str, data: bytes) -> bool:
        if not overtaken:
            overtaken.append(name)
            known = newest_manifest(place, "here")
            assert known is not None
            assert write_manifest(place, msgspec.structs.replace(known, sequence=known.sequence + 1))
            return False
        return create(self, name, data)

    monkeypatch.setattr(TableFiles, "create", late)
    assert tables.write(tmp_path / "out").rows["calls"] == len(rows(tmp_path / "out", "calls")) == 4


def test_a_folder_that_lost_a_file_is_written_anew(root: Path, tmp_path: Path) -> None:
    tables, out = reread.tables(root=root), tmp_path / "out"
    tables.write(out)
    next((out / "calls").rglob("*.parquet")).unlink()
    assert tables.write(out).read == 2 and len(rows(out, "calls")) == 3


def test_errors_say_what_to_do(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="reread tables -o"):
        rows(tmp_path / "none", "calls")
    with pytest.raises(Misuse, match="one of them"):
        reread.tables(tmp_path, root=root)
    out = tmp_path / "out"
    reread.tables(root=root).write(out)
    next((out / "calls").rglob("*.parquet")).unlink()
    with pytest.raises(Unreadable, match="a file is missing"):
        rows(out, "calls")
    next((out / "_reread" / "here").iterdir()).write_text("{")
    with pytest.raises(Unreadable, match="not a manifest of tables"):
        rows(out, "usage")
    (tmp_path / "file").write_text("")
    with pytest.raises(Unwritable):
        reread.tables(root=root).write(tmp_path / "file")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Misuse, match=r"pip install 'reread\[tables\]'"):
        reread.tables()


def damage_of(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what can be wrong with the files of a table."""
    file = next((folder / "calls").glob("*/month=2026-03/*.parquet"))
    return {
        "no bytes": lambda: file.write_bytes(b""),
        "other bytes": lambda: file.write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1"),
        "other columns": lambda: parquet.write_table(pyarrow.table({"a": [1]}), file),
        "a folder": lambda: (file.unlink(), file.mkdir()),
        "a pipe": lambda: (file.unlink(), os.mkfifo(file)),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="makes pipes")
def test_damaged_files_of_a_table_are_named(root: Path, tmp_path: Path) -> None:
    put(root, "c", "in the same file as a")
    reread.tables(root=root).write(tmp_path / "good")
    put(root, "a", "another", "prompt")
    for name in damage_of(tmp_path / "good"):
        out = tmp_path / name
        shutil.copytree(tmp_path / "good", out)
        damage_of(out)[name]()
        with pytest.raises(Unreadable, match=r"Cannot read .*calls"):
            rows(out, "calls")
        with pytest.raises(RereadError, match="calls"):
            reread.tables(out).sql("from calls")
        with pytest.raises(Unreadable, match="Cannot read") if name != "a folder" else nullcontext():
            reread.tables(root=root).write(out)


FOREIGN: list[dict[str, Any]] = [
    {"id": "../../../../victim"},
    {"id": "/victim"},
    {"id": "*"},
    {"id": "a\0b"},
    {"id": "0123456789abcdef\n"},
    {"month": "../../../.."},
    {"month": "2026-03/.."},
    {"rows": {"../..": 1}},
    {"rows": {"/tmp": 1}},
]


@pytest.mark.parametrize("where", ["parts", "usage"])
def test_a_manifest_names_no_file_elsewhere(root: Path, tmp_path: Path, where: str) -> None:
    out = tmp_path / "out"
    reread.tables(root=root).write(out)
    path = next((out / "_reread" / "here").iterdir())
    good = json.loads(path.read_bytes())
    (tmp_path / "victim.parquet").write_bytes(b"mine")
    hostile = [{**good, where: [{**good[where][0], **change}]} for change in FOREIGN]
    for manifest in (*hostile, {**good, "machine": "../.."}, {**good, "machine": "other"}):
        path.write_text(json.dumps(manifest))
        for attempt in (lambda: rows(out, "calls"), lambda: reread.tables(root=root).write(out)):
            with pytest.raises(Unreadable, match="names files that are not of its tables"):
                attempt()
    assert (tmp_path / "victim.parquet").read_bytes() == b"mine"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Unreadable, match="too large"):
        rows(out, "calls")


def test_a_number_is_given_once(tmp_path: Path) -> None:
    place = TableFiles(tmp_path)
    assert write_manifest(place, TablesManifest("here", 1))
    assert not write_manifest(place, TablesManifest("here", 1, text=True))
    assert newest_manifest(place, "here") == TablesManifest("here", 1)


WRITER = """
import sys, reread
while True:
    reread.tables(root=sys.argv[1]).write(sys.argv[2])
    print("written", flush=True)
"""


def writer(root: Path, out: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", WRITER, str(root), str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_two_writers_and_a_reader_at_once(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    reread.tables(root=root).write(out)
    writers = [writer(root, out) for _ in range(2)]
    try:
        seen = 0
        for n in range(30):
            put(root, f"more-{n % 3}", *map(str, range(n + 1)))
            found = Counter(row["path"] for row in rows(out, "calls"))
            assert found.keys() >= {str(root / "projects" / "-shop" / f"{id}.jsonl") for id in "ab"}
            usage = rows(out, "usage")
            assert len({row["message"] for row in usage}) == len(usage)
            seen = max(seen, len(found))
        for process in writers:
            for _ in range(3):  # each has made a whole run since the last change
                assert process.stdout is not None and process.stdout.readline() == b"written\n"
        assert {Path(row["path"]).stem for row in rows(out, "calls")} == {"a", "b", "more-0", "more-1", "more-2"}
        assert len(rows(out, "calls")) == 3 + 28 + 29 + 30
    finally:
        for process in writers:
            process.kill()
            process.communicate()


def test_a_killed_writer_leaves_a_whole_state(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tables = reread.tables(root=root)
    tables.write(out)
    for n in range(int(os.environ.get("REREAD_KILLS", "3"))):
        put(root, f"more-{n % 3}", *map(str, range(n + 1)))
        process = writer(root, out)
        try:
            time.sleep(0.4 + n % 7 * 0.03)
        finally:
            process.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
            process.communicate()
        usage, calls = rows(out, "usage"), rows(out, "calls")
        assert len({row["message"] for row in usage}) == len(usage) and len(calls) >= 3
    report = tables.write(out)
    assert report.rows["calls"] == sum(len(reread.open(header).calls) for header in reread.sessions(root=root))
    manifest = newest_manifest(TableFiles(out), "here")
    assert manifest is not None and parquet_files(out) == {name for _, _, name in manifest.files()}
    assert list(out.rglob(".tmp*")) == []


def test_the_verb_writes_and_lists(root: Path, tmp_path: Path) -> None:
    done = run("tables", "-o", str(tmp_path / "out"), "--root", str(root), "--json")
    assert json.loads(done.stdout)["rows"]["calls"] == 3
    done = run("tables", "-o", str(tmp_path / "out"), "--root", str(root))
    assert "calls" in done.stdout and "0 transcripts read, 2 unchanged" in done.stdout
    listed = json.loads(run("tables", "--json").stdout)
    assert [table["name"] for table in listed["tables"]] == list(TABLES)
    assert "input_tokens" in run("tables").stdout and "raw" not in run("tables").stdout.split()


def test_importing_reread_needs_no_pyarrow() -> None:
    code = "import sys, reread, reread.value_types; reread.tables; print({'pyarrow', 'duckdb'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"set()\n"
