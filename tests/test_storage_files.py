"""How files are put, locked, changed and named: what each part of the storage floor promises, case by case."""

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batches import table
from folder_bucket import use_folder

from reread.errors import Misuse, Unreadable, Unwritable
from reread.storage import json_update, kept_names, manifest
from reread.storage.atomic import new_beside, remove_unfinished, write_all, write_atomic
from reread.storage.bucket import BucketStore
from reread.storage.folder import FolderStore
from reread.storage.frames import ZstdFrame
from reread.storage.json_update import change_object, read_object
from reread.storage.kept_names import generations_by_name, kept_name, last_superseded, parse_kept_name, superseded_name
from reread.storage.lock import lock
from reread.storage.manifest import BadManifest, check_size, read_manifest
from reread.storage.prompt_history import read_history
from reread.storage.read_at_file import reader
from reread.storage.safe_open import make_private_folder, read_settings
from reread.storage.services import AZURE, GCS, S3
from reread.storage.services.service import Service
from reread.storage.stub import Piece, Stub, stub_bytes


def test_a_file_is_replaced_whole_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    for content in ([b"first"], [b"sec", b"ond"]):
        write_atomic(link, content, sync=len(content) > 1)
        assert target.read_bytes() == b"".join(content) and link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    target.chmod(0o640)
    write_atomic(target, [b"third"])
    assert (target.stat().st_mode & 0o777, target.read_bytes()) == (0o640, b"third")
    write_atomic(tmp_path / "open", [b""], mode=0o644)
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o644 & ~_umask()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "open", "target"]


def _umask() -> int:
    os.umask(mask := os.umask(0))
    return mask


def test_a_write_that_fails_leaves_the_file_as_it_was_and_nothing_else(tmp_path: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    (tmp_path / "x").write_bytes(b"before")
    for name in ("x", "new"):
        with pytest.raises(KeyboardInterrupt):
            write_atomic(tmp_path / name, cut())
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"before")]


def test_what_one_may_not_write_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "access", lambda *_: False)  # the owner of the machine may write anything
    with pytest.raises(PermissionError, match="x"):
        write_atomic(path, [b"after"])
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"before")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(tmp_path / "pipe", [b"con", b"tent"])
    assert os.read(reader, 99) == b"content" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


def test_all_of_the_data_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor, write = os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT), os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:3])))
    write_all(descriptor, b"0123456789")
    os.close(descriptor)
    assert (tmp_path / "x").read_bytes() == b"0123456789"


