"""Bad days of an archive: processes that are killed, full disks, several writers. Nothing that was kept is lost.

`REREAD_KILLS=500` kills the writer that often.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reread import Archive
from reread.archive import sync_state
from reread.archive.verify import KeptEntry, KeptProblem
from reread.storage.kept_file import open_regular

KILLS = int(os.environ.get("REREAD_KILLS", "8"))
KEEP = """
import sys
from reread import Archive
from reread.archive import sync
sync.FRAME_SIZE = 4096
report = Archive(sys.argv[1]).keep(sys.argv[2])
print(report.count("new"), report.count("grown"), report.count("rewritten"), report.count("failed"))
"""
LIMITED = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))" + KEEP


def start(program: str, archive: Path, source: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", program, str(archive), str(source)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[int]:
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    return [int(word) for word in out.split()]


def session(root: Path, number: int) -> Path:
    path = root / f"projects/-p/{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def current(archive: Path, root: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield what is kept of each source, and the source."""
    for path in sorted(root.rglob("*.jsonl")):
        with open_regular(archive / path.relative_to(root)) as file:
            yield file.readall(), path.read_bytes()


def errors(archive: Path) -> list[KeptProblem]:
    found = Archive(archive).verify()
    return [one for one in found if not isinstance(one, KeptEntry) and one.level == "error"]


def test_a_run_that_is_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    root, archive, chance = tmp_path / "claude", tmp_path / "kept", random.Random(7)
    for number in range(6):
        session(root, number).write_bytes(noise(number, 30_000))
    began = time.monotonic()
    finish(start(KEEP, archive, root))
    usual = time.monotonic() - began
    for turn in range(KILLS):
        before = {
            path: data for path, (data, _) in zip(sorted(root.rglob("*.jsonl")), current(archive, root), strict=True)
        }
        for number in range(6):
            path = session(root, number)
            if chance.random() < 0.2:
                path.write_bytes(noise(turn * 10 + number, 20_000))
            else:
                with path.open("ab") as file:
                    file.write(noise(turn * 10 + number, 90_000))
        process = start(KEEP, archive, root)
        time.sleep(chance.uniform(usual * 0.4, usual * 1.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert errors(archive) == []
        kept = [version.path for version in Archive(archive).versions()]
        contents = []
        for path in kept:
            with open_regular(path) as file:
                contents.append(file.readall())
        for data in before.values():
            assert any(content.startswith(data) for content in contents)
    finish(start(KEEP, archive, root))
    assert all(kept == source for kept, source in current(archive, root))
    assert [one for one in Archive(archive).verify() if not isinstance(one, KeptEntry)] == []


def test_a_killed_run_is_finished_also_if_the_source_was_rewritten_since(tmp_path: Path) -> None:
    root, archive = tmp_path / "claude", tmp_path / "kept"
    source = session(root, 0)
    source.write_bytes(noise(0, 20_000))
    Archive(archive).keep(root)
    (map_of_frames,) = archive.rglob("*.zst.map")
    before = map_of_frames.read_bytes()
    with source.open("ab") as file:
        file.write(noise(1, 20_000))
    Archive(archive).keep(root)
    map_of_frames.write_bytes(before)  # killed after the frame, before its line in the map
    source.write_bytes(noise(2, 20_000))
    assert Archive(archive).keep(root).count("rewritten") == 1
    assert [one for one in Archive(archive).verify() if not isinstance(one, KeptEntry)] == []


def check_full(archive: Path, root: Path, run_full: object) -> None:
    for number in range(3):
        session(root, number).write_bytes(noise(number, 20_000))
    Archive(archive).keep(root)
    before = [kept for kept, _ in current(archive, root)]
    for number in range(3):
        with session(root, number).open("ab") as file:
            file.write(noise(number + 9, 300_000))
    session(root, 7).write_bytes(noise(7, 400_000))
    run_full()  # type: ignore[operator]
    assert errors(archive) == []
    for number, data in enumerate(before):
        with open_regular(archive / f"projects/-p/{number}.jsonl") as file:
            assert file.readall().startswith(data)
    assert not list(archive.rglob(".reread-*"))


@pytest.mark.usefixtures("no_bytecode")
def test_a_file_that_cannot_grow_is_left_as_it_was(tmp_path: Path) -> None:
    root, archive = tmp_path / "claude", tmp_path / "kept"

    def run_full() -> None:
        assert finish(start(LIMITED, archive, root))[3] == 4

    check_full(archive, root, run_full)
    finish(start(KEEP, archive, root))
    assert all(kept == source for kept, source in current(archive, root))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk_stops_the_run_and_changes_nothing(tmp_path: Path) -> None:
    root, disk = tmp_path / "claude", tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("cannot mount here")
    try:

        def run_full() -> None:
            report = Archive(disk / "kept").keep(root)
            assert "No space left" in report.problems[-1].note

        check_full(disk / "kept", root, run_full)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_processes_that_keep_at_once_take_turns(tmp_path: Path) -> None:
    roots, archive = [tmp_path / f"claude{n}" for n in range(2)], tmp_path / "kept"
    for n, root in enumerate(roots):
        for number in range(4):
            session(root, number + 100 * n).write_bytes(noise(number, 50_000))
        session(root, 1000).write_bytes(noise(n, 10_000))  # the same name with other bytes
    processes = [start(KEEP, archive, root) for root in roots for _ in range(2)]
    assert all(finish(process)[3] == 0 for process in processes)
    assert errors(archive) == []
    for root in roots:
        for kept, source in current(archive, root):
            assert kept == source or len(source) == 10_000
    assert len([one for one in Archive(archive).versions() if "1000.jsonl" in one.name]) == 2
    assert [sum(finish(start(KEEP, archive, root))) for root in roots] == [0, 0]


def test_machines_that_share_a_folder_do_not_grow_it_by_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, root = Archive(tmp_path / "kept"), tmp_path / "claude"
    sources = {"left": b"left\n" * 99, "right": b"right\n" * 99}
    for turn in range(4):
        for machine, data in sources.items():
            monkeypatch.setattr(sync_state, "machine_name", lambda machine=machine: machine)
            session(root, 1).write_bytes(data + b"more\n" * turn)
            archive.keep(root)
    versions = archive.versions()
    assert len(versions) == 2
    for version, data in zip(versions, sources.values(), strict=True):
        with open_regular(version.path) as file:
            assert file.readall() == data + b"more\n" * 3
    assert errors(archive.folder) == []
