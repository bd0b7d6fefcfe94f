"""What `reread keep --prune` deletes: only what a newer, whole generation of the same origin has, record by record.

`REREAD_KILLS=300` kills prunes and runs that often, at random moments.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from command import cli

import reread
from reread import Archive
from reread.archive import sync_state
from reread.archive.prune import PruneOutcome
from reread.archive.verify import KeptEntry, KeptProblem
from reread.storage import kept_names
from reread.storage.atomic import TEMPORARY
from reread.storage.kept_file import KeptFile, open_regular
from reread.storage.kept_names import generations, kept_path
from reread.storage.lock import lock

KILLS = int(os.environ.get("REREAD_KILLS", "6"))
NAME = "projects/-p/s.jsonl"


def record(number: int, words: str = "words") -> bytes:
    value = {"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": {"role": "user", "content": words}}
    return json.dumps(value).encode() + b"\n"


def records(*numbers: int) -> bytes:
    return b"".join(map(record, numbers))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "claude"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "kept")


def keep(archive: Archive, root: Path, *states: bytes, name: str = NAME) -> None:
    """Keep a file in one state after the other."""
    for state in states:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(state)
        assert not archive.keep(root).count("failed")


def numbers(archive: Archive, name: str = NAME) -> tuple[int, ...]:
    return generations(archive.folder / name)


def contents(archive: Archive) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for version in archive.versions():
        with KeptFile(version.path) as file:
            found[version.generation] = file.read()
    return found


def errors(archive: Archive) -> list[KeptProblem]:
    return [one for one in archive.verify() if not isinstance(one, KeptEntry) and one.level == "error"]


def notes(archive: Archive, *, outcome: str = "needed") -> list[str]:
    """Return why generations are needed, and see that a prune deletes none of them."""
    before = contents_of_files(archive.folder)
    found = archive.prune_outcomes()
    assert {one.outcome for one in found} == {outcome}
    assert contents_of_files(archive.folder) == before
    return [one.note for one in found]


def contents_of_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*.zst*")}


def flip(path: str | Path, at: int | None = None) -> None:
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    Path(path).write_bytes(data)


def test_a_generation_goes_if_a_newer_one_has_every_record(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1, 2, 3), records(0, 3, 2, 1), records(5))
    assert [version.generation for version in archive.prunable()] == [1]
    assert [version.generation for version in archive.prune()] == [1]
    assert contents(archive) == {2: records(0, 3, 2, 1), 3: records(5)}
    assert archive.prune() == [] and errors(archive) == []


def test_what_is_left_keeps_its_number_and_is_read_and_continued(archive: Archive, root: Path, tmp_path: Path) -> None:
    keep(archive, root, records(1), records(0, 1), records(0, 1, 2)[5:] + records(0, 1))
    keep(archive, root, b"x\n" + (root / NAME).read_bytes())
    assert numbers(archive) == (1, 2, 3, 4)
    archive.prune()
    assert numbers(archive) == (4,)
    assert archive.size()[0] == 1
    assert [header.id for header in reread.sessions(root=archive.folder)] == ["s"]
    with open_regular(archive.folder / NAME) as file:
        assert file.read() == (root / NAME).read_bytes()
    with (root / NAME).open("ab") as file:
        file.write(record(9))
    assert archive.keep(root, dry_run=True).count("grown") == archive.keep(root).count("grown") == 1
    state = (root / NAME).read_bytes()
    keep(archive, root, records(7))
    assert numbers(archive) == (4, 5)
    for generation, wanted in ((None, records(7)), (1, state), (4, state), (9, records(7))):
        archive.restore(to=tmp_path / f"out{generation}", generation=generation)
        assert (tmp_path / f"out{generation}" / NAME).read_bytes() == wanted
    assert errors(archive) == []


def test_records_that_only_the_earlier_state_has_are_never_deleted(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1, 2, 3), records(3, 4), records(5, 3))
    assert notes(archive) == ["generation 3 lacks 2 records of it", "generation 3 lacks 1 record of it"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (records(1, 1), records(0, 1)),  # twice, and once
        (record(1), record(1, "other words")),  # the same uuid with other content
        (record(1)[:-9], b"\n" + record(1)),  # torn, and whole
        (b'[\n{"a": 1},\n{"b": 2}\n]', b'[\n{"b": 2}\n,\n{"a": 1},\n]'),  # one document, whose lines are no records
        (records(1, 2), b"[\n" + records(2, 1) + b"]"),  # records, and a document that has the same lines
    ],
)
def test_what_is_not_proven_stays(archive: Archive, root: Path, before: bytes, after: bytes) -> None:
    keep(archive, root, before, after)
    assert len(notes(archive)) == 1


def test_lines_of_other_files_are_no_records(archive: Archive, root: Path) -> None:
    name = "projects/-p/s/tool-results/t.txt"
    keep(archive, root, b"a\nb\n", b"b\na\n", name=name)
    assert notes(archive) == ["generation 2 does not begin with it"]


def test_a_line_end_at_the_end_and_blank_lines_do_not_matter(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1, 2)[:-1], b"\n \n" + records(2, 1) + record(3))
    assert len(archive.prune()) == 1
    keep(archive, root, b"\n" + record(4) + b" \n\n" + record(5) + b"\n", records(0, 5, 4))
    assert [version.generation for version in archive.prune()] == [3]


def test_a_generation_without_a_byte_goes(archive: Archive, root: Path) -> None:
    keep(archive, root, b"", records(1))
    archive.prune()
    assert contents(archive) == {max(numbers(archive)): records(1)}


def test_a_map_of_more_than_there_is_proves_nothing(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1, 2))
    first = archive.folder / f"{NAME}.zst"
    os.truncate(first, first.stat().st_size - 3)
    keep(archive, root, records(1, 2, 3))
    (note,) = notes(archive, outcome="damaged")
    assert note.startswith("it is damaged, and generation 2 is not known to have what it had: ")


def test_what_a_killed_run_was_writing_goes_with_a_prune(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1), records(0, 1))
    left = archive.folder / "projects" / "-p" / f"{TEMPORARY}left"
    left.write_bytes(b"half")
    assert len(archive.prune()) == 1 and not left.exists()
    assert (archive.folder / "projects" / "-p").is_dir()


@pytest.mark.parametrize("where", ["frames", "map", "cut"])
def test_nothing_is_deleted_for_a_damaged_generation(archive: Archive, root: Path, where: str) -> None:
    keep(archive, root, records(1), records(0, 1))
    newest = kept_path(archive.folder / NAME)
    assert newest is not None
    if where == "cut":
        os.truncate(newest, Path(newest).stat().st_size - 3)
    else:
        flip(newest if where == "frames" else f"{newest}.map")
    assert archive.prunable() == []
    (note,) = notes(archive, outcome="damaged")
    assert note.startswith("generation 2 is damaged: ")
    result = cli("keep", "--prune", "--yes", "--to", str(archive.folder))
    assert result.exit_code == 1 and "stays: generation 2 is damaged" in result.output


def test_a_damaged_generation_goes_if_its_map_proves_that_nothing_is_lost(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1, 2))
    flip(archive.folder / f"{NAME}.zst")
    keep(archive, root, records(1, 2, 3))
    assert numbers(archive) == (1, 2)
    assert len(archive.prune()) == 1 and errors(archive) == []
    keep(archive, root, records(7), records(8, 7, 9))
    flip(archive.folder / f"{NAME}.gen3.zst")
    assert [one.outcome for one in archive.prune_outcomes()] == ["damaged", "damaged"]


def test_two_folders_of_the_client_with_one_session_keep_both(archive: Archive, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    keep(archive, one, records(1, 2, 3))
    keep(archive, two, records(1, 2, 4))
    assert notes(archive) == [f"it was kept from {one / NAME} on {sync_state.machine_name()}, and generation 2 was not"]
    keep(archive, two, records(0, 1, 2, 3, 4))  # has all of the other's, and is not its copy
    assert [version.generation for version in archive.prune()] == [2]
    keep(archive, one, records(0, 1, 2, 3))
    assert [version.generation for version in archive.prune()] == [1]
    assert contents(archive) == {3: records(0, 1, 2, 3, 4), 4: records(0, 1, 2, 3)}
    assert archive.keep(one).count("unchanged") == archive.keep(two).count("unchanged") == 1


def test_a_generation_that_was_deleted_by_hand_is_kept_again(archive: Archive, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    keep(archive, one, records(1))
    keep(archive, two, records(2))
    (archive.folder / f"{NAME}.zst").unlink()
    keep(archive, one, records(1))
    assert contents(archive) == {2: records(2), 3: records(1)}


def test_what_another_machine_keeps_stays(archive: Archive, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for machine, state in (("left", records(1)), ("right", records(0, 1))):
        monkeypatch.setattr(sync_state, "machine_name", lambda machine=machine: machine)
        keep(archive, root, state)
    assert "on left" in notes(archive)[0]


def as_of_02(archive: Archive) -> None:
    """Make the notes of an archive those that 0.2 has written: without earlier generations."""
    for path in sync_state.state_files(archive.folder):
        rows = sync_state.read_rows(path) or {}
        sync_state.write_rows(path, {key: msgspec.structs.replace(row, earlier=()) for key, row in rows.items()})
        data = msgspec.msgpack.decode(path.read_bytes()[32:])
        data[1] = {key: row[:6] for key, row in data[1].items()}
        content = msgspec.msgpack.encode(data)
        path.write_bytes(hashlib.sha256(content).digest() + content)


def test_an_archive_of_an_earlier_version_is_read_and_pruned_by_its_content(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1, 2), records(2, 1), records(2))
    as_of_02(archive)
    assert [one.note for one in archive.prune_outcomes()] == ["", "generation 3 lacks 1 record of it"]
    keep(archive, root, records(2, 5))
    assert archive.keep(root).count("unchanged") == 1
    shutil.rmtree(archive.folder / ".sync")
    assert archive.prune() == [] and numbers(archive) == (2, 3)


def test_pruning_asks_and_deletes_what_it_says(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1), records(0, 1), records(5))
    words = ("keep", "--prune", "--to", str(archive.folder))
    no = cli(*words, input="n\n")
    assert "Nothing was deleted" in no.output and no.exit_code == 1
    assert numbers(archive) == (1, 2, 3)
    yes = cli(*words, input="y\n")
    assert yes.exit_code == 0 and "Deleted 1 file." in yes.output
    assert f"{NAME} generation 2 stays: generation 3 lacks 2 records of it" in yes.output
    found = json.loads(cli(*words, "--yes", "--json").stdout)
    assert [(one["generation"], one["outcome"]) for one in found] == [(2, "needed")]


def test_a_session_that_is_named_is_deleted_and_can_be_kept_again(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1), records(5))
    keep(archive, root, records(3), name="projects/-p/t.jsonl")
    assert cli("keep", "--prune", "s", "--yes", "--to", str(archive.folder)).exit_code == 0
    assert [version.name for version in archive.versions()] == ["projects/-p/t.jsonl"]
    assert errors(archive) == []
    assert archive.keep(root).count("new") == 1


def test_what_changed_after_the_question_stays(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1))
    planned = archive.prune_outcomes("s", dry_run=True)
    keep(archive, root, records(1, 2), records(9))
    assert archive.prune_outcomes("s", among=planned) == []
    assert contents(archive) == {1: records(1, 2), 2: records(9)}


def test_a_folder_that_is_no_archive_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert cli("keep", "--prune", "--yes", "--to", str(tmp_path / "other")).exit_code == 0
    assert list((tmp_path / "other").iterdir()) == []


def test_two_prunes_at_once_leave_one_copy(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1), records(0, 1), b"\n" + records(0, 1))
    held = os.open(archive.folder / ".sync/lock", os.O_RDWR)
    assert lock(held)
    words = [sys.executable, "-m", "reread", "keep", "--prune", "--yes", "--to", str(archive.folder)]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    time.sleep(1.0)  # long enough for both to make up their minds, if they did so before they have the lock
    os.close(held)
    said = sorted(process.communicate(timeout=150)[0] for process in both)
    assert said[0] == "Deleted 2 files.\n" and "No earlier states" in said[1]
    assert contents(archive) == {3: b"\n" + records(0, 1)} and errors(archive) == []


def test_a_prune_that_waited_decides_by_what_is_there_then(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1), records(0, 1))
    held = os.open(archive.folder / ".sync/lock", os.O_RDWR)
    assert lock(held)
    words = [sys.executable, "-m", "reread", "keep", "--prune", "--yes", "--to", str(archive.folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(1.0)
    flip(archive.folder / f"{NAME}.gen2.zst")
    os.close(held)
    assert "generation 2 is damaged" in process.communicate(timeout=150)[0]
    assert numbers(archive) == (1, 2)


SERVANT = """
import os, signal, sys
from reread import Archive
from reread.archive import sync
sync.FRAME_SIZE = 512
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    child = os.fork()
    if not child:
        for verb in line.split():
            archive = Archive(sys.argv[1])
            archive.keep(sys.argv[2]) if verb == "keep" else archive.prune()
        os._exit(0)
    print(child, flush=True)