def test_a_lock_has_one_holder_and_waiting_is_said_once(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    said: list[str] = []
    assert lock(first, waiting=lambda: said.append("free"))
    assert not lock(second, waiting=lambda: said.append("at once"))
    assert not lock(second, wait=0.1, waiting=lambda: said.append("waiting"))
    assert said == ["waiting"]
    os.close(first)
    assert lock(second)
    os.close(second)


def test_an_object_is_changed_under_a_lock_and_only_if_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "below" / "x.json"
    change_object(path, lambda value: value.update(a=1))
    assert path.read_bytes() == b'{\n  "a": 1\n}\n' and read_object(path) == {"a": 1}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    before = path.stat()
    change_object(path, lambda value: value.update(a=1))
    assert path.stat().st_ino == before.st_ino, "it was not written again"
    change_object(path, lambda value: value.pop("a"))
    assert json.loads(path.read_bytes()) == {} == read_object(tmp_path / "none.json")
    monkeypatch.setattr(json_update, "LOCK_SECONDS", 0)
    with json_update.locked(path) as held, pytest.raises(Unwritable, match="another process is writing"):
        assert held
        change_object(path, lambda value: value.update(b=2))
    assert read_object(path) == {}
    for odd in (b"[]", b"{", b"[" * 9999):
        path.write_bytes(odd)
        with pytest.raises(Unreadable, match="not a JSON object"):
            change_object(path, lambda value: value.update(b=2))
        assert path.read_bytes() == odd
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(Unreadable, match="not a regular file"):
        read_object(tmp_path / "folder.json")


@pytest.mark.parametrize(
    ("changed", "now", "settled"),
    [
        (5_000_000_001, 5_050_000_001, False),
        (5_000_000_001, 5_050_000_002, True),
        (5_000_000_000, 7_000_000_000, False),  # whole seconds: the file system may count no smaller ones
        (5_000_000_000, 7_000_000_001, True),
        (5_000_000_001, 4_000_000_000, False),
    ],
)
def test_a_time_tells_states_apart_after_a_while(
    changed: int, now: int, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: now)
    assert kept_names.is_settled(changed) is settled


@table(
    ("kept", "original"),
    [
        ("a.jsonl.zst", ("a.jsonl", 1)),
        ("a.jsonl.gen2.zst", ("a.jsonl", 2)),
        ("a.gen3.gen1.zst", ("a.gen3", 1)),
        ("a.gen3.zst", ("a", 3)),
        ("a.gen1.zst", None),
        ("a.gen0.zst", ("a.gen0", 1)),
        ("a.gen1234567890.zst", ("a.gen1234567890", 1)),
        (".gen2.zst", None),
        (".zst", None),
        ("a.jsonl", None),
        ("", None),
    ],
)
def test_a_kept_name_says_of_which_file_and_generation_it_is(kept: str, original: tuple[str, int] | None) -> None:
    assert parse_kept_name(kept) == original
    assert original is None or kept_name(*original) == kept


def test_generations_are_in_order_whatever_order_names_have() -> None:
    names = ["a.gen10.zst", "a.zst", "b.zst", "a.gen2.zst", "a", "a.gen2.zst.map"]
    assert generations_by_name(names) == {"a": (1, 2, 10), "b": (1,)}


def test_the_last_file_that_was_superseded_stands_in_for_a_transcript(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    assert last_superseded(path) is last_superseded(tmp_path / "none" / "s.jsonl") is None
    for name in ("5", "20", "10", "9.zst", "20.zst", "x"):
        (tmp_path / f"s.jsonl.superseded-{name}").touch()
    (tmp_path / "s.jsonl.superseded-99").symlink_to(path)
    (tmp_path / "other.jsonl.superseded-50").touch()
    assert last_superseded(path) == f"{path}.superseded-20"
    (tmp_path / "s.jsonl.superseded-20").unlink()
    assert last_superseded(path) == f"{path}.superseded-20.zst"
    assert last_superseded(tmp_path / "s.txt") is None
    assert superseded_name("s.jsonl.superseded-20") == ("s.jsonl", 20) and superseded_name("s.jsonl") is None


class Named(str):
    """A manifest that is the name of its machine."""

    @property
    def machine(self) -> str:
        """The machine."""
        return str(self)


def decoded(data: bytes) -> Named:
    if data == b"bad":
        raise BadManifest("it is bad")
    return Named(data.decode())


def test_a_manifest_is_that_of_its_machine_and_not_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path)
    store.put_whole("ann/manifest", [b"ann"])
    assert read_manifest(store, "ann/manifest", "ann", decoded) == ("ann", b"ann")
    store.put_whole("bad/manifest", [b"bad"])
    for name, machine, said in (("ann/manifest", "bob", "not of its tables"), ("bad/manifest", "ann", "it is bad")):
        with pytest.raises(OSError, match=said) as caught:
            read_manifest(store, name, machine, decoded)
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(tmp_path / name))
    monkeypatch.setattr(manifest, "LARGEST_MANIFEST", 3)
    assert check_size(b"ann", "x") == b"ann"
    with pytest.raises(OSError, match="too large"):
        check_size(b"anna", "x")


class OptionsRecorder:
    """What pyarrow has for each service; instead of a connection it returns the options for one."""

    def __init__(self) -> None:
        self.S3FileSystem = self.GcsFileSystem = self.AzureFileSystem = dict[str, Any]

    def resolve_s3_region(self, bucket: str) -> str:
        """Return a region."""
        return f"region of {bucket}"

    def AwsStandardS3RetryStrategy(self, max_attempts: int) -> int:
        """Return how often is tried."""
        return max_attempts


AUTHORITIES = {"blob_storage_authority": ".blob.core.windows.net", "dfs_storage_authority": ".dfs.core.windows.net"}
LOCAL = {"blob_storage_authority": "x:9", "dfs_storage_authority": "x:9"}


