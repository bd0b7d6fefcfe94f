"""Search on bad days: a full disk, a folder that may not be written, an index that is not ours, a huge line."""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from damage import replace_bytes
from indexes import index_folder
from killing import end_of
from limits import within
from making import SESSION, jsonl, told, user

import reread
from reread.errors import Misuse, Unreadable
from reread.index.find import DAMAGED
from reread.server.library import SessionLibrary
from reread.server.library_search import SearchService

CUT = 100
"""To how many bytes files are cut."""
CUTS = int(os.environ.get("REREAD_KILLS", "6"))
"""How often they are cut; 500 in a long run."""

CAN_MOUNT = sys.platform == "linux" and os.geteuid() == 0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in "abc":
        path = tmp_path / f"root/projects/p/{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*told(*(user(f"needle {name}{n} " + words(n)) for n in range(60)))))
    return tmp_path / "root"


def words(start: int) -> str:
    return " ".join(f"w{start * 100 + n}" for n in range(100))


def search(root: Path, query: str, largest_file: int = 0) -> list[Any]:
    """Search in a process that cannot write larger files; return the total, the number of hits and the note."""
    reader, writer = os.pipe()

    def answer() -> None:
        found = reread.search(query, root=root, limit=None)
        os.write(writer, json.dumps([found.total, len(list(found)), found.note]).encode())

    def limit() -> None:
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    assert not end_of(answer, limit)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        return json.loads(said.read())


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True).returncode:
        pytest.skip("cannot mount here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_everything_is_found_if_the_index_cannot_grow(root: Path) -> None:
    total, count, note = search(root, "needle", largest_file=4096)
    assert (total, count) == (180, 180)
    assert "cannot be written" in note
    assert search(root, "needle") == [180, 180, ""]


@pytest.mark.skipif(not CAN_MOUNT, reason="needs to mount a small disk")
def test_everything_is_found_on_a_full_disk(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "small/cache"))
    with mounted(tmp_path / "small", "size=100k"):
        total, count, note = search(root, "needle")
        assert (total, count) == (180, 180)
        assert "cannot be written" in note


@pytest.mark.skipif(not CAN_MOUNT, reason="needs to mount a disk")
def test_new_texts_are_found_once_the_disk_is_full_or_may_not_be_written(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, path = tmp_path / "disk", root / "projects/p/a.jsonl"
    monkeypatch.setenv("REREAD_CACHE", str(disk / "cache"))
    with mounted(disk, "size=4m"):
        assert search(root, "needle") == [180, 180, ""]
        with suppress(OSError), (disk / "junk").open("wb", buffering=0) as file:
            for _ in range(10_000):
                file.write(bytes(4096))
        path.write_bytes(path.read_bytes() + jsonl(*told(user("needle of today " + "hay " * 20_000))))
        total, count, note = search(root, "needle")
        assert (total, count) == (181, 181)
        assert "cannot be written" in note
        (disk / "junk").unlink()
        assert search(root, "needle") == [181, 181, ""]
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        path.write_bytes(path.read_bytes() + jsonl(*told(user("needle of tomorrow " + "hay " * 20_000))))
        total, count, note = search(root, "needle")
        assert (total, count) == (182, 182)
        assert "cannot be written" in note


def test_an_index_that_another_version_of_the_engine_wrote_is_built_anew(root: Path) -> None:
    assert search(root, "needle")[0] == 180
    meta = index_folder() / "meta.json"
    value = json.loads(meta.read_text())
    value["schema"] = [field for field in value["schema"] if field["name"] != "pieces"]
    meta.write_text(json.dumps(value))
    assert search(root, "needle") == [180, 180, ""]


def test_what_a_killed_writer_left_for_a_segment_does_not_stop_later_ones(root: Path) -> None:
    assert search(root, "needle")[0] == 180
    segment = next(index_folder().glob("*.idx")).stem
    for number in range(400):  # whatever the next commit's number is
        replace_bytes(index_folder() / f"{segment}.{number}.del", b"torn")
    (root / "projects/p/b.jsonl").unlink()
    assert search(root, "needle") == [120, 120, ""]
    assert len(list(index_folder().glob("*.del"))) <= 1


def test_a_line_of_twenty_megabytes(root: Path) -> None:
    huge = {"type": "user", "sessionId": SESSION, "uuid": "u", "message": {"role": "user"}}
    text = "hay " * 2_500_000 + "x" * 10_000_000 + " lastneedle"
    path = root / "projects/p/huge.jsonl"
    path.write_bytes(jsonl({**huge, "message": {"role": "user", "content": text}}, *told(user("after it"))))
    with within(20):
        (hit,) = reread.search("lastneedle", root=root)
        assert hit.line == 1 and hit.match == "lastneedle"
        assert [hit.line for hit in reread.search('"after it"', root=root)] == [2]


HOSTILE = (
    "\x1b]0;evil\x07\x1b[31mneedle1\x1b[0m",
    "needle2\u202e\u2066\ufeff",
    "<script>alert('needle3')</script>",
    "needle4 \ud800 \x00 \x7f",
    "needle5" + "\u0301" * 10_000,
    "\u4e00" * 5_000 + "needle6",
    "((((" * 5_000 + "needle7",
    '"needle8" AND OR -( tool: is:',
)


def test_hostile_text_is_found_and_searched_for(root: Path) -> None:
    path = root / "projects/p/hostile.jsonl"
    path.write_bytes(jsonl(*told(*map(user, HOSTILE))))
    for number in range(1, len(HOSTILE) + 1):
        assert [hit.line for hit in reread.search(f"needle{number}*", root=root)] == [number], HOSTILE[number - 1][:40]
    for text in HOSTILE:
        with suppress(Misuse):  # a plain message will do
            list(reread.search(text[:1000], root=root, limit=1))


def cut_files() -> None:
    """Cut every file of the index short, as it is."""
    for path in index_folder().glob("*.*"):
        with suppress(OSError):
            if path.suffix != ".json" and path.stat().st_size > CUT:
                os.truncate(path, CUT)


def test_a_server_survives_files_that_are_cut_short(root: Path) -> None:
    with closing(SearchService(SessionLibrary([root], count=False))) as service:
        assert service.search("needle").total == 180
        for _ in range(CUTS):
            cut_files()
            found = service.search("needle")
            assert found.total == 180 and DAMAGED in found.note
        assert service.search("needle").note == ""
        stop = threading.Event()
        cutter = threading.Thread(target=lambda: [cut_files() for _ in iter(lambda: stop.wait(0.02), True)])
        cutter.start()
        try:
            for _ in range(CUTS):
                with suppress(Unreadable):  # it is cut again and again
                    service.search("needle")
        finally:
            stop.set()
            cutter.join()
        found = service.search("needle")
        assert found.total == 180


def test_a_process_that_is_lost_is_replaced(root: Path) -> None:
    with closing(SearchService(SessionLibrary([root], count=False))) as service:
        assert service.search("needle").total == 180
        for child in service._processes._idle:
            child.kill()
        assert service.search("needle").total == 180