"""


class Servant:
    """A process that starts others, which takes less time than to start each anew."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVANT, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, *verbs: str) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(" ".join(verbs) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    @staticmethod
    def wait(child: int) -> None:
        with suppress(ProcessLookupError):
            for _ in range(10_000):
                os.kill(child, 0)
                time.sleep(0.01)

    def end(self) -> None:
        self._process.communicate(timeout=150)


@pytest.fixture
def servant(archive: Archive, root: Path) -> Iterator[Servant]:
    found = Servant(str(archive.folder), str(root))
    yield found
    found.end()


def readable(archive: Archive) -> set[bytes]:
    """Return all lines of all generations; those that cannot be read raise."""
    found: set[bytes] = set()
    for version in archive.versions():
        with KeptFile(version.path) as file:
            found |= {line for line in file.read().split(b"\n") if line}
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts processes by fork")
def test_no_record_is_lost_whoever_is_killed_when(archive: Archive, root: Path, servant: Servant) -> None:
    chance, count = random.Random(11), 0
    for name in "abc":
        keep(archive, root, records(0), name=f"projects/-p/{name}.jsonl")
    usual = 0.05
    for turn in range(KILLS):
        for path in sorted(root.rglob("*.jsonl")):
            lines = path.read_bytes().splitlines(keepends=True)
            count += 1
            if chance.random() < 0.6:  # all that was there, and more, in another order
                chance.shuffle(lines)
                path.write_bytes(b"".join([record(count, "x" * chance.randrange(900)), *lines[:40]]))
            elif chance.random() < 0.5:  # what the client leaves of it
                path.write_bytes(b"".join(lines[len(lines) // 2 :]) + record(count))
            else:
                with path.open("ab") as file:
                    file.write(record(count, "y" * 2000))
            if chance.random() < 0.5:
                archive.keep(root)
        before = readable(archive)
        began = time.monotonic()
        children = [servant.start("keep", "prune"), servant.start("prune", "keep")]
        if turn % 4:
            time.sleep(chance.uniform(0, 1.2 * usual))
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        for child in children:
            servant.wait(child)
        usual = usual if turn % 4 else time.monotonic() - began
        assert before <= readable(archive)
        assert errors(archive) == []
    archive.keep(root)
    everything = readable(archive)
    archive.prune()
    assert readable(archive) == everything and errors(archive) == []


def test_a_folder_is_listed_again_when_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.jsonl.gen7.zst").touch()
    long_ago = time.time_ns() - 10**10
    os.utime(tmp_path, ns=(long_ago, long_ago + 1))
    monkeypatch.setattr(kept_names, "LISTED_FOLDERS", 1)
    assert generations(tmp_path / "s.jsonl") == generations(tmp_path / "s.jsonl") == (7,)
    for number in (9, 3):  # in one tick, perhaps
        (tmp_path / f"s.jsonl.gen{number}.zst").touch()
        assert generations(tmp_path / "s.jsonl") == tuple(sorted({7, 9, number}))
    assert generations(tmp_path / "none") == generations(tmp_path / "missing/none") == ()


def test_outcomes_are_plain_values(archive: Archive, root: Path) -> None:
    keep(archive, root, records(1), records(0, 1))
    (one,) = archive.prune_outcomes(dry_run=True)
    assert isinstance(one, PruneOutcome) and one.size == Path(one.path).stat().st_size