@pytest.mark.parametrize(
    ("service", "variables", "expected"),
    [
        (S3, {}, {"region": "region of b"}),
        (S3, {"AWS_DEFAULT_REGION": "eu"}, {"region": "eu"}),
        (S3, {"AWS_DEFAULT_REGION": "eu", "AWS_REGION": "us"}, {"region": "us"}),
        (
            S3,
            {"AWS_ENDPOINT_URL": "http://x:9/"},
            {"region": "us-east-1", "scheme": "http", "endpoint_override": "x:9"},
        ),
        (
            S3,
            {"AWS_ENDPOINT_URL": "x:9", "AWS_REGION": "eu"},
            {"region": "eu", "scheme": "https", "endpoint_override": "x:9"},
        ),
        (GCS, {}, {}),
        (
            GCS,
            {"STORAGE_EMULATOR_HOST": "x:9"},
            {"anonymous": True, "scheme": "http", "endpoint_override": "x:9"},
        ),
        (AZURE, {}, {"account_name": "acc", **AUTHORITIES}),
        (
            AZURE,
            {"AZURE_STORAGE_KEY": " k ", "AZURE_STORAGE_SAS_TOKEN": "t"},
            {"account_name": "acc", "account_key": "k", **AUTHORITIES},
        ),
        (AZURE, {"AZURE_STORAGE_SAS_TOKEN": "t"}, {"account_name": "acc", "sas_token": "t", **AUTHORITIES}),
        (
            AZURE,
            {"AZURE_STORAGE_ENDPOINT": "http://x:9/"},
            {"account_name": "acc", "blob_storage_scheme": "http", "dfs_storage_scheme": "http", **LOCAL},
        ),
    ],
)
def test_a_service_is_connected_as_the_environment_says(
    service: Service, variables: dict[str, str], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*S3.variables, *GCS.variables, *AZURE.variables, "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    options = service.connect(OptionsRecorder(), "box@acc.dfs.core.windows.net" if service is AZURE else "b")
    shared = {"connect_timeout", "request_timeout", "retry_strategy", "background_writes", "retry_time_limit"}
    assert {name: value for name, value in options.items() if name not in shared} == expected
    if service is S3:
        assert options["background_writes"] is False, "an object is put by who has its bytes"
    with pytest.raises(Misuse, match="This pyarrow cannot read"):
        service.connect(object(), "b")


def test_reads_that_follow_each_other_fetch_more_and_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked, read = os.urandom(1 << 20), list[tuple[int, int]](), BucketStore.read
    (tmp_path / "team").mkdir()
    use_folder(monkeypatch, tmp_path)
    half = len(data) // 2
    frames = [ZstdFrame(end, end, bytes(32), bytes(32)) for end in (half, len(data))]
    for name, part in (("one", data[:half]), ("two", data[half:])):
        (tmp_path / "team" / name).write_bytes(part)
    (tmp_path / "stub").write_bytes(stub_bytes("s3://team", [Piece("one", frames[:1]), Piece("two", frames[1:])]))

    def noted(self: BucketStore, name: str, offset: int, length: int) -> bytes:
        asked.append((offset, length))
        return read(self, name, offset, length)

    monkeypatch.setattr(BucketStore, "read", noted)
    with (tmp_path / "stub").open("rb") as file:
        stub = Stub(reader(file.fileno()), file.fileno(), "stub")
        assert (stub.packed_size, stub.frames, stub.refresh()) == (len(data), frames, False)
        kilo = 1 << 10
        for at, length in ((0, 10), (60 * kilo, 9), (64 * kilo, 9), (192 * kilo, 9), (10, 9), (half - 5, 10)):
            assert stub.read(at, length) == data[at : at + length]
        assert asked == [
            (0, 64 * kilo),
            (64 * kilo, 128 * kilo),
            (192 * kilo, 256 * kilo),
            (10, 64 * kilo),
            (half - 5, 5),
            (0, 128 * kilo),
        ]
        assert stub.read(len(data) - 3, 99) == data[-3:] and stub.read(len(data), 9) == b""
        (tmp_path / "team" / "one").write_bytes(b"short")
        stub.read(half, 1)
        with pytest.raises(OSError, match="shorter than when it was kept"):
            stub.read(100, 50)


def test_a_staged_file_gets_its_name_when_it_is_published(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    for name in ("t/kept", "t/dropped"):
        with store.stage(name) as file:
            file.write(b"rows")
    assert store.stat(["t/kept", "t/dropped"]) == {} and len(store.list("t")) == 2
    store.publish("t/kept")
    store.delete("t/dropped")
    assert [(one.name, one.size) for one in store.list("")] == [("t/kept", 4)]
    with store.open("t/kept") as file:
        assert file.read() == b"rows"
    store.delete("t/kept")
    assert list(store.list("")) == [] and list(store.folders("")) == ["t"]


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123")
    assert read_settings(tmp_path / "x", 4) == b"0123"
    with pytest.raises(OSError, match="too large"):
        read_settings(tmp_path / "x", 3)


def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path / "a" / "b")
    assert [path.stat().st_mode & 0o777 for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [
        0o755,
        0o700,
        0o700,
    ]


@pytest.mark.parametrize("folder", ["/a/b", "b"])
def test_no_folder_is_looked_for_above_the_first(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_missing(path: str) -> bool:
        asked.append(path)
        assert len(asked) < 10
        return False

    def fail(path: str, mode: int) -> None:
        raise FileNotFoundError(path)

    asked: list[str] = []
    monkeypatch.setattr(os.path, "isdir", is_missing)  # as on a drive of Windows that is not there
    monkeypatch.setattr(os, "mkdir", fail)
    with pytest.raises(FileNotFoundError):
        make_private_folder(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_history_that_is_missing_or_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert [read_history(str(tmp_path / name)) for name in ("pipe", "folder", "none")] == [None, None, None]


def test_a_link_in_place_of_a_file_of_ones_own_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"mine")
    link.symlink_to(target)
    write_atomic(link, [b"new"], follow=False)
    assert (target.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"mine", b"new", False)


def test_only_what_nobody_writes_any_more_is_removed(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    dead = [tmp_path / ".reread-1", tmp_path / "below" / ".reread-2"]
    for path in dead:
        path.write_bytes(b"half")
    with new_beside(tmp_path / "below" / "x") as new:
        os.utime(new.path, (0, 0))
        remove_unfinished(tmp_path)
        assert [path.exists() for path in (*dead, new.path)] == [False, True, True]
        remove_unfinished(tmp_path, below=True)
        assert [path.exists() for path in (*dead, new.path)] == [False, False, True]
